package dagstersmt;

import java.util.Arrays;

/**
 * Converts numbers with few digits and without an exponent. Most numbers are of this kind.
 *
 * <p>A number with at most fifteen digits is unchanged after a conversion to double and back. The shortest text of the
 * double is therefore the text itself, except for zeros at its end.
 */
final class Decimal {
  private static final int SURE_DIGITS = 15;

  /**
   * The powers of ten that a double represents exactly. A quotient by one of them is therefore the double nearest to
   * the true quotient.
   */
  private static final double[] TENS = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14};

  private Decimal() {}

  /** Returns true if a text is such a number: digits, and optionally a point with more digits. */
  static boolean is(byte[] text, int start, int end) {
    int at = start < end && text[start] == '-' ? start + 1 : start;
    int whole = afterDigits(text, at, end);
    int after = whole < end && text[whole] == '.' ? afterDigits(text, whole + 1, end) : whole;
    boolean lacksDigits = whole == at || after == whole + 1;
    return after == end && !lacksDigits && end - at <= SURE_DIGITS;
  }

  private static int afterDigits(byte[] text, int at, int end) {
    while (at < end && Json.isDigit(text[at])) {
      at++;
    }
    return at;
  }

  /** Returns the double nearest to such a number. The result 0 has no sign. */
  static double value(byte[] text, int start, int end) {
    long digits = 0;
    int afterPoint = 0;
    for (int at = start; at < end; at++) {
      if (Json.isDigit(text[at])) {
        digits = digits * 10 + text[at] - '0';
      } else if (text[at] == '.') {
        afterPoint = end - at - 1;
      }
    }
    double value = digits / TENS[afterPoint];
    return digits != 0 && text[start] == '-' ? -value : value;
  }

  /**
   * Returns the text of such a number after a conversion to double, without an exponent. Returns null for all other
   * numbers, and for zero.
   *
   * @param whole the maximum number of digits before the point; larger numbers are written in a different form
   * @param zeros the maximum number of zeros after the point, for a number below 1
   */
  static byte[] text(byte[] text, int start, int end, int whole, int zeros) {
    if (!is(text, start, end)) {
      return null;
    }
    int first = text[start] == '-' ? start + 1 : start;
    int point = afterDigits(text, first, end);
    if (point - first > whole || text[first] == '0' && !isFraction(text, first, end, zeros)) {
      return null;
    }
    if (point == end) {
      byte[] longer = Arrays.copyOfRange(text, start, end + 2);
      longer[end - start] = '.';
      longer[end - start + 1] = '0';
      return longer;
    }
    int last = end;
    // one digit stays after the point: 1.00 becomes 1.0
    while (text[last - 1] == '0' && last > point + 2) {
      last--;
    }
    return Arrays.copyOfRange(text, start, last);
  }

  /** Returns true if a number that begins with 0 is below 1 and has at most {@code zeros} zeros after the point. */
  private static boolean isFraction(byte[] text, int first, int end, int zeros) {
    if (first + 2 >= end || text[first + 1] != '.') {
      return false;
    }
    int at = first + 2;
    while (at < end && text[at] == '0') {
      at++;
    }
    return at < end && at - first - 2 <= zeros;
  }
}
