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
 * A function that processes a record, with the types of its arguments and its result.
 *
 * <p>Arguments: key, value, topic, partition, offset, timestamp in microseconds, headers, the function's own arguments,
 * and the text of its program. A missing number is {@link Row#NONE}, because numbers that are null in Spark would
 * arrive as 0. Result: status, stage, the function's own fields, and the output record.
 */
abstract class RecordFunction implements ScalarFunction<InternalRow> {
  private static final long serialVersionUID = 1L;
  private final String name;
  private final StructType fields;
  private final DataType[] arguments;

  /**
   * Creates a function with a name.
   *
   * @param fields the fields of the result that only this function has
   * @param arguments the arguments that only this function has
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
