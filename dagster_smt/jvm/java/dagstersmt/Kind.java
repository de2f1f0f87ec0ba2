package dagstersmt;

import java.util.Locale;

/** What a JSON value is, in the words of Connect's types; without a schema there are no others. */
enum Kind {
  NULL,
  STRING,
  BOOLEAN,
  INT64,
  FLOAT64,
  MAP,
  ARRAY;

  /** The kind that programs call so. */
  static Kind called(String name) {
    return valueOf(name.toUpperCase(Locale.ROOT));
  }

  /**
   * The kind of the value at a position.
   *
   * @throws Left it is a number that neither 64 bits nor a double can hold
   */
  static Kind of(byte[] text, int start, int end) {
    switch (text[start]) {
      case '"':
        return STRING;
      case '{':
        return MAP;
      case '[':
        return ARRAY;
      case 't':
      case 'f':
        return BOOLEAN;
      case 'n':
        return NULL;
      default:
        return Numbers.kind(text, start, end);
    }
  }
}
