package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;

/**
 * Replaces a string with a keyed digest that has a given alphabet and length, as
 * {@code dagster_smt.values.privacy.pseudonyms} does.
 */
final class Pseudonym extends TextRule {
  private static final int DIGEST_BITS = 256;

  private final JsonNode key;
  private final String domain;
  private final byte[] alphabet;
  private final int length;
  private final byte[] prefix;

  /** The number of bits per character if the size of the alphabet is a power of two; else 0. */
  private final int bits;

  /**
   * The digest with the key. Null until the first string, because a program must be readable even if the key is
   * missing.
   */
  private Hmac hmac;

  Pseudonym(JsonNode rule) {
    key = rule.get("key");
    domain = rule.get("domain").asText();
    alphabet = rule.get("alphabet").asText().getBytes(StandardCharsets.US_ASCII);
    length = rule.get("length").asInt();
    prefix = rule.get("prefix").asText().getBytes(StandardCharsets.US_ASCII);
    bits = Integer.bitCount(alphabet.length) == 1 ? Integer.numberOfTrailingZeros(alphabet.length) : 0;
  }

  @Override
  String of(String text) {
    byte[] data = text.getBytes(StandardCharsets.UTF_8); // half of a surrogate pair becomes a question mark
    hmac().update(data, 0, data.length);
    byte[] out = new byte[prefix.length + length];
    write(out, 0);
    return new String(out, StandardCharsets.US_ASCII);
  }

  @Override
  Text ofJson(byte[] text, int start, int end) {
    for (int i = start + 1; i < end - 1; i++) {
      if (text[i] == '\\') {
        return super.ofJson(text, start, end);
      }
    }
    hmac().update(text, start + 1, end - start - 2);
    byte[] json = new byte[prefix.length + length + 2];
    json[0] = '"';
    json[json.length - 1] = '"';
    write(json, 1);
    return new Text(json, false);
  }

  private Hmac hmac() {
    if (hmac == null) {
      byte[] data = Keys.of(key);
      hmac = new Hmac(domain.isEmpty() ? data : Keys.derived(data, "domain " + domain));
    }
    return hmac;
  }

  private void write(byte[] out, int at) {
    byte[] digest = hmac.digest();
    System.arraycopy(prefix, 0, out, at, prefix.length);
    if (bits > 0) {
      writeBits(digest, out, at + prefix.length);
    } else {
      writeDigits(digest, out, at + prefix.length);
    }
  }

  /** Writes the first bits of the digest as characters, a few bits for each character. */
  private void writeBits(byte[] digest, byte[] out, int at) {
    int held = 0;
    int count = 0;
    int next = 0;
    for (int i = 0; i < length; i++) {
      while (count < bits) {
        held = held << 8 | (next < digest.length ? digest[next] & 0xFF : 0);
        next++;
        count += 8;
      }
      count -= bits;
      out[at + i] = alphabet[held >> count & (1 << bits) - 1];
      held &= (1 << count) - 1;
    }
  }

  private void writeDigits(byte[] digest, byte[] out, int at) {
    BigInteger base = BigInteger.valueOf(alphabet.length);
    // the digest as a fraction of 2^256, multiplied by the number of possible strings
    BigInteger number = new BigInteger(1, digest).multiply(base.pow(length)).shiftRight(DIGEST_BITS);
    for (int i = length - 1; i >= 0; i--) {
      BigInteger[] parts = number.divideAndRemainder(base);
      out[at + i] = alphabet[parts[1].intValue()];
      number = parts[0];
    }
  }
}
