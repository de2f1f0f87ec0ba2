package dagstersmt;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The function {@code connect_records}, which runs a record through Kafka's own transforms in this JVM.
 *
 * <p>In addition to the arguments of all record functions, it has the type of the timestamp, as in Spark. Its program
 * is a setup: see {@link ConnectStages}. A record without a topic is left to Python. The same is true of every record
 * that a converter rejects.
 */
public final class ConnectRecords extends RecordFunction {
  private static final long serialVersionUID = 1L;
  private static final ThreadLocal<Programs<ConnectStages>> STAGES =
      ThreadLocal.withInitial(() -> new Programs<>(ConnectStages::new));

  /** Creates the function. */
  public ConnectRecords() {
    super("connect_records", ConnectCall.fields(), DataTypes.IntegerType);
  }

  /** Runs the function. Spark finds this "magic method" by its name. */
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
