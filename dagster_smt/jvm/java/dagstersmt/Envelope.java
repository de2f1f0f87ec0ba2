package dagstersmt;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Finds the two parts of an envelope: {@code {"schema": …, "payload": …}}, as Connect's JSON converter writes it. */
final class Envelope {
  private static final byte[] SCHEMA = "schema".getBytes(StandardCharsets.UTF_8);
  private static final byte[] PAYLOAD = "payload".getBytes(StandardCharsets.UTF_8);

  int schemaStart;
  int schemaEnd;
  int payloadStart;
  private int payloadEnd;

  /**
   * Finds the parts of a text.
   *
   * @throws Left the text is not an envelope, has a part twice, or has further members
   */
  void find(byte[] text) {
    schemaEnd = 0;
    payloadEnd = 0;
    int at = Json.afterBlanks(text, 0, text.length);
    if (at >= text.length || text[at] != '{') {
      throw Left.LEFT;
    }
    at = findPart(text, Json.afterBlanks(text, at + 1, text.length));
    at = findPart(text, Json.afterComma(text, at, text.length));
    boolean isClosed = at < text.length && text[at] == '}';
    if (!isClosed || Json.afterBlanks(text, at + 1, text.length) != text.length) {
      throw Left.LEFT;
    }
  }

  private int findPart(byte[] text, int at) {
    if (at >= text.length || text[at] != '"') {
      throw Left.LEFT;
    }
    int nameEnd = Json.afterPlainString(text, at + 1, text.length) - 1;
    int start = Json.afterColon(text, nameEnd + 1, text.length);
    int end = Json.afterValue(text, start, text.length, 1);
    if (schemaEnd == 0 && isNamed(text, at + 1, nameEnd, SCHEMA)) {
      schemaStart = start;
      schemaEnd = end;
    } else if (payloadEnd == 0 && isNamed(text, at + 1, nameEnd, PAYLOAD)) {
      payloadStart = start;
      payloadEnd = end;
    } else {
      throw Left.LEFT;
    }
    return Json.afterBlanks(text, end, text.length);
  }

  private static boolean isNamed(byte[] text, int from, int to, byte[] name) {
    return Arrays.equals(text, from, to, name, 0, name.length);
  }
}
