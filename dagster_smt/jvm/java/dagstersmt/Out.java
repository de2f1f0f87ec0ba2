package dagstersmt;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** A buffer to which bytes are appended. All records use the same buffer. */
final class Out {
  /**
   * The largest capacity that is kept between records, so that a single large record does not occupy memory forever.
   */
  private static final int KEPT = 1 << 20;

  private byte[] bytes;
  private int size;

  Out() {
    this(4096);
  }

  /** Creates a buffer with an initial capacity. */
  Out(int room) {
    bytes = new byte[room];
  }

  void clear() {
    size = 0;
    if (bytes.length > KEPT) {
      bytes = new byte[4096];
    }
  }

  int size() {
    return size;
  }

  /** Removes all bytes after the first {@code size} bytes. */
  void cut(int size) {
    this.size = size;
  }

  byte[] toBytes() {
    return Arrays.copyOf(bytes, size);
  }

  void put(byte[] from, int start, int end) {
    room(end - start);
    System.arraycopy(from, start, bytes, size, end - start);
    size += end - start;
  }

  void put(byte[] all) {
    put(all, 0, all.length);
  }

  void put(char c) {
    room(1);
    bytes[size++] = (byte) c;
  }

  /** Writes a string as msgspec does: only quotes, backslashes and control characters are escaped. */
  void string(String text) {
    put('"');
    byte[] all = text.getBytes(StandardCharsets.UTF_8);
    int at = 0;
    while (at < all.length) {
      int next = Words.afterPlain(all, at, all.length);
      put(all, at, next);
      at = next;
      if (at < all.length) {
        odd(all[at++]);
      }
    }
    put('"');
  }

  private void odd(byte c) {
    if (c < 0) {
      put((char) (c & 0xFF)); // a part of a wide character
    } else {
      escaped(c);
    }
  }

  private void escaped(byte c) {
    int known = "\"\\\b\f\n\r\t".indexOf(c);
    put('\\');
    if (known >= 0) {
      put("\"\\bfnrt".charAt(known));
    } else {
      put(String.format("u%04x", (int) c).getBytes(StandardCharsets.US_ASCII));
    }
  }

  private void room(int more) {
    int needed = Math.addExact(size, more);
    if (needed > bytes.length) {
      // twice the capacity, up to the largest possible array
      long larger = Math.min(2L * bytes.length, Integer.MAX_VALUE - 8L);
      bytes = Arrays.copyOf(bytes, (int) Math.max(needed, larger));
    }
  }
}
