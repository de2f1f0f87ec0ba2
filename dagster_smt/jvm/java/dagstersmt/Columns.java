package dagstersmt;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The function {@code columns}, which reads a key or value into a row. The key or value is JSON with a declared schema.
 *
 * <p>Arguments: the JSON text, the program ({@code dagster_smt.jvm.columns}), and a null of the row's type, from which
 * Spark learns the type. The result has two fields: {@code status} ({@link #READ}, {@link #NULL} or
 * {@link Program#LEFT}), and {@code value}, the row.
 */
public final class Columns implements ScalarFunction<InternalRow> {
  static final byte READ = 0;

  /** The status of a key or value that is null. */
  static final byte NULL = 1;

  private static final long serialVersionUID = 1L;
  private static final ThreadLocal<Programs<RowReader>> PROGRAMS =
      ThreadLocal.withInitial(() -> new Programs<>(RowReader::new));

  private final DataType row;

  Columns(DataType row) {
    this.row = row;
  }

  @Override
  public String name() {
    return "columns";
  }

  @Override
  public String canonicalName() {
    return "dagstersmt.columns";
  }

  @Override
  public DataType[] inputTypes() {
    return new DataType[] {DataTypes.BinaryType, DataTypes.StringType, row};
  }

  @Override
  public DataType resultType() {
    return new StructType().add("status", DataTypes.ByteType, false).add("value", row);
  }

  @Override
  public boolean isResultNullable() {
    return false;
  }

  /** Runs the function; Spark finds this "magic method" by its name. {@code row} is always null. */
  public static InternalRow invoke(byte[] text, UTF8String program, InternalRow row) {
    if (text == null) {
      return result(NULL, null);
    }
    try {
      InternalRow read = PROGRAMS.get().of(program).read(text);
      return result(read == null ? NULL : READ, read);
    } catch (RuntimeException | StackOverflowError | OutOfMemoryError e) {
      return result(Program.LEFT, null); // Python meets the same problem again, and reports it
    }
  }

  private static InternalRow result(byte status, InternalRow value) {
    return new GenericInternalRow(new Object[] {status, value});
  }
}
