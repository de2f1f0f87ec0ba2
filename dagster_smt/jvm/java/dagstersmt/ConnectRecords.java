package dagstersmt;

import java.util.function.Function;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The function {@code connect_records}: a record goes through Kafka's own transforms, in this JVM.
 *
 * <p>Arguments: key, value, topic, partition, offset, timestamp in microseconds ({@link Row#NONE} for none), the type
 * of the timestamp as Spark has it, and the setup: see {@link ConnectStages}. A record without a topic is left, and so
 * is every record that the stages refuse.
 */
public final class ConnectRecords implements ScalarFunction<InternalRow> {
  private static final long serialVersionUID = 1L;
  private static final long MILLI = 1000;
  private static final ThreadLocal<Programs<ConnectStages>> STAGES =
      ThreadLocal.withInitial(() -> new Programs<>(ConnectStages::new));

  @Override
  public String name() {
    return "connect_records";
  }

  @Override
  public String canonicalName() {
    return "dagstersmt.connect_records";
  }

  @Override
  public DataType[] inputTypes() {
    return new DataType[] {
      DataTypes.BinaryType,
      DataTypes.BinaryType,
      DataTypes.StringType,
      DataTypes.LongType,
      DataTypes.LongType,
      DataTypes.LongType,
      DataTypes.IntegerType,
      DataTypes.StringType
    };
  }

  @Override
  public DataType resultType() {
    return new StructType()
        .add("status", DataTypes.ByteType, false)
        .add("stage", DataTypes.IntegerType, false)
        .add("words", DataTypes.createArrayType(DataTypes.LongType, false))
        .add("changes", DataTypes.StringType)
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

  /** Spark's "magic method". */
  public static InternalRow invoke(
      byte[] key,
      byte[] value,
      UTF8String topic,
      long partition,
      long offset,
      long timestamp,
      int timestampType,
      UTF8String setup) {
    Long micros = timestamp == Row.NONE ? null : timestamp;
    ConnectStages stages = STAGES.get().of(setup);
    Function<Object[], Object[]> connect = stages.connect();
    Object[] result = null;
    if (topic != null && connect != null) {
      Long millis = micros == null ? null : Math.floorDiv(micros, MILLI);
      int type = Math.max(-1, Math.min(1, timestampType)) + 1; // as the ordinals of TimestampType
      result = connect.apply(
          new Object[] {key, value, stages.text(topic), (int) partition, offset, millis, type});
    }
    if (result == null || !stages.isTopic((String) result[5])) {
      return new GenericInternalRow(
          new Object[] {Program.LEFT, -1, null, ConnectChanges.NONE, key, value, topic, micros, null});
    }
    ConnectChanges changes = stages.changes((Object[]) result[2]);
    Long after = (Long) result[6];
    return new GenericInternalRow(
        new Object[] {
          ((Integer) result[0]).byteValue(),
          result[1],
          changes.words,
          changes.text(task(), partition, offset),
          result[3],
          result[4],
          stages.bytes(topic, (String) result[5]),
          after == null ? null : after * MILLI,
          headers((Object[]) result[7])
        });
  }

  private static long task() {
    TaskContext context = TaskContext.get();
    return context == null ? -1 : context.taskAttemptId();
  }

  private static GenericArrayData headers(Object[] parts) {
    if (parts == null) {
      return null;
    }
    Object[] headers = new Object[parts.length / 2];
    for (int n = 0; n < headers.length; n++) {
      headers[n] =
          new GenericInternalRow(new Object[] {UTF8String.fromString((String) parts[2 * n]), parts[2 * n + 1]});
    }
    return new GenericArrayData(headers);
  }
}
