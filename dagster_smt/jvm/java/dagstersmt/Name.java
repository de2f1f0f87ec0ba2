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
    hash = Words.hash(bytes, 0, bytes.length);
    Out out = new Out();
    out.string(text);
    out.put(':');
    label = out.toBytes();
  }
}
