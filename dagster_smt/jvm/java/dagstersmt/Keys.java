package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.StringReader;
import java.nio.ByteBuffer;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Base64;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The secret keys of this process ({@code dagster_smt.model.key_references}). A program contains a reference to each
 * key, and a check value that the run has computed from the key.
 *
 * <p>If a key is missing or different, the lane leaves all records to Python, which reports the problem.
 */
final class Keys {
  private static final Pattern REFERENCE =
      Pattern.compile("\\$\\{(?:env:([A-Za-z_][A-Za-z0-9_]*)|(file|dir):([^:{}]+):([^:{}]+))\\}");
  private static final byte[] CHECKED = "\0dagster_smt key check\0".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] DERIVED = "\0dagster_smt\0".getBytes(StandardCharsets.US_ASCII);
  private static final long MOST_BYTES = 1 << 20;
  private static final Map<String, byte[]> KNOWN = new ConcurrentHashMap<>();

  private Keys() {}

  /**
   * Returns the bytes of the key to which a program refers.
   *
   * @throws Left this process has no such key, or a different key
   */
  static byte[] of(JsonNode key) {
    String reference = key.get("reference").asText();
    String encoding = key.get("encoding").asText();
    String check = key.get("check").asText();
    return KNOWN.computeIfAbsent(encoding + ":" + check + ":" + reference, name -> {
      byte[] data = decoded(lookUp(reference), encoding);
      if (!check.equals(checkValue(data))) {
        throw Left.LEFT;
      }
      return data;
    });
  }

  /** Derives a key for one purpose. */
  static byte[] derived(byte[] key, String purpose) {
    return Hmac.digest(key, DERIVED, purpose.getBytes(StandardCharsets.UTF_8));
  }

  private static String checkValue(byte[] key) {
    byte[] digest = Hmac.digest(key, CHECKED);
    StringBuilder hex = new StringBuilder();
    for (int i = 0; i < 8; i++) {
      hex.append(String.format("%02x", digest[i]));
    }
    return hex.toString();
  }

  private static String lookUp(String reference) {
    Matcher match = REFERENCE.matcher(reference);
    if (!match.matches()) {
      throw Left.LEFT;
    }
    String text;
    if (match.group(1) != null) {
      text = System.getenv(match.group(1));
    } else if ("file".equals(match.group(2))) {
      text = ofProperties(read(Paths.get(match.group(3))), match.group(4));
    } else {
      text = ofFolder(match.group(3), match.group(4));
    }
    if (text == null) {
      throw Left.LEFT;
    }
    return text;
  }

  private static String ofProperties(String text, String key) {
    Properties properties = new Properties();
    try {
      properties.load(new StringReader(text));
    } catch (IOException | IllegalArgumentException e) {
      throw Left.LEFT;
    }
    return properties.getProperty(key);
  }

  private static String ofFolder(String folder, String name) {
    if (name.contains("/") || ".".equals(name) || "..".equals(name)) {
      throw Left.LEFT;
    }
    return read(Paths.get(folder, name));
  }

  /** Reads a file. Its folder must be one of those to which references may refer. */
  private static String read(Path path) {
    try {
      // links are resolved first, so that no link leads out of a permitted folder
      Path real = path.toRealPath();
      if (!isAllowed(real) || !Files.isRegularFile(real) || Files.size(real) > MOST_BYTES) {
        throw Left.LEFT;
      }
      return StandardCharsets.UTF_8
          .newDecoder()
          .onMalformedInput(CodingErrorAction.REPORT)
          .decode(ByteBuffer.wrap(Files.readAllBytes(real)))
          .toString();
    } catch (IOException e) {
      throw Left.LEFT;
    }
  }

  private static boolean isAllowed(Path real) throws IOException {
    String allowed = System.getenv("DAGSTER_SMT_SECRET_PATHS");
    // without the variable, references may name any file
    boolean any = true;
    for (String folder : allowed == null ? new String[0] : allowed.split(",")) {
      if (folder.trim().isEmpty()) {
        continue;
      }
      any = false;
      if (Files.exists(Paths.get(folder.trim())) && real.startsWith(Paths.get(folder.trim()).toRealPath())) {
        return true;
      }
    }
    return any;
  }

  private static byte[] decoded(String text, String encoding) {
    switch (encoding) {
      case "base64":
        return base64(text);
      case "hex":
        return hex(text.replaceAll("\\s", ""));
      default:
        // the newline at the end of a file is no part of a key
        return text.replaceAll("[\r\n]+$", "").getBytes(StandardCharsets.UTF_8);
    }
  }

  private static byte[] base64(String text) {
    // standard or URL-safe, with or without padding and line breaks
    String compact = text.replaceAll("\\s", "").replaceAll("=+$", "").replace('-', '+').replace('_', '/');
    try {
      return Base64.getDecoder().decode(compact);
    } catch (IllegalArgumentException e) {
      throw Left.LEFT;
    }
  }

  private static byte[] hex(String digits) {
    if (digits.length() % 2 == 1 || !digits.chars().allMatch(c -> c < 0x80 && Character.digit(c, 16) >= 0)) {
      throw Left.LEFT;
    }
    byte[] data = new byte[digits.length() / 2];
    for (int i = 0; i < data.length; i++) {
      data[i] = (byte) Integer.parseInt(digits.substring(2 * i, 2 * i + 2), 16);
    }
    return data;
  }

  /**
   * Returns true if two digests are equal. The duration of the comparison does not depend on the position of a
   * difference.
   */
  static boolean same(byte[] a, int from, byte[] b) {
    return MessageDigest.isEqual(Arrays.copyOfRange(a, from, from + b.length), b);
  }
}
