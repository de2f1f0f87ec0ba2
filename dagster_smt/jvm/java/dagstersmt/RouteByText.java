package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import org.apache.spark.unsafe.types.UTF8String;

/** Takes the topic from a string of the record: a field, or the last header with a name. */
final class RouteByText implements Effect {
  private final boolean onKey;

  /** The path of the field; null for a header. */
  private final Path path;

  private final UTF8String header;

  /** True if the topic stays when there is no string. Otherwise Connect rejects the record. */
  private final boolean skips;

  /** True if numbers and booleans are converted to strings. Otherwise Connect rejects them. */
  private final boolean converts;

  private final boolean blankIsNone;
  private final int entry;

  RouteByText(JsonNode effect, boolean onKey) {
    this.onKey = onKey;
    path = effect.has("path") ? new Path(effect.get("path")) : null;
    header = path == null ? UTF8String.fromString(effect.get("header").asText()) : null;
    skips = effect.get("skips").asBoolean();
    converts = effect.get("converts").asBoolean();
    blankIsNone = effect.get("blank is none").asBoolean();
    entry = effect.get("entry").asInt();
  }

  @Override
  public void apply(Row row) {
    String text = path == null ? headerText(row) : fieldText(row);
    if (text != null && !text.isEmpty() && !(blankIsNone && text.isBlank())) {
      row.route(text);
      row.touched.add(entry);
    } else if (!skips) {
      throw Left.LEFT;
    }
  }

  private String fieldText(Row row) {
    Side side = onKey ? row.key : row.value;
    Object value = path.length() == 0 ? side.content() : path.valueAt(side.object());
    String text = Scalar.text(value);
    if (text != null && !converts && Scalar.kind(value) != Kind.STRING) {
      throw Left.LEFT;
    }
    return text;
  }

  private String headerText(Row row) {
    int last = row.headers.last(header);
    byte[] bytes = last < 0 ? null : row.headers.value(last);
    if (bytes == null) {
      return null;
    }
    for (byte c : bytes) {
      if (c < 0) {
        throw Left.LEFT; // the header may not be UTF-8
      }
    }
    return new String(bytes, StandardCharsets.US_ASCII);
  }
}
