package dagstersmt;

import java.nio.charset.StandardCharsets;

/**
 * A JSON text that a chain has produced.
 *
 * <p>{@code boxed} is true if the value has a property in Connect that its JSON text does not show, for example if it
 * is an int8, or if it is not a number (NaN).
 */
final class Text {
  static final Text NULL = of("null");
  static final Text TRUE = of("true");
  static final Text FALSE = of("false");

  final byte[] bytes;
  final boolean boxed;

  Text(byte[] bytes, boolean boxed) {
    this.bytes = bytes;
    this.boxed = boxed;
  }

  static Text of(String json) {
    return new Text(json.getBytes(StandardCharsets.UTF_8), false);
  }

  static Text boxed(String json) {
    return new Text(json.getBytes(StandardCharsets.UTF_8), true);
  }

  /** Returns a string as JSON text. */
  static Text string(String text) {
    Out out = new Out(text.length() + 16);
    out.string(text);
    return new Text(out.toBytes(), false);
  }
}
