package dagstersmt;

/**
 * A record while classes from jars process it, and the result. Connect's classes have a separate class loader. This
 * class is shared by both class loaders, so it uses only Java's own types.
 */
public final class ConnectRow {
  public static final int KEPT = 0;
  public static final int DROPPED = 1;
  public static final int FAILED = 2;

  public byte[] key;
  public byte[] value;
  public String topic;

  /**
   * The partition. Before the stages, it is the partition that was read; afterwards, the partition that a stage has
   * chosen.
   */
  public Integer partition;

  public long offset;

  /** The timestamp in milliseconds; null if there is none. */
  public Long timestamp;

  /** The ordinal of Kafka's {@code TimestampType}. */
  public int timestampType;

  /**
   * Before the stages, the alternating names and values of the headers that were read. Afterwards, all headers if a
   * stage has changed any of them, else null.
   */
  public Object[] headers;

  /** {@link #KEPT}, {@link #DROPPED} or {@link #FAILED}. */
  public int status;

  /** The stage that dropped or rejected the record; -1 if there is none. */
  public int stage;

  /** The class of the exception, for a record that failed. */
  public String thrown;

  /**
   * The changes that the stages made. The first item is a list of changes with stage, action, side and path. The caller
   * may store a result in the second item.
   */
  public Object[] changes;

  /** Open stages for one thread. */
  public interface Stages {
    /** Runs a record. Returns false if the record has to run elsewhere; the row then has no meaning. */
    boolean run(ConnectRow row);

    /** Closes the stages, as Connect does at the end of a task. */
    void close();
  }
}
