package dagstersmt;

import java.nio.charset.StandardCharsets;

/** Texts of values that are neither an object nor an array: as Java, and Connect in headers, has them. */
final class Scalar {
  private Scalar() {}

  /**
   * The text of a value that a path leads to; null for null.
   *
   * @throws Left it is an object or an array, or Connect knows more of it than its JSON text shows
   */
  static String text(Object content) {
    if (content == null) {
      return null;
    }
    Text text = scalar(content);
    return text(kind(content), text.bytes, 0, text.bytes.length);
  }

  /** The kind of a value that a path leads to. */
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

  /** The text of a value that is not null. */
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
