package dagstersmt;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** The key or value of a record while a chain processes it. */
final class Side {
  /** The object into which the top level of the key or value is read. All records use the same object. */
  private final Members room = new Members();

  /** The content: {@link Members}, a {@link Text}, or null. */
  private Object content;

  /**
   * True if the key or value has a schema of its own, such as a key of the string converter. No effect of the lane
   * applies to it.
   */
  private boolean typed;

  private boolean changed;

  /** Reads a JSON text. The content becomes null for null and for an empty text. */
  void read(byte[] text) {
    changed = false;
    typed = false;
    content = null;
    if (text == null || text.length == 0) {
      return;
    }
    int start = Json.afterBlanks(text, 0, text.length);
    int end;
    if (start < text.length && (text[start] == '{' || text[start] == '[')) {
      end = room.read(text, start, text.length, 1);
      content = room;
    } else {
      end = Json.afterValue(text, start, text.length, 0);
      if (Kind.of(text, start, end) != Kind.NULL) {
        content = new Text(Arrays.copyOfRange(text, start, end), false);
      }
    }
    if (Json.afterBlanks(text, end, text.length) != text.length) {
      throw Left.LEFT;
    }
  }

  /** Stores a key or value to which no effect applies. If {@code text} is given, it must be UTF-8. */
  void readTyped(byte[] text) {
    changed = false;
    content = null;
    typed = text != null;
    int at = 0;
    while (text != null && at < text.length) {
      at = text[at] >= 0 ? at + 1 : Json.afterWideCharacter(text, at, text.length);
    }
  }

  boolean isNull() {
    return content == null && !typed;
  }

  boolean isChanged() {
    return changed;
  }

  void markChanged() {
    changed = true;
  }

  /**
   * Returns the content as an object. Throws {@code Left} if the content is not an object, because Connect rejects such
   * a record.
   */
  Members object() {
    if (!(content instanceof Members) || !((Members) content).isObject()) {
      throw Left.LEFT;
    }
    return (Members) content;
  }

  /** Returns the content. Throws {@code Left} if the content has a schema. */
  Object content() {
    if (typed) {
      throw Left.LEFT;
    }
    return content;
  }

  void set(Object newContent) {
    content = newContent;
    typed = false;
    changed = true;
  }

  /** Returns the content as JSON; null for null. */
  byte[] write(Out out) {
    if (content == null) {
      return null;
    }
    if (content instanceof Text) {
      return ((Text) content).bytes;
    }
    out.clear();
    ((Members) content).write(out);
    return out.toBytes();
  }

  /** Returns the content as the string converter writes it. Only plain values are supported. */
  byte[] writeAsString() {
    if (content == null) {
      return null;
    }
    if (!(content instanceof Text)) {
      throw Left.LEFT;
    }
    byte[] text = ((Text) content).bytes;
    Kind kind = Kind.of(text, 0, text.length);
    if (((Text) content).boxed || kind == Kind.FLOAT64 || kind == Kind.MAP || kind == Kind.ARRAY) {
      throw Left.LEFT;
    }
    if (kind != Kind.STRING) {
      return text;
    }
    return Rules.string(text, 0, text.length).getBytes(StandardCharsets.UTF_8);
  }
}
