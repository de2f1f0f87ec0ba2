package dagstersmt;

import java.util.Arrays;

/**
 * Numbers that a text has with few digits and without an exponent, as most have them.
 *
 * <p>At most fifteen digits come back from a double as they went in: so the shortest text of the double is the text
 * itself, but for zeros at its end.
 */
final class Decimal {
  private static final int SURE_DIGITS = 15;

  /** Powers of ten that are exact as doubles; so a quotient is the double nearest to the true one. */
  private static final double[] TENS = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14};

  private Decimal() {}

  /** Whether a text is such a number: digits, and after a point more of them. */
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

  /** The double nearest to such a number; 0 has no sign here. */
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
   * The text of such a number as a double, laid out without an exponent; null for other numbers, and for zero.
   *
   * @param whole how many digits before the point at most; larger ones are laid out otherwise
   * @param zeros how many zeros after the point at most, of those below 1
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
    while (text[last - 1] == '0' && last > point + 2) {
      last--;
    }
    return Arrays.copyOfRange(text, start, last);
  }

  /** Whether a number that begins with 0 is one below 1, with no more than so many zeros after the point. */
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
