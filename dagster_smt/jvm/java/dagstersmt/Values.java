package dagstersmt;

/** Takes values out of the text that contains them. */
final class Values {
  private Values() {}

  /**
   * Returns the value at a position as a {@link Text} or {@code Members}, with the spelling that it would have after
   * decoding and writing. Returns null for null.
   */
  static Object taken(Members container, int at) {
    Members child = container.child(at);
    if (child != null) {
      return child;
    }
    if (container.isBoxed(at)) {
      return container.value(at);
    }
    return normalized(container.text(at), container.start(at), container.end(at));
  }

  private static Text normalized(byte[] text, int start, int end) {
    switch (Kind.of(text, start, end)) {
      case NULL:
        return null;
      case STRING:
        return Text.string(Rules.string(text, start, end));
      case INT64:
        return Text.of(Long.toString(Numbers.toLong(text, start, end)));
      case FLOAT64:
        return Numbers.json(text, start, end);
      default:
        return text[start] == 't' ? Text.TRUE : Text.FALSE;
    }
  }
}
