package dagstersmt;

import java.security.GeneralSecurityException;
import java.util.Arrays;
import javax.crypto.Cipher;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/** The cipher AES-SIV (RFC 5297) with one associated text. The JDK contains only the building blocks of this cipher. */
final class Siv {
  private static final int BLOCK = 16;
  private static final byte[] ZERO = new byte[BLOCK];

  private final Cipher forMac;
  private final Cipher forText = Cipher.getInstance("AES/CTR/NoPadding");
  private final SecretKeySpec textKey;
  private final byte[] subkey;
  private final byte[] start;

  Siv(byte[] key) throws GeneralSecurityException {
    int half = key.length / 2;
    forMac = Cipher.getInstance("AES/ECB/NoPadding");
    forMac.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, 0, half, "AES"));
    textKey = new SecretKeySpec(key, half, half, "AES");
    subkey = doubled(forMac.doFinal(ZERO));
    start = doubled(mac(ZERO));
  }

  byte[] seal(byte[] plain, byte[] associated) throws GeneralSecurityException {
    byte[] vector = vector(plain, associated);
    byte[] text = counted(vector, plain, 0, plain.length);
    byte[] out = Arrays.copyOf(vector, BLOCK + text.length);
    System.arraycopy(text, 0, out, BLOCK, text.length);
    return out;
  }

  byte[] open(byte[] data, byte[] associated) throws GeneralSecurityException {
    if (data.length < BLOCK) {
      throw Left.LEFT;
    }
    byte[] vector = Arrays.copyOf(data, BLOCK);
    byte[] plain = counted(vector, data, BLOCK, data.length - BLOCK);
    if (!Keys.same(vector, 0, vector(plain, associated))) {
      throw Left.LEFT;
    }
    return plain;
  }

  /** Encrypts with AES in counter mode. Two bits of the vector are cleared (RFC 5297, 2.6). */
  private byte[] counted(byte[] vector, byte[] data, int from, int length) throws GeneralSecurityException {
    if (length == 0) {
      return new byte[0];
    }
    byte[] counter = vector.clone();
    counter[8] &= 0x7F;
    counter[12] &= 0x7F;
    forText.init(Cipher.ENCRYPT_MODE, textKey, new IvParameterSpec(counter));
    return forText.doFinal(data, from, length);
  }

  /** Returns S2V of the associated text and the plain text (RFC 5297, 2.4). */
  private byte[] vector(byte[] plain, byte[] associated) throws GeneralSecurityException {
    byte[] sum = start.clone();
    xor(sum, mac(associated), 0);
    // as RFC 5297 says: a long text is combined at its end, a short text is padded and combined with the doubled sum
    if (plain.length >= BLOCK) {
      byte[] last = plain.clone();
      xor(last, sum, plain.length - BLOCK);
      return mac(last);
    }
    byte[] padded = Arrays.copyOf(plain, BLOCK);
    padded[plain.length] = (byte) 0x80;
    byte[] last = doubled(sum);
    xor(last, padded, 0);
    return mac(last);
  }

  /** Returns the CMAC of some bytes (RFC 4493). */
  private byte[] mac(byte[] data) throws GeneralSecurityException {
    byte[] mask = subkey;
    int last = Math.max(0, (data.length - 1) / BLOCK * BLOCK);
    byte[] block = Arrays.copyOfRange(data, last, last + BLOCK);
    // an incomplete last block is padded, and has the second subkey (K2) as its mask
    if (data.length - last < BLOCK) {
      block[data.length - last] = (byte) 0x80;
      mask = doubled(mask);
    }
    xor(block, mask, 0);
    byte[] state = new byte[BLOCK];
    for (int at = 0; at < last; at += BLOCK) {
      for (int i = 0; i < BLOCK; i++) {
        state[i] ^= data[at + i];
      }
      state = forMac.doFinal(state);
    }
    xor(state, block, 0);
    return forMac.doFinal(state);
  }

  private static void xor(byte[] data, byte[] other, int at) {
    for (int i = 0; i < other.length; i++) {
      data[at + i] ^= other[i];
    }
  }

  private static byte[] doubled(byte[] block) {
    byte[] out = new byte[BLOCK];
    for (int i = 0; i < BLOCK; i++) {
      int next = i + 1 < BLOCK ? (block[i + 1] & 0xFF) >> 7 : 0;
      out[i] = (byte) (block[i] << 1 | next);
    }
    // doubling is a multiplication by x in GF(2^128), and 0x87 is the remainder of x^128
    if ((block[0] & 0x80) != 0) {
      out[BLOCK - 1] ^= (byte) 0x87;
    }
    return out;
  }
}
