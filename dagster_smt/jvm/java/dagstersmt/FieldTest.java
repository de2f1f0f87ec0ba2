package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/** Tests whether the text of a field matches a pattern, or equals a literal. */
final class FieldTest implements Predicate<Row> {
  private final boolean onKey;
  private final Path path;
  private final Pattern whole;
  private final Pattern part;
  private final String text;

  /** The only kind of value that passes the test. Null if any kind passes. */
  private final Kind kind;

  /** True if Connect raises an error for a null, and for a key or value without fields. */
  private final boolean refusesNull;

  private final boolean refusesOthers;

  FieldTest(JsonNode test) {
    onKey = "key".equals(test.get("side").asText());
    path = new Path(test.get("path"));
    whole = pattern(test.get("matches"));
    part = pattern(test.get("finds"));
    text = test.has("text") ? test.get("text").asText() : null;
    kind = test.has("kind") ? Kind.called(test.get("kind").asText()) : null;
    refusesNull = test.get("refuses null").asBoolean();
    refusesOthers = test.get("refuses others").asBoolean();
  }

  private static Pattern pattern(JsonNode pattern) {
    return pattern == null ? null : Pattern.compile(pattern.asText());
  }

  @Override
  public boolean test(Row row) {
    Object side = (onKey ? row.key : row.value).content();
    boolean isObject = side instanceof Members && ((Members) side).isObject();
    if (refusesOthers && path.length() > 0 && !isObject) {
      throw Left.LEFT;
    }
    Object value = path.valueAt(side);
    if (value == null) {
      if (refusesNull) {
        throw Left.LEFT;
      }
      return false;
    }
    String found = Scalar.text(value);
    return (kind == null || Scalar.kind(value) == kind) && passes(found);
  }

  private boolean passes(String found) {
    if (text != null) {
      return text.equals(found);
    }
    Bounded bounded = new Bounded(found);
    return whole != null ? whole.matcher(bounded).matches() : part.matcher(bounded).find();
  }
}
