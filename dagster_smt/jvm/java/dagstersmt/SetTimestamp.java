package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;

/** Sets the record's timestamp to a whole number in the value. The number is in milliseconds or seconds. */
final class SetTimestamp implements Effect {
  /** The last microsecond of the year 9999. */
  private static final long LAST = 253_402_300_799_999_999L;

  private final boolean onKey;
  private final Name name;
  private final long factor;
  private final int entry;

  SetTimestamp(JsonNode effect, boolean onKey) {
    this.onKey = onKey;
    name = new Name(effect.get("name").asText());
    factor = "seconds".equals(effect.get("unit").asText()) ? 1_000_000 : 1000;
    entry = effect.get("entry").asInt();
  }

  @Override
  public void apply(Row row) {
    Members top = (onKey ? row.key : row.value).object();
    int at = top.find(name);
    if (at < 0 || top.isBoxed(at) || top.kind(at) != Kind.INT64) {
      throw Left.LEFT;
    }
    long number = Numbers.toLong(top.text(at), top.start(at), top.end(at));
    if (number < 0 || number > LAST / factor) {
      throw Left.LEFT;
    }
    row.timestamp = number * factor;
    row.touched.add(entry);
  }
}
