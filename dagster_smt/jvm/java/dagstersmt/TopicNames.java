package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashSet;
import java.util.Set;
import java.util.regex.Pattern;

/** Tests the names of topics to which records can be written. */
final class TopicNames {
  private final Pattern pattern;
  private final Set<String> refused = new HashSet<>();

  /** The topic of the last record. */
  private String last;

  TopicNames(JsonNode names) {
    pattern = Pattern.compile(names.get("pattern").asText());
    names.get("refused").forEach(name -> refused.add(name.asText()));
  }

  void check(String topic) {
    if (topic.equals(last)) {
      return;
    }
    if (refused.contains(topic) || !pattern.matcher(topic).matches()) {
      throw Left.LEFT;
    }
    last = topic;
  }
}
