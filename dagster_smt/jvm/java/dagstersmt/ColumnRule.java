package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.spark.unsafe.types.UTF8String;

/** A rule of a stage for the value of a column. */
interface ColumnRule {
  /**
   * Returns the result for a value that is not null; null if the rule fails.
   *
   * @throws Left only Python can determine the result
   */
  Object apply(Object value);

  /** Returns the rule that a program describes. */
  static ColumnRule of(JsonNode rule) {
    String name = rule.get("name").asText();
    switch (name) {
      case "cast":
        String target = rule.get("target").asText();
        if ("float64".equals(target)) {
          return value -> parsedDouble((UTF8String) value);
        }
        return value -> value instanceof UTF8String ? parsed(value.toString(), target) : text((Number) value);
      case "time to text":
        return timeToText(rule.get("format").asText(), rule.get("millis").asLong());
      default:
        TextRule text = TextRule.of(rule);
        return value -> UTF8String.fromString(text.of(value.toString()));
    }
  }

  private static Object parsedDouble(UTF8String text) {
    byte[] bytes = text.getBytes();
    // without a minus, because 0 may have a sign
    boolean isPlain = Decimal.is(bytes, 0, bytes.length) && bytes[0] != '-';
    return isPlain ? Decimal.value(bytes, 0, bytes.length) : parsed(text.toString(), "float64");
  }

  /** Converts a string to a number, as {@code org.apache.kafka.connect.transforms.Cast} does. */
  private static Object parsed(String text, String target) {
    try {
      switch (target) {
        case "float32":
          return Float.parseFloat(text);
        case "float64":
          return Double.parseDouble(text);
        case "int8":
          return Byte.parseByte(text);
        case "int16":
          return Short.parseShort(text);
        case "int32":
          return Integer.parseInt(text);
        default:
          return Long.parseLong(text);
      }
    } catch (NumberFormatException e) {
      return null;
    }
  }

  /** Converts a floating-point number to a string, as {@code Cast} does. */
  private static UTF8String text(Number value) {
    if (Double.isNaN(value.doubleValue()) || Double.isInfinite(value.doubleValue())) {
      return UTF8String.fromString(value.toString());
    }
    boolean isSingle = value instanceof Float;
    return UTF8String.fromString(
        isSingle ? Numbers.javaText(value.floatValue()) : Numbers.javaText(value.doubleValue()));
  }

  /**
   * Returns the rule that converts a time as a number into a string, as
   * {@code org.apache.kafka.connect.transforms.TimestampConverter} does.
   *
   * @param millis the unit of the numbers, in milliseconds
   */
  private static ColumnRule timeToText(String format, long millis) {
    Dates dates = new Dates(format);
    return value -> {
      byte[] json = dates.json(Math.multiplyExact(((Number) value).longValue(), millis)).bytes;
      return Scalars.text(json, 0, json.length);
    };
  }
}
