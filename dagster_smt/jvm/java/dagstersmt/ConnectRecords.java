package dagstersmt;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The function {@code connect_records}: a record goes through Kafka's own transforms, in this JVM.
 *
 * <p>Its own argument is the type of the timestamp as Spark has it; its text is a setup: see {@link ConnectStages}. A
 * record without a topic is left, and so is every record that a converter refuses.
 */
public final class ConnectRecords extends RecordFunction {
  private static final long serialVersionUID = 1L;
  private static final ThreadLocal<Programs<ConnectStages>> STAGES =
      ThreadLocal.withInitial(() -> new Programs<>(ConnectStages::new));

  /** The function. */
  public ConnectRecords() {
    super("connect_records", ConnectCall.fields(), DataTypes.IntegerType);
  }

  /** Spark's "magic method". */
  public static InternalRow invoke(
      byte[] key,
      byte[] value,
      UTF8String topic,
      long partition,
      long offset,
      long timestamp,
      ArrayData headers,
      int timestampType,
      UTF8String setup) {
    return ConnectCall.run(
        STAGES.get().of(setup), key, value, topic, partition, offset, timestamp, headers, timestampType);
  }
}
