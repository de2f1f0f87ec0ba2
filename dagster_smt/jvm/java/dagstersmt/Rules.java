package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;

/** Creates the rules that a program can name. */
final class Rules {
  private Rules() {}

  /** Returns the rule that a program describes. */
  static Rule of(JsonNode rule) {
    String name = rule.get("name").asText();
    switch (name) {
      case "constant":
        return constant(rule.get("values"));
      case "cast":
        return new Cast(rule.get("target").asText());
      case "case":
        return new LetterCase(rule.get("upper").asBoolean());
      case "time":
        return new Time(rule.get("target").asText(), rule.get("format").asText(), rule.get("precision").asText());
      default:
        return TextRule.of(rule).forJson(rule.get("numbers").asBoolean());
    }
  }

  /**
   * Returns a rule that replaces all values of a kind with the same constant. {@code values} maps each kind to the JSON
   * text of the constant, or to null if values of the kind are rejected.
   */
  private static Rule constant(JsonNode values) {
    Map<Kind, Text> texts = new EnumMap<>(Kind.class);
    for (Kind kind : Kind.values()) {
      JsonNode text = values.get(kind.name().toLowerCase(Locale.ROOT));
      if (text != null && !text.isNull()) {
        texts.put(kind, Text.of(text.asText()));
      }
    }
    return (kind, text, start, end) -> {
      Text constant = texts.get(kind);
      if (constant == null) {
        throw Left.LEFT;
      }
      return constant;
    };
  }

  /** Returns the content of a JSON string that has no escapes. */
  static String string(byte[] text, int start, int end) {
    for (int i = start + 1; i < end - 1; i++) {
      if (text[i] == '\\') {
        return Strings.decoded(text, start, end);
      }
    }
    return new String(text, start + 1, end - start - 2, StandardCharsets.UTF_8);
  }

  /** Converts values without a schema as {@code org.apache.kafka.connect.transforms.Cast} does. */
  private static final class Cast implements Rule {
    private final String target;
    private final boolean isDouble;

    Cast(String target) {
      this.target = target;
      isDouble = "float64".equals(target);
    }

    @Override
    public Text apply(Kind kind, byte[] text, int start, int end) {
      switch (kind) {
        case STRING:
          return ofString(text, start, end);
        case BOOLEAN:
          return ofBoolean(text[start] == 't');
        case INT64:
          return ofLong(Numbers.toLong(text, start, end));
        case FLOAT64:
          return ofDouble(text, start, end);
        default:
          throw Left.LEFT;
      }
    }

    private Text ofString(byte[] text, int start, int end) {
      Text decimal = isDouble ? Numbers.shortJson(text, start + 1, end - 1) : null;
      return decimal == null ? ofString(string(text, start, end)) : decimal;
    }

    private Text ofString(String value) {
      try {
        switch (target) {
          case "string":
            return Text.string(value);
          case "boolean":
            return "true".equalsIgnoreCase(value) ? Text.TRUE : Text.FALSE;
          case "float32":
            return ofFloat(Float.parseFloat(value));
          case "float64":
            return Numbers.json(Double.parseDouble(value));
          case "int8":
            return Text.boxed(Byte.toString(Byte.parseByte(value)));
          case "int16":
            return Text.boxed(Short.toString(Short.parseShort(value)));
          case "int32":
            return Text.boxed(Integer.toString(Integer.parseInt(value)));
          default:
            return Text.of(Long.toString(Long.parseLong(value)));
        }
      } catch (NumberFormatException e) {
        throw Left.LEFT;
      }
    }

    private Text ofBoolean(boolean value) {
      switch (target) {
        case "string":
          return Text.string(Boolean.toString(value));
        case "boolean":
          return value ? Text.TRUE : Text.FALSE;
        default:
          return ofLong(value ? 1 : 0);
      }
    }

    private Text ofLong(long value) {
      switch (target) {
        case "string":
          return Text.string(Long.toString(value));
        case "boolean":
          return value != 0 ? Text.TRUE : Text.FALSE;
        case "float32":
          return ofFloat((float) value);
        case "float64":
          return Numbers.json((double) value);
        default:
          return ofInteger(value);
      }
    }

    private Text ofDouble(byte[] text, int start, int end) {
      switch (target) {
        case "string":
          return Text.string(Numbers.javaText(text, start, end));
        case "float64":
          return Numbers.json(text, start, end);
        default:
          return ofDouble(Numbers.toDouble(text, start, end));
      }
    }

    private Text ofDouble(double value) {
      switch (target) {
        case "boolean":
          // Cast calls Number.longValue, so 0.5 becomes false
          return (long) value != 0 ? Text.TRUE : Text.FALSE;
        case "float32":
          return ofFloat((float) value);
        case "int64":
          return ofInteger((long) value);
        default:
          return ofInteger((int) value); // Java first narrows a double to an int
      }
    }

    private Text ofInteger(long value) {
      switch (target) {
        case "int8":
          return Text.boxed(Byte.toString((byte) value));
        case "int16":
          return Text.boxed(Short.toString((short) value));
        case "int32":
          return Text.boxed(Integer.toString((int) value));
        default:
          return Text.of(Long.toString(value));
      }
    }

    private static Text ofFloat(float value) {
      if (Float.isNaN(value) || Float.isInfinite(value)) {
        throw Left.LEFT;
      }
      return Text.boxed(Numbers.javaText(value));
    }
  }

  /** Converts between strings and Unix time as {@code org.apache.kafka.connect.transforms.TimestampConverter} does. */
  private static final class Time implements Rule {
    private final boolean toText;
    private final Dates dates;
    private final long multiply;
    private final long divide;

    Time(String target, String format, String precision) {
      toText = "string".equals(target);
      dates = format.isEmpty() ? null : new Dates(format);
      multiply = "seconds".equals(precision) ? 1000 : 1;
      divide = partsOfAMillisecond(precision);
    }

    @Override
    public Text apply(Kind kind, byte[] text, int start, int end) {
      long instant;
      if (kind == Kind.INT64) {
        instant = scaled(Numbers.toLong(text, start, end), multiply, divide);
      } else if (kind == Kind.STRING && dates != null) {
        instant = dates.parse(string(text, start, end));
      } else {
        throw Left.LEFT;
      }
      return toText ? dates.json(instant) : Text.of(Long.toString(scaled(instant, divide, multiply)));
    }

    private static long partsOfAMillisecond(String precision) {
      if ("nanoseconds".equals(precision)) {
        return 1_000_000;
      }
      return "microseconds".equals(precision) ? 1000 : 1;
    }

    /**
     * Multiplies and divides as {@code java.util.concurrent.TimeUnit} does. The result is rounded toward zero, and
     * limited to the range of 64 bits.
     */
    private static long scaled(long value, long multiply, long divide) {
      if (multiply == 1) {
        return value / divide;
      }
      if (value > Long.MAX_VALUE / multiply) {
        return Long.MAX_VALUE;
      }
      if (value < Long.MIN_VALUE / multiply) {
        return Long.MIN_VALUE;
      }
      return value * multiply;
    }
  }
}
