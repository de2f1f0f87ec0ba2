package dagstersmt;

/**
 * Reads JSON texts byte by byte (RFC 8259, in UTF-8), without decoding them.
 *
 * <p>Each method takes a position, and returns the position after the part that the method has read. A method throws
 * {@link Left} if the bytes do not have the expected form, or are nested more deeply than Connect permits.
 */
final class Json {
  /** The maximum nesting depth of JSON, which is Jackson's limit in Connect. */
  static final int MAX_DEPTH = 1000;

  private Json() {}

  static int afterBlanks(byte[] text, int at, int end) {
    while (at < end && isBlank(text[at])) {
      at++;
    }
    return at;
  }

  static boolean isBlank(byte c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
  }

  /** Returns the position after a string. {@code at} is the position after its opening quote. */
  static int afterString(byte[] text, int at, int end) {
    at = Words.afterPlain(text, at, end);
    while (at < end && text[at] != '"') {
      int next = text[at] == '\\' ? afterEscape(text, at + 1, end) : afterWideCharacter(text, at, end);
      at = Words.afterPlain(text, next, end);
    }
    return afterQuote(at, end);
  }

  /** Returns the position after a string without escapes, as {@link #afterString} does. */
  static int afterPlainString(byte[] text, int at, int end) {
    at = Words.afterPlain(text, at, end);
    while (at < end && text[at] != '"') {
      // a backslash is not a plain character either
      at = Words.afterPlain(text, afterWideCharacter(text, at, end), end);
    }
    return afterQuote(at, end);
  }

  private static int afterQuote(int at, int end) {
    if (at >= end) {
      throw Left.LEFT;
    }
    return at + 1;
  }

  private static int afterEscape(byte[] text, int at, int end) {
    if (at >= end) {
      throw Left.LEFT;
    }
    switch (text[at]) {
      case '"':
      case '\\':
      case '/':
      case 'b':
      case 'f':
      case 'n':
      case 'r':
      case 't':
        return at + 1;
      case 'u':
        return afterUnicodeEscape(text, at + 1, end);
      default:
        throw Left.LEFT;
    }
  }

  /**
   * Returns the position after an escape by number. A surrogate must be followed by its partner, because a single
   * surrogate is not a character.
   */
  private static int afterUnicodeEscape(byte[] text, int at, int end) {
    int unit = hexadecimal(text, at, end);
    if (unit < Character.MIN_SURROGATE || unit > Character.MAX_SURROGATE) {
      return at + 4;
    }
    if (unit > Character.MAX_HIGH_SURROGATE || at + 6 > end || text[at + 4] != '\\' || text[at + 5] != 'u') {
      throw Left.LEFT;
    }
    int second = hexadecimal(text, at + 6, end);
    if (second < Character.MIN_LOW_SURROGATE || second > Character.MAX_LOW_SURROGATE) {
      throw Left.LEFT;
    }
    return at + 10;
  }

  /** Returns the number that four hexadecimal digits represent. */
  static int hexadecimal(byte[] text, int at, int end) {
    if (at + 4 > end) {
      throw Left.LEFT;
    }
    int number = 0;
    for (int i = at; i < at + 4; i++) {
      int digit = text[i] < 0 ? -1 : Character.digit(text[i], 16);
      if (digit < 0) {
        throw Left.LEFT;
      }
      number = number * 16 + digit;
    }
    return number;
  }

  /**
   * Returns the position after a character of two to four bytes. The character must not be overlong, a surrogate, or
   * beyond U+10FFFF.
   */
  static int afterWideCharacter(byte[] text, int at, int end) {
    int first = text[at] & 0xFF;
    int length = widthOf(first);
    if (at + length > end) {
      throw Left.LEFT;
    }
    int second = text[at + 1] & 0xFF;
    // E0 80 to E0 9F, and F0 80 to F0 8F, would spell characters that need fewer bytes. ED A0 and above are surrogates,
    // F4 90 and above are beyond U+10FFFF.
    boolean overlong = first == 0xE0 && second < 0xA0 || first == 0xF0 && second < 0x90;
    boolean surrogate = first == 0xED && second > 0x9F;
    boolean beyond = first == 0xF4 && second > 0x8F;
    if (overlong || surrogate || beyond) {
      throw Left.LEFT;
    }
    for (int i = at + 1; i < at + length; i++) {
      if ((text[i] & 0xC0) != 0x80) {
        throw Left.LEFT;
      }
    }
    return at + length;
  }

  /** Returns the number of bytes of a character, given its first byte. */
  private static int widthOf(int first) {
    // 80 to BF only continue a character, and C0 and C1 would spell ASCII in two bytes
    if (first < 0xC2 || first > 0xF4) {
      throw Left.LEFT;
    }
    if (first < 0xE0) {
      return 2;
    }
    return first < 0xF0 ? 3 : 4;
  }

  static int afterNumber(byte[] text, int at, int end) {
    if (at < end && text[at] == '-') {
      at++;
    }
    if (at < end && text[at] == '0') {
      at++;
    } else {
      at = afterDigits(text, at, end);
    }
    if (at < end && text[at] == '.') {
      at = afterDigits(text, at + 1, end);
    }
    if (at < end && (text[at] == 'e' || text[at] == 'E')) {
      at++;
      if (at < end && (text[at] == '+' || text[at] == '-')) {
        at++;
      }
      at = afterDigits(text, at, end);
    }
    return at;
  }

  /** Returns the position after one or more digits. */
  private static int afterDigits(byte[] text, int at, int end) {
    int start = at;
    while (at < end && isDigit(text[at])) {
      at++;
    }
    if (at == start) {
      throw Left.LEFT;
    }
    return at;
  }

  static boolean isDigit(byte c) {
    return c >= '0' && c <= '9';
  }

  /** Returns the position after any value. {@code depth} is the number of objects and arrays around the value. */
  static int afterValue(byte[] text, int at, int end, int depth) {
    if (at >= end) {
      throw Left.LEFT;
    }
    switch (text[at]) {
      case '"':
        return afterString(text, at + 1, end);
      case '{':
        return afterContainer(text, at, end, depth + 1, '}');
      case '[':
        return afterContainer(text, at, end, depth + 1, ']');
      case 't':
        return afterLiteral(text, at, end, "true");
      case 'f':
        return afterLiteral(text, at, end, "false");
      case 'n':
        return afterLiteral(text, at, end, "null");
      default:
        return afterNumber(text, at, end);
    }
  }

  private static int afterLiteral(byte[] text, int at, int end, String literal) {
    if (at + literal.length() > end) {
      throw Left.LEFT;
    }
    for (int i = 0; i < literal.length(); i++) {
      if (text[at + i] != literal.charAt(i)) {
        throw Left.LEFT;
      }
    }
    return at + literal.length();
  }

  /** Returns the position after an object or array that ends with {@code close}. */
  private static int afterContainer(byte[] text, int at, int end, int depth, char close) {
    if (depth > MAX_DEPTH) {
      throw Left.LEFT;
    }
    at = afterBlanks(text, at + 1, end);
    if (at < end && text[at] == close) {
      return at + 1;
    }
    while (true) {
      int value = close == '}' ? afterName(text, at, end) : at;
      at = afterBlanks(text, afterValue(text, value, end, depth), end);
      if (at < end && text[at] == close) {
        return at + 1;
      }
      at = afterComma(text, at, end);
    }
  }

  /** Returns the position of a member's value, which follows its name and the colon. */
  private static int afterName(byte[] text, int at, int end) {
    if (at >= end || text[at] != '"') {
      throw Left.LEFT;
    }
    return afterColon(text, afterString(text, at + 1, end), end);
  }

  /** Returns the position after a colon. Whitespace may surround the colon. */
  static int afterColon(byte[] text, int at, int end) {
    at = afterBlanks(text, at, end);
    if (at >= end || text[at] != ':') {
      throw Left.LEFT;
    }
    return afterBlanks(text, at + 1, end);
  }

  /** Returns the position after a comma. Whitespace may surround the comma. */
  static int afterComma(byte[] text, int at, int end) {
    if (at >= end || text[at] != ',') {
      throw Left.LEFT;
    }
    return afterBlanks(text, at + 1, end);
  }
}
