package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;

/** A rule that converts strings to strings, as in {@code dagster_smt.values.privacy}. */
abstract class TextRule {
  /** Returns the rule that a program describes. */
  static TextRule of(JsonNode rule) {
    String name = rule.get("name").asText();
    switch (name) {
      case "pseudonym":
        return new Pseudonym(rule);
      case "part mask":
        return new PartMask(rule);
      case "redaction":
        return new Redaction(rule);
      case "seal":
        return new Sealed.Sealing(rule);
      case "open":
        return new Sealed.Opening(rule);
      case "token":
        return new Token(rule);
      case "network":
        return new Coarse.Network(rule);
      case "beginning":
        return new Coarse.Beginning(rule);
      default:
        throw new IllegalArgumentException("no rule " + name);
    }
  }

  /**
   * Returns the result for a string.
   *
   * @throws Left only Python can determine the result
   */
  abstract String of(String text);

  /** Returns the result for a JSON string, as JSON text. */
  Text ofJson(byte[] text, int start, int end) {
    return Text.string(of(Rules.string(text, start, end)));
  }

  /**
   * Returns the rule for values without a schema. With {@code numbers}, the rule also accepts whole numbers, and
   * converts them to strings.
   */
  final Rule forJson(boolean numbers) {
    return (kind, text, start, end) -> {
      if (kind == Kind.STRING) {
        return ofJson(text, start, end);
      }
      if (kind == Kind.INT64 && numbers) {
        return Text.string(of(Long.toString(Numbers.toLong(text, start, end))));
      }
      throw Left.LEFT;
    };
  }
}
