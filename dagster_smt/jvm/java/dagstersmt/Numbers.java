package dagstersmt;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;

/** Converts JSON numbers from and to text, as Connect reads them and as the Python evaluator writes them. */
final class Numbers {
  /** The number of digits that always fit into 64 bits. */
  private static final int SURE_DIGITS = 18;

  /** The maximum number of digits before the point. A double with more digits is written with an exponent. */
  private static final int MOST_WHOLE_DIGITS = 16;

  private static final int MOST_ZEROS = 4;

  private Numbers() {}

  /** Returns true if the text of a number is an integer, so that it has no fraction and no exponent. */
  static boolean isWhole(byte[] text, int start, int end) {
    for (int i = start; i < end; i++) {
      byte c = text[i];
      if (c == '.' || c == 'e' || c == 'E') {
        return false;
      }
    }
    return true;
  }

  /**
   * Returns the kind of a number.
   *
   * @throws Left 64 bits, or a double, cannot hold the number
   */
  static Kind kind(byte[] text, int start, int end) {
    if (!isWhole(text, start, end)) {
      // the result is not used: the call throws Left for a number that no double can hold
      if (!Decimal.is(text, start, end)) {
        toDouble(text, start, end);
      }
      return Kind.FLOAT64;
    }
    if (end - start > SURE_DIGITS) {
      toLong(text, start, end);
    }
    return Kind.INT64;
  }

  static long toLong(byte[] text, int start, int end) {
    if (end - start > SURE_DIGITS) {
      try {
        return Long.parseLong(ascii(text, start, end));
      } catch (NumberFormatException e) {
        throw Left.LEFT;
      }
    }
    boolean negative = text[start] == '-';
    long number = 0;
    for (int i = negative ? start + 1 : start; i < end; i++) {
      number = number * 10 + text[i] - '0';
    }
    return negative ? -number : number;
  }

  static double toDouble(byte[] text, int start, int end) {
    if (Decimal.is(text, start, end)) {
      return Decimal.value(text, start, end);
    }
    double number = Double.parseDouble(ascii(text, start, end));
    if (Double.isInfinite(number)) {
      throw Left.LEFT;
    }
    if (number == 0 && isZero(text, start, end)) {
      return 0.0; // Connect reads numbers as BigDecimal, which has no -0.0, although -1e-400 becomes -0.0
    }
    return number;
  }

  private static boolean isZero(byte[] text, int start, int end) {
    for (int i = start; i < end && text[i] != 'e' && text[i] != 'E'; i++) {
      if (text[i] >= '1' && text[i] <= '9') {
        return false;
      }
    }
    return true;
  }

  static String ascii(byte[] text, int start, int end) {
    return new String(text, start, end - start, StandardCharsets.ISO_8859_1);
  }

  /** Returns the text of a JSON number, as {@link #json(double)} does. */
  static Text json(byte[] text, int start, int end) {
    Text same = shortJson(text, start, end);
    return same == null ? json(toDouble(text, start, end)) : same;
  }

  /**
   * Returns the text of a number with few digits. The number need not be a JSON number. Returns null for numbers with
   * more digits.
   */
  static Text shortJson(byte[] text, int start, int end) {
    byte[] same = Decimal.text(text, start, end, MOST_WHOLE_DIGITS, MOST_ZEROS);
    return same == null ? null : new Text(same, false);
  }

  /** Returns the text of a JSON number, as {@link #javaText(double)} does. */
  static String javaText(byte[] text, int start, int end) {
    // Java writes numbers from 0.001 up to 10,000,000 without an exponent
    byte[] same = Decimal.text(text, start, end, 7, 2);
    return same == null ? javaText(toDouble(text, start, end)) : ascii(same, 0, same.length);
  }

  /**
   * Returns the text of a double as msgspec writes it. Numbers below 1e-5, and from 1e16 onwards, have an exponent
   * without a plus.
   */
  static Text json(double number) {
    if (Double.isNaN(number) || Double.isInfinite(number)) {
      throw Left.LEFT;
    }
    if (number == 0) {
      return 1 / number < 0 ? Text.boxed("-0.0") : Text.of("0.0");
    }
    BigDecimal shortest = shortest(number);
    String digits = shortest.unscaledValue().abs().toString();
    int point = digits.length() - shortest.scale(); // digits before the decimal point
    String minus = number < 0 ? "-" : "";
    if (point > MOST_WHOLE_DIGITS || point < -MOST_ZEROS) {
      String fraction = digits.length() > 1 ? "." + digits.substring(1) : "";
      return Text.of(minus + digits.charAt(0) + fraction + "e" + (point - 1));
    }
    return Text.of(minus + positional(digits, point));
  }

  /** Returns {@code Double.toString} of a number with the fewest possible digits, as in JDK 19 and later. */
  static String javaText(double number) {
    return javaText(number, shortest(number));
  }

  /** Returns {@code Float.toString} of a number with the fewest possible digits. */
  static String javaText(float number) {
    return javaText(number, shortest(number));
  }

  private static String javaText(double number, BigDecimal shortest) {
    if (number == 0) {
      return 1 / number < 0 ? "-0.0" : "0.0";
    }
    String digits = shortest.unscaledValue().abs().toString();
    int point = digits.length() - shortest.scale();
    String minus = number < 0 ? "-" : "";
    if (point >= -2 && point <= 7) { // 0.001 <= |number| < 10,000,000
      return minus + positional(digits, point);
    }
    String fraction = digits.length() > 1 ? digits.substring(1) : "0";
    return minus + digits.charAt(0) + "." + fraction + "E" + (point - 1);
  }

  private static String positional(String digits, int point) {
    if (point <= 0) {
      return "0." + "0".repeat(-point) + digits;
    }
    if (point >= digits.length()) {
      return digits + "0".repeat(point - digits.length()) + ".0";
    }
    return digits.substring(0, point) + "." + digits.substring(point);
  }

  /** Returns the decimal number with the fewest digits that is read as the same double. It has no zeros at the end. */
  private static BigDecimal shortest(double number) {
    if (number == 0) {
      return BigDecimal.ZERO;
    }
    if (Math.abs(number) < 1e-300) {
      throw Left.LEFT; // near the smallest double, Java prints two digits although one would suffice
    }
    BigDecimal printed = new BigDecimal(Double.toString(number)).stripTrailingZeros();
    // before JDK 19, some numbers with many digits were printed with one digit too many
    BigDecimal exact = printed.precision() < 16 ? null : new BigDecimal(number);
    for (int precision = printed.precision() - 1; exact != null && precision > 0; precision--) {
      BigDecimal shorter = exact.round(new MathContext(precision, RoundingMode.HALF_EVEN));
      if (shorter.doubleValue() != number) {
        break;
      }
      printed = shorter.stripTrailingZeros();
    }
    return exact == null ? printed : nearest(exact, printed, number);
  }

  /**
   * Returns the decimal number that is nearest to {@code exact} among those with as many digits as {@code printed}.
   * Before JDK 19, Java did not always print the nearest one.
   */
  private static BigDecimal nearest(BigDecimal exact, BigDecimal printed, double number) {
    BigDecimal rounded = exact.round(new MathContext(printed.precision(), RoundingMode.HALF_EVEN));
    return rounded.doubleValue() == number ? rounded.stripTrailingZeros() : printed;
  }

  private static BigDecimal shortest(float number) {
    if (number == 0) {
      return BigDecimal.ZERO;
    }
    BigDecimal exact = new BigDecimal((double) number);
    // Java prints at least two digits, and chooses the nearest number with two digits
    for (int precision = 2; precision < 9; precision++) {
      BigDecimal shorter = exact.round(new MathContext(precision, RoundingMode.HALF_EVEN));
      if (shorter.floatValue() == number) {
        return shorter.stripTrailingZeros();
      }
    }
    // nine digits always identify a float
    return exact.round(new MathContext(9, RoundingMode.HALF_EVEN)).stripTrailingZeros();
  }
}
