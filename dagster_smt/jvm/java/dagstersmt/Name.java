package dagstersmt;

import java.nio.charset.StandardCharsets;

/** The name of a field: as bytes between the quotes of JSON, where it needs no escapes, and as a text. */
final class Name {
  final String text;
  final byte[] bytes;
  final int hash;

  /** The name in quotes, and a colon. */
  final byte[] label;

  Name(String text) {
    this.text = text;
    bytes = text.getBytes(StandardCharsets.UTF_8);
    hash = hash(bytes, 0, bytes.length);
    Out out = new Out();
    out.string(text);
    out.put(':');
    label = out.toBytes();
  }

  /** A hash of bytes. Names of one object are told apart by their bytes: the hash only finds them. */
  static int hash(byte[] text, int start, int end) {
    int hash = 1;
    for (int i = start; i < end; i++) {
      hash = 31 * hash + text[i];
    }
    return hash;
  }
}
