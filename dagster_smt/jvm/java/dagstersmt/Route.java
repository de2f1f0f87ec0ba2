package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Replaces the topic according to a regular expression, as {@code org.apache.kafka.connect.transforms.RegexRouter}
 * does.
 */
final class Route implements Effect {
  private final Pattern pattern;
  private final String replacement;
  private final int entry;

  /** The topic of the last record before the stage, and after the stage. */
  private String before;
  private String after;
  private boolean matches;

  Route(JsonNode effect) {
    pattern = Pattern.compile(effect.get("regex").asText());
    replacement = effect.get("replacement").asText();
    entry = effect.get("entry").asInt();
  }

  @Override
  public void apply(Row row) {
    if (!row.topic().equals(before)) {
      before = null; // the replacement may name a group that the expression lacks
      Matcher matcher = pattern.matcher(new Bounded(row.topic()));
      matches = matcher.matches();
      after = matches ? matcher.replaceFirst(replacement) : row.topic();
      before = row.topic();
    }
    if (matches) {
      row.route(after);
      row.touched.add(entry);
    }
  }
}
