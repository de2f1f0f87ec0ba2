package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.unsafe.types.UTF8String;

/** The effects of Connect's transforms on headers. */
final class HeaderEffects {
  private HeaderEffects() {}

  private static UTF8String name(JsonNode name) {
    return UTF8String.fromString(name.asText());
  }

  /** Returns an effect that appends the same header to all records. Its value is in Base64, or null. */
  static Effect add(JsonNode effect) {
    UTF8String name = name(effect.get("name"));
    byte[] value = binary(effect.get("value"));
    int entry = effect.get("entry").asInt();
    return row -> {
      row.headers.add(name, value);
      row.touched.add(entry);
    };
  }

  private static byte[] binary(JsonNode value) {
    try {
      return value.isNull() ? null : value.binaryValue();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static List<UTF8String> names(JsonNode effect) {
    List<UTF8String> names = new ArrayList<>();
    effect.get("names").forEach(name -> names.add(name(name)));
    return names;
  }

  /** Returns an effect that drops all headers except those with the given names. */
  static Effect keep(JsonNode effect) {
    List<UTF8String> names = names(effect);
    int entry = effect.get("entry").asInt();
    return row -> {
      if (row.headers.keep(names)) {
        row.touched.add(entry);
      }
    };
  }

  /** Returns an effect that drops all headers with the given names. */
  static Effect drop(JsonNode effect) {
    List<UTF8String> names = names(effect);
    int first = effect.get("entry").asInt();
    return row -> {
      for (int i = 0; i < names.size(); i++) {
        if (row.headers.has(names.get(i))) {
          row.touched.add(first + i);
        }
      }
      names.forEach(row.headers::drop);
    };
  }

  /** Returns an effect that appends a header with the value of a field; null if the field is missing. */
  static Effect copy(JsonNode effect, boolean onKey) {
    Path path = new Path(effect.get("path"));
    UTF8String name = name(effect.get("name"));
    int entry = effect.get("entry").asInt();
    return row -> {
      String text = Scalar.text(path.valueAt((onKey ? row.key : row.value).object()));
      row.headers.add(name, text == null ? null : text.getBytes(StandardCharsets.UTF_8));
      row.touched.add(entry);
    };
  }
}
