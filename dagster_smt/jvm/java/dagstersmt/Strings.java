package dagstersmt;

import java.nio.charset.StandardCharsets;

/** Decodes strings of JSON with escapes. */
final class Strings {
  private Strings() {}

  /**
   * Returns the content of a string. {@code start} is the position of its opening quote, and {@code end} is the
   * position after its closing quote.
   */
  static String decoded(byte[] text, int start, int end) {
    StringBuilder decoded = new StringBuilder(end - start);
    int at = start + 1;
    while (at < end - 1) {
      int next = at;
      while (next < end - 1 && text[next] != '\\') {
        next++;
      }
      decoded.append(new String(text, at, next - at, StandardCharsets.UTF_8));
      at = next < end - 1 ? afterEscape(text, next + 1, end, decoded) : next;
    }
    return decoded.toString();
  }

  private static int afterEscape(byte[] text, int at, int end, StringBuilder decoded) {
    int known = "bfnrt".indexOf(text[at]);
    if (text[at] == 'u') {
      decoded.append((char) Json.hexadecimal(text, at + 1, end));
      return at + 5;
    }
    decoded.append(known >= 0 ? "\b\f\n\r\t".charAt(known) : (char) text[at]);
    return at + 1;
  }
}
