package dagstersmt;

import java.nio.charset.StandardCharsets;

/** Converts values that are neither objects nor arrays to strings, as Java does, and as Connect does in headers. */
final class Scalar {
  private Scalar() {}

  /**
   * Returns the text of a value at a path; null for null.
   *
   * @throws Left the value is an object or an array, or it is boxed: see {@link Text}
   */
  static String text(Object content) {
    if (content == null) {
      return null;
    }
    Text text = scalar(content);
    return text(kind(content), text.bytes, 0, text.bytes.length);
  }

  /** Returns the kind of a value at a path. */
  static Kind kind(Object content) {
    byte[] bytes = scalar(content).bytes;
    return Kind.of(bytes, 0, bytes.length);
  }

  private static Text scalar(Object content) {
    if (!(content instanceof Text) || ((Text) content).boxed) {
      throw Left.LEFT;
    }
    return (Text) content;
  }

  /** Returns the text of a value that is not null. */
  static String text(Kind kind, byte[] text, int start, int end) {
    switch (kind) {
      case STRING:
        return Rules.string(text, start, end);
      case BOOLEAN:
        return new String(text, start, end - start, StandardCharsets.ISO_8859_1);
      case INT64:
        return Long.toString(Numbers.toLong(text, start, end));
      case FLOAT64:
        return Numbers.javaText(text, start, end);
      default:
        throw Left.LEFT;
    }
  }
}
