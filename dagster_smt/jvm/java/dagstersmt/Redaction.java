package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Replaces personal values inside a string. The patterns are those of
 * {@code dagster_smt.values.privacy.personal_values}.
 */
final class Redaction extends TextRule {
  private static final Pattern DIGITS = Pattern.compile("[0-9]+(?:[ -][0-9]+)*");
  private static final Pattern GROUP = Pattern.compile("[0-9]+");
  private static final Pattern ACCOUNT = Pattern.compile("[A-Za-z]{2}[0-9]{2}");
  private static final int LEAST_DIGITS = 12;
  private static final int MOST_DIGITS = 19;

  private static final class Search {
    final String kind;
    final String replacement;

    /** The smallest number of digits that a string with such a value can have. */
    final int digits;

    final List<Pattern> patterns = new ArrayList<>();

    Search(JsonNode search) {
      kind = search.get("kind").asText();
      replacement = search.get("text").asText();
      digits = search.get("digits").asInt();
      search.get("patterns").forEach(pattern -> patterns.add(Pattern.compile(pattern.asText())));
    }
  }

  private final List<Search> searches = new ArrayList<>();
  private final Map<String, Integer> accountLengths = new HashMap<>();
  private final String cardStarts;

  Redaction(JsonNode rule) {
    rule.get("kinds").forEach(search -> searches.add(new Search(search)));
    rule.get("accounts").properties().forEach(each -> accountLengths.put(each.getKey(), each.getValue().asInt()));
    cardStarts = rule.get("starts").asText();
  }

  @Override
  String of(String text) {
    int digits = 0;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      digits += c >= '0' && c <= '9' ? 1 : 0;
    }
    String result = text;
    for (Search search : searches) {
      if (digits >= search.digits) {
        result = without(search, result);
      }
    }
    return result;
  }

  private String without(Search search, String text) {
    switch (search.kind) {
      case "card":
        return replaced(text, cardsIn(text), search.replacement);
      case "iban":
        return replaced(text, accountsIn(text), search.replacement);
      case "email":
        if (text.indexOf('@') < 0) {
          return text;
        }
        break;
      default:
    }
    String result = text;
    for (Pattern pattern : search.patterns) {
      result = pattern.matcher(new Bounded(result)).replaceAll(Matcher.quoteReplacement(search.replacement));
    }
    return result;
  }

  private static String replaced(String text, List<int[]> spans, String replacement) {
    if (spans.isEmpty()) {
      return text;
    }
    StringBuilder out = new StringBuilder();
    int at = 0;
    for (int[] span : spans) {
      out.append(text, at, span[0]).append(replacement);
      at = span[1];
    }
    return out.append(text, at, text.length()).toString();
  }

  private List<int[]> cardsIn(String text) {
    List<int[]> spans = new ArrayList<>();
    Matcher digits = DIGITS.matcher(text);
    while (digits.find()) {
      if (digits.end() - digits.start() < LEAST_DIGITS) {
        continue;
      }
      List<int[]> groups = new ArrayList<>();
      Matcher group = GROUP.matcher(text).region(digits.start(), digits.end());
      while (group.find()) {
        groups.add(new int[] {group.start(), group.end()});
      }
      int first = 0;
      while (first < groups.size()) {
        int last = lastGroup(text, groups, first);
        if (last >= 0) {
          spans.add(new int[] {groups.get(first)[0], groups.get(last)[1]});
        }
        first = Math.max(first, last) + 1;
      }
    }
    return spans;
  }

  private int lastGroup(String text, List<int[]> groups, int first) {
    StringBuilder digits = new StringBuilder();
    int best = -1;
    for (int number = first; number < groups.size(); number++) {
      digits.append(text, groups.get(number)[0], groups.get(number)[1]);
      if (digits.length() > MOST_DIGITS) {
        break;
      }
      if (digits.length() >= LEAST_DIGITS && cardStarts.indexOf(digits.charAt(0)) >= 0 && luhn(digits) == 0) {
        best = number;
      }
    }
    return best;
  }

  static int luhn(CharSequence digits) {
    int total = 0;
    for (int place = 0; place < digits.length(); place++) {
      int number = digits.charAt(digits.length() - 1 - place) - '0';
      if (place % 2 == 1) {
        // every second digit is doubled, and the digits of a result such as 14 are added: 1 + 4 = 14 - 9
        number = number * 2 - (number > 4 ? 9 : 0);
      }
      total += number;
    }
    return total % 10;
  }

  private List<int[]> accountsIn(String text) {
    List<int[]> spans = new ArrayList<>();
    Matcher head = ACCOUNT.matcher(text);
    int at = 0;
    while (head.find(at)) {
      int end = endOfAccount(text, head.start());
      if (end >= 0) {
        spans.add(new int[] {head.start(), end});
      }
      at = end < 0 ? head.start() + 1 : end;
    }
    return spans;
  }

  private int endOfAccount(String text, int start) {
    String country = text.substring(start, start + 2).toUpperCase(Locale.ROOT);
    int length = accountLengths.getOrDefault(country, 0);
    StringBuilder characters = new StringBuilder();
    int at = start;
    while (characters.length() < length && at < text.length()) {
      char c = text.charAt(at);
      // a single space between groups, as in DE89 3704 0044
      if (c == ' ' && text.charAt(at - 1) != ' ') {
        at++;
        continue;
      }
      if (c >= 0x80 || !Character.isLetterOrDigit(c)) {
        return -1;
      }
      characters.append(Character.toUpperCase(c));
      at++;
    }
    return length == 0 || characters.length() < length || remainder(characters) != 1 ? -1 : at;
  }

  static int remainder(StringBuilder account) {
    // ISO 7064: country and check digits go to the end, and a letter counts as two digits, from A = 10 to Z = 35
    String turned = account.substring(4) + account.substring(0, 4);
    int remainder = 0;
    for (int i = 0; i < turned.length(); i++) {
      int number = Character.digit(turned.charAt(i), 36);
      remainder = (number > 9 ? remainder * 100 + number : remainder * 10 + number) % 97;
    }
    return remainder;
  }
}
