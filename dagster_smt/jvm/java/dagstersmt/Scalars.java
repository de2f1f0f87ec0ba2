package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Base64;
import java.util.Locale;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/** Readers of values that are neither objects nor arrays. */
final class Scalars {
  private static final long DAY = 86_400_000;

  /** The latest timestamp that Spark can hold, in milliseconds. Its negative is the earliest timestamp. */
  private static final long MAX_MILLIS = Long.MAX_VALUE / 1000;

  private Scalars() {}

  static ColumnReader of(String name, JsonNode type) {
    switch (name) {
      case "string":
        return new StringReader();
      case "boolean":
        return new BooleanReader();
      case "bytes":
        return new BytesReader();
      case "float32":
        return new FloatReader();
      case "float64":
        return new DoubleReader();
      case "decimal":
        return new DecimalReader(type);
      default:
        return IntegerReader.of(name, type);
    }
  }

  /** Returns a JSON string as Spark's string. Without escapes, the bytes are not copied. */
  static UTF8String text(byte[] json, int start, int end) {
    if (Words.find(json, (byte) '\\', start + 1, end - 1) < end - 1) {
      return UTF8String.fromString(Strings.decoded(json, start, end));
    }
    return UTF8String.fromBytes(json, start + 1, end - start - 2);
  }

  private static int afterString(byte[] text, int at, int end) {
    if (text[at] != '"') {
      throw Left.LEFT;
    }
    return Json.afterString(text, at + 1, end);
  }

  /** Returns the bytes that a string contains in base64. */
  private static byte[] bytes(byte[] json, int start, int end) {
    if ((end - start - 2) % 4 != 0) {
      throw Left.LEFT; // Java would accept base64 without padding
    }
    return Base64.getDecoder().decode(Numbers.ascii(json, start + 1, end - 1));
  }

  static final class StringReader extends ColumnReader {
    @Override
    int readValue(byte[] text, int at, int end, int depth) {
      if (text[at] == '"') {
        int quote = Words.afterPlain(text, at + 1, end);
        // this is true of nearly every text, which then need not be searched again
        if (quote < end && text[quote] == '"') {
          value = UTF8String.fromBytes(text, at + 1, quote - at - 1);
          return quote + 1;
        }
      }
      int after = afterString(text, at, end);
      value = text(text, at, after);
      return after;
    }

    @Override
    boolean isWritten() {
      return true;
    }

    @Override
    int writeValue(byte[] text, int at, int end, int depth, UnsafeRowWriter row, int column) {
      if (text[at] == '"') {
        int quote = Words.afterPlain(text, at + 1, end);
        if (quote < end && text[quote] == '"') {
          row.write(column, text, at + 1, quote - at - 1);
          return quote + 1;
        }
      }
      return super.writeValue(text, at, end, depth, row, column);
    }

    @Override
    Object constant(JsonNode constant) {
      return UTF8String.fromString(constant.asText());
    }
  }

  private static final class BooleanReader extends ColumnReader {
    @Override
    int readValue(byte[] text, int at, int end, int depth) {
      if (text[at] != 't' && text[at] != 'f') {
        throw Left.LEFT;
      }
      value = text[at] == 't';
      return Json.afterValue(text, at, end, depth);
    }

    @Override
    boolean isWritten() {
      return true;
    }

    @Override
    Object constant(JsonNode constant) {
      return constant.asBoolean();
    }
  }

  private static final class BytesReader extends ColumnReader {
    @Override
    int readValue(byte[] text, int at, int end, int depth) {
      int after = afterString(text, at, end);
      value = bytes(text, at, after);
      return after;
    }

    @Override
    boolean isWritten() {
      return true;
    }

    @Override
    Object constant(JsonNode constant) {
      return Base64.getDecoder().decode(constant.asText());
    }
  }

  private static final class FloatReader extends ColumnReader {
    @Override
    int readValue(byte[] text, int at, int end, int depth) {
      int after = Json.afterNumber(text, at, end);
      float number = Float.parseFloat(Numbers.ascii(text, at, after));
      if (Float.isInfinite(number) || number == 0 && text[at] == '-') {
        throw Left.LEFT;
      }
      value = number;
      return after;
    }

    @Override
    boolean isWritten() {
      return true;
    }

    @Override
    Object constant(JsonNode constant) {
      return Float.parseFloat(constant.asText());
    }
  }

  private static final class DoubleReader extends ColumnReader {
    @Override
    int readValue(byte[] text, int at, int end, int depth) {
      int after = Json.afterNumber(text, at, end);
      value = Numbers.toDouble(text, at, after);
      return after;
    }

    @Override
    boolean isWritten() {
      return true;
    }

    @Override
    int writeValue(byte[] text, int at, int end, int depth, UnsafeRowWriter row, int column) {
      int after = Json.afterNumber(text, at, end);
      row.write(column, Numbers.toDouble(text, at, after));
      return after;
    }

    @Override
    Object constant(JsonNode constant) {
      return Double.parseDouble(constant.asText());
    }
  }

  /**
   * Reads decimals of 38 digits. In JSON, they are numbers, or base64 strings, which are Connect's default form of
   * decimals.
   */
  private static final class DecimalReader extends ColumnReader {
    private static final int MOST_DIGITS = 38;

    /** The maximum length of a short text. A longer text may be a number that takes minutes to write out. */
    private static final int SHORT = 60;

    private final int scale;

    /** The maximum number of digits before the point. */
    private final int whole;

    /** True if a string is the base64 of the digits. Otherwise strings are left to Python. */
    private final boolean hasBase64;

    DecimalReader(JsonNode type) {
      scale = type.get("scale").asInt();
      whole = type.get("precision").asInt() - scale;
      hasBase64 = type.has("base64");
    }

    @Override
    int readValue(byte[] text, int at, int end, int depth) {
      boolean isBase64 = text[at] == '"' && hasBase64;
      int after = isBase64 ? afterString(text, at, end) : Json.afterNumber(text, at, end);
      if (after - at > SHORT) {
        throw Left.LEFT;
      }
      BigDecimal number =
          isBase64
              ? new BigDecimal(new BigInteger(bytes(text, at, after)), scale)
              : new BigDecimal(Numbers.ascii(text, at, after));
      boolean isExact = number.scale() >= 0 && number.scale() <= scale;
      if (!isExact || number.precision() - number.scale() > whole) {
        throw Left.LEFT; // the number would have to be rounded, or does not fit
      }
      value = decimal(number);
      return after;
    }

    private Decimal decimal(BigDecimal number) {
      return Decimal.apply(number.setScale(scale), MOST_DIGITS, scale);
    }

    @Override
    Object constant(JsonNode constant) {
      return decimal(new BigDecimal(constant.asText()));
    }
  }

  /** Reads whole numbers, and the types that Connect stores as whole numbers: dates, times and timestamps. */
  private static final class IntegerReader extends ColumnReader {
    /** The number of bits of the column. */
    private final int bits;

    private final long least;
    private final long most;

    /** Reads dates and timestamps that are strings; null if they are numbers. */
    private final Moments moments;

    private IntegerReader(String name, JsonNode type, int bits, long least, long most) {
      this.bits = bits;
      this.least = least;
      this.most = most;
      boolean isText = type.has("texts");
      moments = isText ? Moments.valueOf(name.toUpperCase(Locale.ROOT)) : null;
    }

    static ColumnReader of(String name, JsonNode type) {
      switch (name) {
        case "int8":
          return new IntegerReader(name, type, Byte.SIZE, Byte.MIN_VALUE, Byte.MAX_VALUE);
        case "int16":
          return new IntegerReader(name, type, Short.SIZE, Short.MIN_VALUE, Short.MAX_VALUE);
        case "int32":
        case "date":
          return new IntegerReader(name, type, Integer.SIZE, Integer.MIN_VALUE, Integer.MAX_VALUE);
        case "time":
          return new IntegerReader(name, type, Integer.SIZE, 0, DAY);
        case "timestamp":
          return new IntegerReader(name, type, Long.SIZE, -MAX_MILLIS, MAX_MILLIS);
        case "int64":
          return new IntegerReader(name, type, Long.SIZE, Long.MIN_VALUE, Long.MAX_VALUE);
        default:
          throw new IllegalArgumentException("no type " + name);
      }
    }

    @Override
    int readValue(byte[] text, int at, int end, int depth) {
      int after = after(text, at, end);
      value = boxed(number(text, at, after));
      return after;
    }

    private boolean isText(byte[] text, int at) {
      return text[at] == '"' && moments != null;
    }

    private int after(byte[] text, int at, int end) {
      return isText(text, at) ? Json.afterPlainString(text, at + 1, end) : Json.afterNumber(text, at, end);
    }

    private long number(byte[] text, int at, int after) {
      long number = isText(text, at) ? moments.read(text, at + 1, after - 1) : whole(text, at, after);
      if (number < least || number > most) {
        throw Left.LEFT;
      }
      return number;
    }

    private static long whole(byte[] text, int start, int end) {
      if (!Numbers.isWhole(text, start, end)) {
        throw Left.LEFT;
      }
      return Numbers.toLong(text, start, end);
    }

    private Object boxed(long number) {
      switch (bits) {
        case Byte.SIZE:
          return (byte) number;
        case Short.SIZE:
          return (short) number;
        case Integer.SIZE:
          return (int) number;
        default:
          return number;
      }
    }

    @Override
    boolean isWritten() {
      return true;
    }

    @Override
    int writeValue(byte[] text, int at, int end, int depth, UnsafeRowWriter row, int column) {
      int after = after(text, at, end);
      long number = number(text, at, after);
      switch (bits) {
        case Byte.SIZE:
          row.write(column, (byte) number);
          break;
        case Short.SIZE:
          row.write(column, (short) number);
          break;
        case Integer.SIZE:
          row.write(column, (int) number);
          break;
        default:
          row.write(column, number);
          break;
      }
      return after;
    }

    @Override
    Object constant(JsonNode constant) {
      return boxed(Long.parseLong(constant.asText()));
    }
  }
}
