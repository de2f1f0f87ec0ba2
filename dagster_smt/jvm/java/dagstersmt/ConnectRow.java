package dagstersmt;

/**
 * A record while the classes of jars process it, and the result. Connect's classes have a class loader of their own, so
 * this class, which both sides share, uses only Java's own types.
 */
public final class ConnectRow {
  public static final int KEPT = 0;
  public static final int DROPPED = 1;
  public static final int FAILED = 2;

  public byte[] key;
  public byte[] value;
  public String topic;

  /** The partition: first the one that was read, then the one that a stage chose. */
  public Integer partition;

  public long offset;

  /** The timestamp in milliseconds; null if there is none. */
  public Long timestamp;

  /** The ordinal of Kafka's {@code TimestampType}. */
  public int timestampType;

  /**
   * First the names and values of the headers that were read, alternating. Afterwards all headers if a stage changed
   * any, else null.
   */
  public Object[] headers;

  /** {@link #KEPT}, {@link #DROPPED} or {@link #FAILED}. */
  public int status;

  /** The stage that dropped or rejected the record; -1 if there is none. */
  public int stage;

  /** The class of the exception, for a record that failed. */
  public String thrown;

  /** The changes of the stages: a list of stage, action, side and path, and a place for a result of the caller. */
  public Object[] changes;

  /** Open stages for one thread. */
  public interface Stages {
    /** Runs a record. Returns false if the record has to run elsewhere; the row then has no meaning. */
    boolean run(ConnectRow row);

    /** Closes the stages, as Connect does with its task. */
    void close();
  }
}
