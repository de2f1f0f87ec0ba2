package dagstersmt;

import java.nio.charset.StandardCharsets;

/** The name of a field: as bytes between the quotes of JSON, where it needs no escapes, and as a text. */
final class Name {
  final String text;
  final byte[] bytes;
  final int hash;

  /** Whether the only escapes that the name can be spelled with are those by number. */
  final boolean isPlain;

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
    isPlain = text.chars().allMatch(c -> c > 0x1F && c != '"' && c != '\\' && c != '/');
  }
}
