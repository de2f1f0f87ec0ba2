package dagstersmt;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * The function {@code relabel}, which gives different names to the fields of a struct. Spark's own cast would build a
 * new struct from the fields.
 *
 * <p>Arguments: the struct, and a null of the type with the new names. The types of the fields must be the same.
 */
public final class Relabel implements ScalarFunction<InternalRow> {
  private static final long serialVersionUID = 1L;

  private final DataType before;
  private final DataType after;

  Relabel(StructType arguments) {
    before = arguments.fields()[0].dataType();
    after = arguments.fields()[1].dataType();
  }

  @Override
  public String name() {
    return "relabel";
  }

  @Override
  public String canonicalName() {
    return "dagstersmt.relabel";
  }

  @Override
  public DataType[] inputTypes() {
    return new DataType[] {before, after};
  }

  @Override
  public DataType resultType() {
    return after;
  }

  /** Runs the function. Spark finds this "magic method" by its name. {@code type} is always null. */
  public static InternalRow invoke(InternalRow row, InternalRow type) {
    return row;
  }
}
