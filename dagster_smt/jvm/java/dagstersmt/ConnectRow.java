package dagstersmt;

/**
 * A record on its way through the classes of jars, and what becomes of it. Connect's classes have a class loader of
 * their own, and this is the class that both sides share: it has Java's own types alone.
 */
public final class ConnectRow {
  public static final int KEPT = 0;
  public static final int DROPPED = 1;
  public static final int FAILED = 2;

  public byte[] key;
  public byte[] value;
  public String topic;

  /** The partition: as read, then the one that a stage chose. */
  public Integer partition;

  public long offset;

  /** Milliseconds; null for none. */
  public Long timestamp;

  /** The ordinal of Kafka's {@code TimestampType}. */
  public int timestampType;

  /** Names and values of headers, in turn, as read; then all headers if a stage changed any, else null. */
  public Object[] headers;

  /** {@link #KEPT}, {@link #DROPPED} or {@link #FAILED}. */
  public int status;

  /** The stage that dropped or failed the record; -1 for none. */
  public int stage;

  /** The class of the exception of a record that failed. */
  public String thrown;

  /** What the stages changed: a list of stage, action, side and path; and room for what the caller makes of it. */
  public Object[] changes;

  /** Stages that are open, for one thread. */
  public interface Stages {
    /** Runs a record; returns false for one that has to run elsewhere, whose row may say anything then. */
    boolean run(ConnectRow row);

    /** Closes the stages, as Connect does with its task. */
    void close();
  }
}
