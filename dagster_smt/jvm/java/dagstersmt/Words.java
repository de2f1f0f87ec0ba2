package dagstersmt;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.concurrent.ThreadLocalRandom;

/** Examines eight bytes of a text at a time, as a word. The first byte is the lowest byte of the word. */
public final class Words {
  private static final VarHandle WORD = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long ONES = 0x0101010101010101L;
  private static final long HIGH = 0x80 * ONES;
  // 2^64 divided by the golden ratio: a multiplication by this number spreads similar inputs over all bits.
  private static final long FACTOR = 0x9E3779B97F4A7C15L;

  /** A random seed, so that nobody can choose names that all have the same hash. */
  private static final long SEED = ThreadLocalRandom.current().nextLong();

  private Words() {}

  /** Returns the position of the first byte that equals {@code wanted}; {@code end} if there is none. */
  static int find(byte[] text, byte wanted, int at, int end) {
    while (at + 8 <= end) {
      long other = (long) WORD.get(text, at) ^ wanted * ONES;
      // In `other`, an equal byte is 0. Only a byte 0 gets its high bit from the subtraction without having had it
      // before.
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

  /**
   * Returns the position of the first byte that needs an escape or more than one byte in a JSON string; {@code end} if
   * there is none.
   */
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

  /** Returns the position of the next quote or backslash. There must be one. */
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
   * Returns a word in which the high bits of those bytes are set that are not plain. Only the lowest set bit is
   * certain, because the subtraction from a smaller byte borrows from the next byte.
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

  /** Returns a hash of some bytes. Different names may have the same hash, so callers also compare the bytes. */
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

  /** Returns the last bytes of a text, fewer than eight, as a word. */
  private static long rest(byte[] text, int at, int end) {
    // The mask keeps the lowest bits. Without bits, it would keep all of them, because Java shifts by 64 as by 0.
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
