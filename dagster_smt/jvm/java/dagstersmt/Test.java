package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.apache.spark.unsafe.types.UTF8String;

/** Connect's predicates, which determine whether a stage acts on a record. */
final class Test {
  private Test() {}

  /** Returns the predicate that a program describes. The program may negate it. */
  static Predicate<Row> of(JsonNode test) {
    Predicate<Row> predicate = plain(test);
    return test.get("negate").asBoolean() ? predicate.negate() : predicate;
  }

  private static Predicate<Row> plain(JsonNode test) {
    String name = test.get("name").asText();
    switch (name) {
      case "always":
        return row -> true;
      case "tombstone":
        return row -> row.value.isNull();
      case "on value":
        Predicate<Row> inside = of(test.get("test"));
        return row -> !row.value.isNull() && inside.test(row);
      case "field":
        return new FieldTest(test);
      case "header":
        UTF8String header = UTF8String.fromString(test.get("header").asText());
        return row -> row.headers.has(header);
      case "topic":
        return new TopicMatches(test.get("pattern").asText());
      default:
        throw new IllegalArgumentException("no test " + name);
    }
  }

  private static final class TopicMatches implements Predicate<Row> {
    private final Pattern pattern;
    private String topic;
    private boolean matches;

    TopicMatches(String pattern) {
      this.pattern = Pattern.compile(pattern);
    }

    @Override
    public boolean test(Row row) {
      if (!row.topic().equals(topic)) {
        matches = pattern.matcher(new Bounded(row.topic())).matches();
        topic = row.topic();
      }
      return matches;
    }
  }
}
