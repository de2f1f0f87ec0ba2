package dagstersmt;

/** Skips parts of a JSON text that {@link Json} has already checked. */
final class CheckedText {
  private CheckedText() {}

  /** Returns the position after a string. {@code at} is the position of its opening quote. */
  static int afterString(byte[] text, int at) {
    at = Words.quoteOrBackslash(text, at + 1);
    while (text[at] != '"') {
      // after the backslash and the character that it escapes
      at = Words.quoteOrBackslash(text, at + 2);
    }
    return at + 1;
  }

  /** Returns the position after a number or a literal. There may be whitespace at this position. */
  static int afterWord(byte[] text, int at) {
    while (text[at] != ',' && text[at] != '}' && text[at] != ']' && text[at] > ' ') {
      at++;
    }
    return at;
  }

  /** Returns the position after an object or array. */
  static int afterContainer(byte[] text, int at) {
    int depth = 0;
    while (true) {
      switch (text[at]) {
        case '"':
          at = afterString(text, at);
          break;
        case '{':
        case '[':
          depth++;
          at++;
          break;
        case '}':
        case ']':
          at++;
          if (--depth == 0) {
            return at;
          }
          break;
        default:
          at++;
          break;
      }
    }
  }
}
