package dagstersmt;

import java.nio.charset.StandardCharsets;

/** The name of a field, in two forms: as a string, and as the bytes between the quotes of a JSON string. */
final class Name {
  final String text;
  final byte[] bytes;
  final int hash;

  /** True if JSON can escape the characters of the name only by number. */
  final boolean isPlain;

  /** The name in quotes, followed by a colon. */
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
