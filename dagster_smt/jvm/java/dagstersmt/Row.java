package dagstersmt;

import java.util.Objects;
import org.apache.spark.unsafe.types.UTF8String;

/** A record on its way through a chain; the same object for each record. */
final class Row {
  /** Stands for a partition, an offset or a timestamp that is not there. */
  static final long NONE = Long.MIN_VALUE;

  final Side key = new Side();
  final Side value = new Side();
  long partition;
  long offset;

  /** In microseconds, as Spark has it. */
  long timestamp;

  final Touched touched = new Touched();
  final Headers headers = new Headers();

  private UTF8String topicRead;
  private String topicText;
  private String topic;

  /** The topic that the last record went to, as a text and as Spark has it. */
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

  /** The timestamp as Connect has it, in microseconds; null if there is none. */
  Long wholeMilliseconds() {
    return timestamp == NONE ? null : Long.valueOf(Math.floorDiv(timestamp, 1000L) * 1000);
  }

  String topic() {
    return topic;
  }

  void route(String newTopic) {
    topic = newTopic;
  }

  /** The topic as Spark has texts; {@code read}: the one that was read. */
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
