package dagstersmt;

import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.util.TaskCompletionListener;

/**
 * The function {@code foreign_records}, which works like {@link ConnectRecords}, but for any class from a jar. Such a
 * class may remember earlier records. So each task has its own stages, and Spark calls the function only once for each
 * record.
 */
public final class ForeignRecords extends RecordFunction {
  private static final long serialVersionUID = 1L;
  private static final ThreadLocal<OfTask> STAGES = new ThreadLocal<>();

  /** Creates the function. */
  public ForeignRecords() {
    super("foreign_records", ConnectCall.fields(), DataTypes.IntegerType);
  }

  @Override
  public boolean isDeterministic() {
    return false;
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
    return ConnectCall.run(stages(setup), key, value, topic, partition, offset, timestamp, headers, timestampType);
  }

  /** Returns the stages of this task. Returns null outside a task, because nothing would close the stages there. */
  private static ConnectStages stages(UTF8String setup) {
    TaskContext context = TaskContext.get();
    if (context == null) {
      return null;
    }
    OfTask stages = STAGES.get();
    if (stages == null || stages.task != context.taskAttemptId()) {
      stages = new OfTask(context);
      STAGES.set(stages);
    }
    return stages.programs.of(setup);
  }

  /** The stages that a thread has opened for a task. */
  private static final class OfTask {
    final long task;
    final Programs<ConnectStages> programs;

    OfTask(TaskContext context) {
      task = context.taskAttemptId();
      programs =
          new Programs<>(
              setup -> {
                ConnectStages stages = new ConnectStages(setup);
                TaskCompletionListener closes = ended -> stages.close();
                context.addTaskCompletionListener(closes);
                return stages;
              });
    }
  }
}
