package dagstersmt;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** The function {@code records}, which runs a record through a chain. The record is JSON without a schema. */
public final class Records extends RecordFunction {
  private static final long serialVersionUID = 1L;
  private static final ThreadLocal<Programs<Program>> PROGRAMS =
      ThreadLocal.withInitial(() -> new Programs<>(Program::new));

  /** Creates the function, which has no arguments of its own. */
  public Records() {
    super(
        "records",
        new StructType()
            .add("touched", DataTypes.LongType, false)
            .add("words", DataTypes.createArrayType(DataTypes.LongType, false)));
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
      UTF8String literal) {
    Program program = PROGRAMS.get().of(literal);
    if (topic == null) {
      return left(key, value, null, timestamp, headers);
    }
    Row record = program.row();
    record.readTopic(topic);
    record.partition = partition;
    record.offset = offset;
    record.timestamp = timestamp;
    byte status = program.run(key, value, headers);
    return status == Program.LEFT ? left(key, value, topic, timestamp, headers) : row(status, program, topic);
  }

  /** Returns the original record, for Python. */
  private static InternalRow left(byte[] key, byte[] value, UTF8String topic, long timestamp, ArrayData headers) {
    Long micros = timestamp == Row.NONE ? null : timestamp;
    return new GenericInternalRow(new Object[] {Program.LEFT, -1, 0L, null, key, value, topic, micros, headers});
  }

  private static InternalRow row(byte status, Program done, UTF8String topicRead) {
    Row record = done.row();
    Touched touched = record.touched;
    return new GenericInternalRow(
        new Object[] {
          status,
          done.stage,
          touched.firstWord(),
          touched.words(),
          done.key,
          done.value,
          record.topicBytes(topicRead),
          record.wholeMilliseconds(),
          done.headers()
        });
  }
}
