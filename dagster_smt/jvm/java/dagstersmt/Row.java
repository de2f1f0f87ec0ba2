package dagstersmt;

import java.util.Objects;
import org.apache.spark.unsafe.types.UTF8String;

/** A record while a chain processes it. All records use the same object. */
final class Row {
  /** Stands for a missing partition, offset or timestamp. */
  static final long NONE = Long.MIN_VALUE;

  final Side key = new Side();
  final Side value = new Side();
  long partition;
  long offset;

  /** The timestamp in microseconds, as in Spark. */
  long timestamp;

  final Touched touched = new Touched();
  final Headers headers = new Headers();

  private UTF8String topicRead;
  private String topicText;
  private String topic;

  /** The target topic of the last record, as a Java string and as Spark's string. */
  private String routed;

  private UTF8String routedBytes;

  void readTopic(UTF8String bytes) {
    if (bytes == null) {
      throw Left.LEFT;
    }
    if (!Objects.equals(bytes, topicRead)) {
      topicRead = bytes.copy();
      topicText = bytes.toString();
    }
    topic = topicText;
  }

  /**
   * Returns the timestamp in microseconds, rounded to whole milliseconds, because Connect has only milliseconds.
   * Returns null if there is no timestamp.
   */
  Long wholeMilliseconds() {
    return timestamp == NONE ? null : Long.valueOf(Math.floorDiv(timestamp, 1000L) * 1000);
  }

  String topic() {
    return topic;
  }

  void route(String newTopic) {
    topic = newTopic;
  }

  /** Returns the topic as Spark's string. {@code read} is the topic that was read. */
  UTF8String topicBytes(UTF8String read) {
    if (topic.equals(topicText)) {
      return read;
    }
    if (!topic.equals(routed)) {
      routed = topic;
      routedBytes = UTF8String.fromString(topic);
    }
    return routedBytes;
  }
}
