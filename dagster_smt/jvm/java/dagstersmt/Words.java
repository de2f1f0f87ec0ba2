package dagstersmt;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.concurrent.ThreadLocalRandom;

/** Looks at eight bytes of a text at once, the first of them lowest in a word. */
public final class Words {
  private static final VarHandle WORD = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long ONES = 0x0101010101010101L;
  private static final long HIGH = 0x80 * ONES;
  private static final long FACTOR = 0x9E3779B97F4A7C15L;

  /** Nobody can make names that all have one hash. */
  private static final long SEED = ThreadLocalRandom.current().nextLong();

  private Words() {}

  /** The position of the first byte that is {@code wanted}, or {@code end}. */
  static int find(byte[] text, byte wanted, int at, int end) {
    while (at + 8 <= end) {
      long other = (long) WORD.get(text, at) ^ wanted * ONES;
      long same = other - ONES & ~other & HIGH;
      if (same != 0) {
        return at + (Long.numberOfTrailingZeros(same) >>> 3);
      }
      at += 8;
    }
    while (at < end && text[at] != wanted) {
      at++;
    }
    return at;
  }

  /** The position of the first byte that does not stand for itself in a string of JSON, or {@code end}. */
  public static int afterPlain(byte[] text, int at, int end) {
    while (at + 8 <= end) {
      long word = (long) WORD.get(text, at);
      long odd = odd(word);
      if (odd != 0) {
        return at + (Long.numberOfTrailingZeros(odd) >>> 3);
      }
      at += 8;
    }
    while (at < end && isPlain(text[at])) {
      at++;
    }
    return at;
  }

  /** The position of the next quote or backslash; there must be one. */
  static int quoteOrBackslash(byte[] text, int at) {
    while (at + 8 <= text.length) {
      long word = (long) WORD.get(text, at);
      long quote = word ^ '"' * ONES;
      long backslash = word ^ '\\' * ONES;
      long same = (quote - ONES & ~quote | backslash - ONES & ~backslash) & HIGH;
      if (same != 0) {
        return at + (Long.numberOfTrailingZeros(same) >>> 3);
      }
      at += 8;
    }
    while (text[at] != '"' && text[at] != '\\') {
      at++;
    }
    return at;
  }

  /**
   * The high bits of bytes that are not plain. A byte that is below another's lowest value borrows from its neighbour
   * when that is taken off, so only the lowest bit that is set is sure.
   */
  private static long odd(long word) {
    long control = word - 0x20 * ONES;
    long quote = (word ^ '"' * ONES) - ONES;
    long backslash = (word ^ '\\' * ONES) - ONES;
    return (word | control | quote | backslash) & HIGH;
  }

  private static boolean isPlain(byte c) {
    return c >= 0x20 && c != '"' && c != '\\';
  }

  /** A hash of bytes. Names of one object are told apart by their bytes: the hash only finds them. */
  public static int hash(byte[] text, int start, int end) {
    long hash = SEED + end - start;
    int at = start;
    while (at + 8 <= end) {
      hash = mixed(hash ^ (long) WORD.get(text, at));
      at += 8;
    }
    hash = mixed(hash ^ rest(text, at, end));
    return (int) (hash * FACTOR >>> 32);
  }

  /** Fewer than eight bytes as a word. */
  private static long rest(byte[] text, int at, int end) {
    int bits = 8 * (end - at);
    if (bits > 0 && at + 8 <= text.length) {
      return (long) WORD.get(text, at) & -1L >>> 64 - bits;
    }
    long word = 0;
    for (int i = end - 1; i >= at; i--) {
      word = word << 8 | text[i] & 0xFF;
    }
    return word;
  }

  private static long mixed(long hash) {
    long product = hash * FACTOR;
    return product ^ product >>> 32;
  }
}
