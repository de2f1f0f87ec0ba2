package dagstersmt;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import javax.crypto.Cipher;
import javax.crypto.spec.SecretKeySpec;

/**
 * The cipher FF1 of NIST SP 800-38G over AES, as in {@code dagster_smt.values.privacy.ff1}. The variables have the
 * names of the standard.
 *
 * <p>Not safe for several threads: each thread has its own object.
 */
final class Ff1 {
  private static final int ROUNDS = 10;
  private static final int BLOCK = 16;

  private final int radix;
  private final byte[] tweak;
  private final Cipher aes;

  Ff1(byte[] key, int radix, byte[] tweak) throws GeneralSecurityException {
    this.radix = radix;
    this.tweak = tweak;
    aes = Cipher.getInstance("AES/ECB/NoPadding");
    aes.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, "AES"));
  }

  /** Encrypts the numerals in place, or decrypts them if {@code opens}. */
  void change(int[] numerals, boolean opens) throws GeneralSecurityException {
    int n = numerals.length;
    int u = n / 2;
    int v = n - u;
    BigInteger[] moduli = {BigInteger.valueOf(radix).pow(u), BigInteger.valueOf(radix).pow(v)};
    BigInteger a = number(numerals, 0, u);
    BigInteger b = number(numerals, u, n);
    Rounds rounds = new Rounds(n, u, moduli[1]);
    for (int step = 0; step < ROUNDS; step++) {
      int i = opens ? ROUNDS - 1 - step : step;
      if (opens) {
        BigInteger before = b.subtract(rounds.y(i, a)).mod(moduli[i % 2]);
        b = a;
        a = before;
      } else {
        BigInteger after = a.add(rounds.y(i, b)).mod(moduli[i % 2]);
        a = b;
        b = after;
      }
    }
    write(a, numerals, 0, u);
    write(b, numerals, u, n);
  }

  /** The round function for strings of one length. */
  private final class Rounds {
    private final int width;
    private final int d;
    private final byte[] start = new byte[BLOCK];
    private final byte[] rest;

    Rounds(int n, int u, BigInteger most) throws GeneralSecurityException {
      width = (most.subtract(BigInteger.ONE).bitLength() + 7) / 8;
      d = 4 * ((width + 3) / 4) + 4;
      ByteBuffer head = ByteBuffer.allocate(BLOCK);
      // P of the standard: version 1, method 2, addition 1, the radix in three bytes, the number of rounds, and u
      head.put(new byte[] {1, 2, 1, (byte) (radix >> 16), (byte) (radix >> 8), (byte) radix, ROUNDS, (byte) u});
      head.putInt(n).putInt(tweak.length);
      int padding = Math.floorMod(-tweak.length - width - 1, BLOCK);
      byte[] q = Arrays.copyOf(tweak, tweak.length + padding + 1 + width);
      // Only the last bytes of Q differ between rounds. The MAC of all blocks before them is computed once.
      int same = (tweak.length + padding) / BLOCK * BLOCK;
      mac(start, head.array(), BLOCK);
      mac(start, q, same);
      rest = Arrays.copyOfRange(q, same, q.length);
    }

    BigInteger y(int i, BigInteger half) throws GeneralSecurityException {
      byte[] number = half.toByteArray();
      // BigInteger writes a byte 0 for the sign if the highest bit is set; this byte is cut off here
      int most = Math.min(number.length, width);
      Arrays.fill(rest, rest.length - width, rest.length, (byte) 0);
      System.arraycopy(number, number.length - most, rest, rest.length - most, most);
      rest[rest.length - width - 1] = (byte) i;
      byte[] r = start.clone();
      mac(r, rest, rest.length);
      byte[] s = Arrays.copyOf(r, (d + BLOCK - 1) / BLOCK * BLOCK);
      for (int j = 1; j * BLOCK < s.length; j++) {
        byte[] block = r.clone();
        for (int k = 0; k < 4; k++) {
          // S continues R with the encrypted blocks R xor 1, R xor 2 and so on
          block[BLOCK - 1 - k] ^= (byte) (j >> 8 * k);
        }
        aes.update(block, 0, BLOCK, s, j * BLOCK);
      }
      return new BigInteger(1, Arrays.copyOf(s, d));
    }

    private void mac(byte[] state, byte[] data, int length) throws GeneralSecurityException {
      for (int at = 0; at < length; at += BLOCK) {
        for (int k = 0; k < BLOCK; k++) {
          state[k] ^= data[at + k];
        }
        aes.update(state, 0, BLOCK, state, 0);
      }
    }
  }

  private BigInteger number(int[] numerals, int from, int to) {
    // a long is faster than a BigInteger, and most halves of a string fit into it
    long small = 0;
    int at = from;
    for (; at < to && small < Long.MAX_VALUE / radix - 1; at++) {
      small = small * radix + numerals[at];
    }
    BigInteger number = BigInteger.valueOf(small);
    for (; at < to; at++) {
      number = number.multiply(BigInteger.valueOf(radix)).add(BigInteger.valueOf(numerals[at]));
    }
    return number;
  }

  private void write(BigInteger number, int[] numerals, int from, int to) {
    BigInteger left = number;
    int at = to - 1;
    for (; at >= from && left.bitLength() > 62; at--) {
      BigInteger[] parts = left.divideAndRemainder(BigInteger.valueOf(radix));
      numerals[at] = parts[1].intValue();
      left = parts[0];
    }
    long small = left.longValue();
    for (; at >= from; at--) {
      numerals[at] = (int) (small % radix);
      small /= radix;
    }
  }
}
