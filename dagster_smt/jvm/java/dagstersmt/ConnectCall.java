package dagstersmt;

import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** A call of the functions that run a record through classes from jars. */
final class ConnectCall {
  private static final long MILLI = 1000;

  private ConnectCall() {}

  /** Returns the fields that a result has in addition to those of {@link RecordFunction}. */
  static StructType fields() {
    return new StructType()
        .add("words", DataTypes.createArrayType(DataTypes.LongType, false))
        .add("changes", DataTypes.StringType)
        .add("thrown", DataTypes.StringType)
        .add("partition", DataTypes.IntegerType);
  }

  /** Runs a record through the stages. If {@code stages} is null, the record is left to Python. */
  static InternalRow run(
      ConnectStages stages,
      byte[] key,
      byte[] value,
      UTF8String topic,
      long partition,
      long offset,
      long timestamp,
      ArrayData headers,
      int timestampType) {
    if (topic != null && stages != null) {
      ConnectRow row = stages.row();
      row.key = key;
      row.value = value;
      row.topic = stages.text(topic);
      row.partition = partition == Row.NONE ? 0 : (int) partition;
      row.offset = offset == Row.NONE ? 0 : offset;
      row.timestamp = timestamp == Row.NONE ? null : Math.floorDiv(timestamp, MILLI);
      row.timestampType = Math.max(-1, Math.min(1, timestampType)) + 1; // the ordinals of TimestampType begin at 0
      if (stages.run(headers)) {
        return result(stages, row, topic, partition, offset);
      }
    }
    Long micros = timestamp == Row.NONE ? null : timestamp;
    return new GenericInternalRow(
        new Object[] {Program.LEFT, -1, null, ConnectChanges.NONE, null, null, key, value, topic, micros, null});
  }

  private static InternalRow result(
      ConnectStages stages, ConnectRow row, UTF8String topic, long partition, long offset) {
    ConnectChanges changes = stages.changes();
    return new GenericInternalRow(
        new Object[] {
          (byte) row.status,
          row.stage,
          changes.words,
          changes.text(task(), partition, offset),
          text(row.thrown),
          row.partition,
          row.key,
          row.value,
          stages.bytes(topic),
          row.timestamp == null ? null : row.timestamp * MILLI,
          headers(row.headers)
        });
  }

  private static UTF8String text(String text) {
    return text == null ? null : UTF8String.fromString(text);
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
      headers[n] = new GenericInternalRow(new Object[] {text((String) parts[2 * n]), parts[2 * n + 1]});
    }
    return new GenericArrayData(headers);
  }
}
