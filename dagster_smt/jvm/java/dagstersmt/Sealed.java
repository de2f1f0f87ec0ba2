package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/** Encrypts and decrypts strings, as {@code dagster_smt.values.privacy.sealed} does. */
final class Sealed {
  private static final Pattern FORM = Pattern.compile("smt1:(gcm|siv):([A-Za-z0-9_-]{1,32}):([A-Za-z0-9_-]*)");
  private static final int NONCE = 12;
  private static final int TAG_BITS = 128;
  private static final int NONCES = 64;

  private Sealed() {}

  /** Encrypts a string. */
  static final class Sealing extends TextRule {
    private final JsonNode key;
    private final String mode;
    private final String head;
    private final byte[] associated;
    private Gcm gcm;
    private Siv siv;

    Sealing(JsonNode rule) {
      key = rule.get("key");
      mode = rule.get("mode").asText();
      head = "smt1:" + mode + ":" + key.get("id").asText() + ":";
      associated = (head + rule.get("context").asText()).getBytes(StandardCharsets.UTF_8);
    }

    @Override
    String of(String text) {
      byte[] plain = text.getBytes(StandardCharsets.UTF_8);
      try {
        if (gcm == null && siv == null) {
          read(Keys.of(key));
        }
        byte[] sealed = siv != null ? siv.seal(plain, associated) : gcm.seal(plain, associated);
        return head + Base64.getUrlEncoder().withoutPadding().encodeToString(sealed);
      } catch (GeneralSecurityException e) {
        throw Left.LEFT;
      }
    }

    private void read(byte[] data) throws GeneralSecurityException {
      if ("siv".equals(mode)) {
        siv = new Siv(data);
      } else {
        gcm = new Gcm(data);
      }
    }
  }

  /** Decrypts a string. The lane leaves every string that it cannot decrypt to Python. */
  static final class Opening extends TextRule {
    private final Map<String, JsonNode> keys = new HashMap<>();
    private final Map<String, byte[]> known = new HashMap<>();
    private final String context;
    private final boolean passesOthers;

    Opening(JsonNode rule) {
      rule.get("keys").forEach(key -> keys.put(key.get("id").asText(), key));
      context = rule.get("context").asText();
      passesOthers = rule.get("passes").asBoolean();
    }

    @Override
    String of(String text) {
      Matcher form = FORM.matcher(text);
      if (!form.matches()) {
        if (passesOthers) {
          return text;
        }
        throw Left.LEFT;
      }
      byte[] key = known.computeIfAbsent(form.group(2), this::key);
      byte[] associated = (text.substring(0, form.start(3)) + context).getBytes(StandardCharsets.UTF_8);
      try {
        byte[] data = Base64.getUrlDecoder().decode(form.group(3));
        boolean isSiv = "siv".equals(form.group(1));
        byte[] plain = isSiv ? new Siv(key).open(data, associated) : new Gcm(key).open(data, associated);
        return utf8(plain);
      } catch (GeneralSecurityException | CharacterCodingException | IllegalArgumentException e) {
        throw Left.LEFT;
      }
    }

    private byte[] key(String id) {
      JsonNode key = keys.get(id);
      if (key == null) {
        throw Left.LEFT;
      }
      return Keys.of(key);
    }
  }

  private static String utf8(byte[] data) throws CharacterCodingException {
    return StandardCharsets.UTF_8
        .newDecoder()
        .onMalformedInput(CodingErrorAction.REPORT)
        .decode(ByteBuffer.wrap(data))
        .toString();
  }

  /** The cipher AES-GCM. Nonces are drawn in advance, many at a time. */
  private static final class Gcm {
    private final SecretKeySpec key;
    private final Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
    private final SecureRandom random = new SecureRandom();
    private final byte[] nonces = new byte[NONCE * NONCES];
    private int next = nonces.length;

    Gcm(byte[] data) throws GeneralSecurityException {
      key = new SecretKeySpec(data, "AES");
    }

    byte[] seal(byte[] plain, byte[] associated) throws GeneralSecurityException {
      if (next == nonces.length) {
        random.nextBytes(nonces);
        next = 0;
      }
      byte[] nonce = Arrays.copyOfRange(nonces, next, next + NONCE);
      next += NONCE;
      cipher.init(Cipher.ENCRYPT_MODE, key, new GCMParameterSpec(TAG_BITS, nonce));
      cipher.updateAAD(associated);
      byte[] out = Arrays.copyOf(nonce, NONCE + cipher.getOutputSize(plain.length));
      cipher.doFinal(plain, 0, plain.length, out, NONCE);
      return out;
    }

    byte[] open(byte[] data, byte[] associated) throws GeneralSecurityException {
      if (data.length < NONCE + TAG_BITS / 8) {
        throw Left.LEFT;
      }
      cipher.init(Cipher.DECRYPT_MODE, key, new GCMParameterSpec(TAG_BITS, data, 0, NONCE));
      cipher.updateAAD(associated);
      return cipher.doFinal(data, NONCE, data.length - NONCE);
    }
  }
}
