package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;

/** {@code org.apache.kafka.connect.transforms.TimestampRouter}: the topic by the record's timestamp. */
final class RouteByTime implements Effect {
  private final String topic;
  private final Dates timestamp;
  private final int entry;

  RouteByTime(JsonNode effect) {
    topic = effect.get("topic").asText();
    timestamp = new Dates(effect.get("timestamp").asText());
    entry = effect.get("entry").asInt();
  }

  @Override
  public void apply(Row row) {
    if (row.timestamp == Row.NONE) {
      throw Left.LEFT;
    }
    String text = timestamp.text(Math.floorDiv(row.timestamp, 1000L));
    row.route(topic.replace("${topic}", row.topic()).replace("${timestamp}", text));
    row.touched.add(entry);
  }
}
