package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/** Encrypts strings with FF1 into strings of the same form, as {@code dagster_smt.values.privacy.tokens} does. */
final class Token extends TextRule {
  private static final int COUNTRY = 4;

  private final JsonNode key;
  private final byte[] tweak;
  private final String alphabet;
  private final int[] numerals = new int[0x80];
  private final int least;
  private final int most;
  private final String checksum;
  private final Map<String, Integer> accounts = new HashMap<>();
  private final boolean keepsAll;
  private final PartMask mask;
  private final boolean opens;
  private Ff1 cipher;

  Token(JsonNode rule) {
    key = rule.get("key");
    tweak = rule.get("domain").asText().getBytes(StandardCharsets.UTF_8);
    alphabet = rule.get("alphabet").asText();
    Arrays.fill(numerals, -1);
    for (int i = 0; i < alphabet.length(); i++) {
      numerals[alphabet.charAt(i)] = i;
    }
    least = rule.get("least").asInt();
    most = rule.get("most").asInt();
    checksum = rule.get("checksum").asText();
    rule.get("accounts").properties().forEach(entry -> accounts.put(entry.getKey(), entry.getValue().asInt()));
    keepsAll = rule.get("keeps all").asBoolean();
    mask = rule.get("mask").isNull() ? null : new PartMask(rule.get("mask"));
    opens = rule.get("opens").asBoolean();
  }

  @Override
  String of(String text) {
    char[] characters = text.toCharArray();
    try {
      if (cipher == null) {
        cipher = new Ff1(Keys.of(key), alphabet.length(), tweak);
      }
      if (changes(characters)) {
        return new String(characters);
      }
    } catch (GeneralSecurityException e) {
      throw Left.LEFT;
    }
    if (mask == null) {
      throw Left.LEFT;
    }
    return mask.of(text);
  }

  /** Replaces a string with its token, in place. Returns false if the string cannot have a token. */
  private boolean changes(char[] text) throws GeneralSecurityException {
    if ("iban".equals(checksum)) {
      return changesAccount(text);
    }
    int[] places = places(text, false);
    if (places == null) {
      return false;
    }
    if ("none".equals(checksum)) {
      return encrypts(text, places);
    }
    if (places.length == 0 || Redaction.luhn(at(text, places)) != 0) {
      return false;
    }
    if (!encrypts(text, Arrays.copyOf(places, places.length - 1))) {
      return false;
    }
    int last = places[places.length - 1];
    // the check digit is computed for the new number, with 0 in its place
    text[last] = '0';
    text[last] = (char) ('0' + (10 - Redaction.luhn(at(text, places))) % 10);
    return true;
  }

  private boolean changesAccount(char[] text) throws GeneralSecurityException {
    int[] places = places(text, true);
    if (places == null) {
      return false;
    }
    String account = at(text, places).toString();
    if (account.length() < COUNTRY) {
      return false;
    }
    Integer length = accounts.get(account.substring(0, 2).toUpperCase(Locale.ROOT));
    if (length == null || length != account.length() || !checkDigits(account).equals(account.substring(2, COUNTRY))) {
      return false;
    }
    int[] digits = Arrays.stream(places, COUNTRY, places.length).filter(place -> isDigit(text[place])).toArray();
    if (!encrypts(text, digits)) {
      return false;
    }
    String check = checkDigits(at(text, places).toString());
    text[places[2]] = check.charAt(0);
    text[places[3]] = check.charAt(1);
    return true;
  }

  private boolean encrypts(char[] text, int[] places) throws GeneralSecurityException {
    if (places.length < least || places.length > most) {
      return false;
    }
    int[] changed = Arrays.stream(places).map(place -> numerals[text[place]]).toArray();
    cipher.change(changed, opens);
    for (int i = 0; i < places.length; i++) {
      text[places[i]] = alphabet.charAt(changed[i]);
    }
    return true;
  }

  /**
   * Returns the positions of the characters that are encrypted. Returns null if one of the other characters must not
   * stay visible.
   */
  private int[] places(char[] text, boolean ofAccount) {
    int[] places = new int[text.length];
    int count = 0;
    for (int i = 0; i < text.length; i++) {
      char c = text[i];
      boolean changes = ofAccount ? isDigit(c) || isLetter(c) : c < 0x80 && numerals[c] >= 0;
      if (changes) {
        places[count++] = i;
      } else if (!keepsAll && !isPunctuation(c)) {
        return null;
      }
    }
    return Arrays.copyOf(places, count);
  }

  private static boolean isPunctuation(char c) {
    return c >= ' ' && c < 0x7F && !isDigit(c) && !isLetter(c);
  }

  private static boolean isDigit(char c) {
    return c >= '0' && c <= '9';
  }

  private static boolean isLetter(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  }

  private static StringBuilder at(char[] text, int[] places) {
    StringBuilder out = new StringBuilder(places.length);
    for (int place : places) {
      out.append(text[place]);
    }
    return out;
  }

  private static String checkDigits(String account) {
    // ISO 7064: with 00 in place of the check digits, the digits are 98 minus the remainder
    StringBuilder zero = new StringBuilder(account.substring(0, 2)).append("00").append(account.substring(COUNTRY));
    return String.format(Locale.ROOT, "%02d", 98 - Redaction.remainder(zero));
  }
}
