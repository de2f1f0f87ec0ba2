package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashSet;
import java.util.Set;
import java.util.regex.Pattern;

/** Tests the names of topics to which records can be written. Python sends the names of a kind of topics as JSON. */
final class TopicNames {
  private final Pattern pattern;
  private final Set<String> refused = new HashSet<>();

  /** The topic of the last record. */
  private String last;

  TopicNames(JsonNode names) {
    pattern = Pattern.compile(names.get("pattern").asText());
    names.get("refused").forEach(name -> refused.add(name.asText()));
  }

  /** Returns true if records can be written to the topic. */
  boolean takes(String topic) {
    if (topic == null) {
      return false;
    }
    if (topic.equals(last)) {
      return true;
    }
    if (refused.contains(topic) || !pattern.matcher(topic).matches()) {
      return false;
    }
    last = topic;
    return true;
  }
}
