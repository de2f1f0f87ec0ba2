package dagstersmt;

/** Searches for names in texts that have not been parsed. */
final class Search {
  private Search() {}

  /**
   * Returns true if an object in a text may have a member with a name. If a name is spelled differently, the spelling
   * contains a backslash.
   */
  static boolean mayHave(Name name, byte[] text, int start, int end) {
    byte[] label = name.label;
    int length = label.length - 1; // without the colon, because there may be whitespace before it
    // the first letter of the name, because quotes are far more frequent; an empty name has only its quotes
    byte first = label.length > 3 ? label[1] : label[0];
    int shift = label.length > 3 ? 1 : 0;
    for (int at = start; at < end; at++) {
      byte c = text[at];
      if (c == '\\') {
        return mayBeEscaped(name, text, at, end) || rest(name, text, at, end);
      }
      if (c == first && isAt(label, length, text, at - shift, end)) {
        return true;
      }
    }
    return false;
  }

  private static boolean isAt(byte[] label, int length, byte[] text, int at, int end) {
    if (at < 0 || at + length > end) {
      return false;
    }
    for (int i = 0; i < length; i++) {
      if (text[at + i] != label[i]) {
        return false;
      }
    }
    return true;
  }

  /** Returns true if a text contains an escape that a spelling of the name could contain. */
  static boolean mayBeEscaped(Name name, byte[] text, int start, int end) {
    int at = Words.find(text, (byte) '\\', start, end - 1);
    while (at < end - 1) {
      if (!name.isPlain || text[at + 1] == 'u') {
        return true;
      }
      at = Words.find(text, (byte) '\\', at + 1, end - 1);
    }
    return false;
  }

  private static boolean rest(Name name, byte[] text, int start, int end) {
    for (int at = start; at < end; at++) {
      if (text[at] == '"' && isAt(name.label, name.label.length - 1, text, at, end)) {
        return true;
      }
    }
    return false;
  }
}
