package dagstersmt;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * The types of a function that a record goes through.
 *
 * <p>Arguments: key, value, topic, partition, offset, timestamp in microseconds ({@link Row#NONE} for those that are
 * not there; numbers that Spark has as null arrive as 0), headers, the function's own arguments, and the text of its
 * program. Result: status, stage, the function's own fields, and the record that comes out.
 */
abstract class RecordFunction implements ScalarFunction<InternalRow> {
  private static final long serialVersionUID = 1L;
  private final String name;
  private final StructType fields;
  private final DataType[] arguments;

  /**
   * A function with a name.
   *
   * @param fields its own fields of the result
   * @param arguments its own arguments
   */
  RecordFunction(String name, StructType fields, DataType... arguments) {
    this.name = name;
    this.fields = fields;
    this.arguments = arguments;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public String canonicalName() {
    return "dagstersmt." + name;
  }

  @Override
  public DataType[] inputTypes() {
    List<DataType> types = new ArrayList<>();
    types.add(DataTypes.BinaryType);
    types.add(DataTypes.BinaryType);
    types.add(DataTypes.StringType);
    types.add(DataTypes.LongType);
    types.add(DataTypes.LongType);
    types.add(DataTypes.LongType);
    types.add(Headers.type());
    types.addAll(List.of(arguments));
    types.add(DataTypes.StringType);
    return types.toArray(new DataType[0]);
  }

  @Override
  public DataType resultType() {
    StructType result =
        new StructType().add("status", DataTypes.ByteType, false).add("stage", DataTypes.IntegerType, false);
    for (StructField field : fields.fields()) {
      result = result.add(field);
    }
    return result
        .add("key", DataTypes.BinaryType)
        .add("value", DataTypes.BinaryType)
        .add("topic", DataTypes.StringType)
        .add("timestamp", DataTypes.LongType)
        .add("headers", Headers.type());
  }

  @Override
  public boolean isResultNullable() {
    return false;
  }
}
