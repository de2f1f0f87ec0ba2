package dagstersmt;

import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Set;

/**
 * Determines whether a JSON text stays the same if it is decoded and written again. Such a text has no whitespace, no
 * repeated names in an object, and no escapes in names.
 */
final class Canonical {
  private Canonical() {}

  static boolean is(byte[] text, int start, int end) {
    try {
      return after(text, start, end) == end;
    } catch (Left e) {
      return false;
    }
  }

  private static int after(byte[] text, int at, int end) {
    byte first = text[at];
    if (first != '{' && first != '[') {
      return Json.afterValue(text, at, end, 0);
    }
    Set<String> names = new HashSet<>();
    at++;
    while (text[at] != '}' && text[at] != ']') {
      if (first == '{') {
        int nameEnd = Json.afterPlainString(text, at + 1, end);
        if (text[nameEnd] != ':' || !names.add(new String(text, at, nameEnd - at, StandardCharsets.UTF_8))) {
          throw Left.LEFT;
        }
        at = nameEnd + 1;
      }
      at = after(text, at, end);
      if (text[at] == ',') {
        at++;
      }
    }
    return at + 1;
  }
}
