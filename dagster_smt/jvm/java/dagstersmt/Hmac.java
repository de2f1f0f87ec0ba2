package dagstersmt;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;

/**
 * HMAC-SHA-256 (RFC 2104). The JDK's {@code Mac} processes the padded key again for each message. This class processes
 * the key once, and copies the resulting digests.
 *
 * <p>Not safe for several threads: each thread has its own object.
 */
final class Hmac {
  private static final int BLOCK = 64;

  private final MessageDigest inner;
  private final MessageDigest outer;
  private MessageDigest running;

  Hmac(byte[] key) {
    MessageDigest digest = sha256();
    byte[] block = Arrays.copyOf(key.length > BLOCK ? digest.digest(key) : key, BLOCK);
    inner = padded(block, (byte) 0x36);
    outer = padded(block, (byte) 0x5C);
    running = copy(inner);
  }

  void update(byte[] data, int start, int length) {
    running.update(data, start, length);
  }

  /** Returns the digest of all data since the last digest. */
  byte[] digest() {
    byte[] digest = running.digest();
    MessageDigest last = copy(outer);
    running = copy(inner);
    return last.digest(digest);
  }

  static byte[] digest(byte[] key, byte[]... data) {
    Hmac hmac = new Hmac(key);
    for (byte[] part : data) {
      hmac.update(part, 0, part.length);
    }
    return hmac.digest();
  }

  private static MessageDigest padded(byte[] block, byte pad) {
    MessageDigest digest = sha256();
    for (byte b : block) {
      digest.update((byte) (b ^ pad));
    }
    return digest;
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }

  private static MessageDigest copy(MessageDigest digest) {
    try {
      return (MessageDigest) digest.clone();
    } catch (CloneNotSupportedException e) {
      throw new IllegalStateException(e);
    }
  }
}
