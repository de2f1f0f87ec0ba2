package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;

/**
 * Chooses the topic according to a time. This is the record's timestamp, or a time that the value contains as a string.
 */
final class RouteByTime implements Effect {
  private final String topic;
  private final Dates timestamp;
  private final int entry;

  /**
   * The fields of the value that may contain the time. The first one that is not null is used. Empty if the record's
   * timestamp is used.
   */
  private final List<Name> fields = new ArrayList<>();

  private final Dates fieldFormat;

  RouteByTime(JsonNode effect) {
    topic = effect.get("topic").asText();
    timestamp = new Dates(effect.get("timestamp").asText());
    entry = effect.get("entry").asInt();
    effect.path("fields").forEach(name -> fields.add(new Name(name.asText())));
    fieldFormat = fields.isEmpty() ? null : new Dates(effect.get("field format").asText());
  }

  @Override
  public void apply(Row row) {
    long instant = fields.isEmpty() ? ofRecord(row) : fieldFormat.parse(text(row.value.object()));
    row.route(topic.replace("${topic}", row.topic()).replace("${timestamp}", timestamp.text(instant)));
    row.touched.add(entry);
  }

  private static long ofRecord(Row row) {
    if (row.timestamp == Row.NONE) {
      throw Left.LEFT;
    }
    return Math.floorDiv(row.timestamp, 1000L);
  }

  private String text(Members top) {
    for (Name name : fields) {
      int at = top.find(name);
      Object value = at < 0 ? null : Values.taken(top, at);
      if (value != null) {
        return textOf(value);
      }
    }
    throw Left.LEFT;
  }

  private static String textOf(Object value) {
    if (Scalar.kind(value) != Kind.STRING) {
      throw Left.LEFT;
    }
    return Scalar.text(value);
  }
}
