package dagstersmt;

import java.util.Locale;

/** The kinds of JSON values. They have the names of Connect's types for values without a schema. */
enum Kind {
  NULL,
  STRING,
  BOOLEAN,
  INT64,
  FLOAT64,
  MAP,
  ARRAY;

  /** Returns the kind with the name {@code name} in programs. */
  static Kind called(String name) {
    return valueOf(name.toUpperCase(Locale.ROOT));
  }

  /**
   * Returns the kind of the value between two positions.
   *
   * @throws Left the value is a number that neither 64 bits nor a double can hold
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
