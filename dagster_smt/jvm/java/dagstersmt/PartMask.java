package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;

/** Masks a string except for a part, as {@code dagster_smt.values.privacy.part_masks} does. */
final class PartMask extends TextRule {
  private final String shows;
  private final int count;
  private final int character;
  private final int length;
  private final boolean keepsPunctuation;

  PartMask(JsonNode rule) {
    shows = rule.get("shows").asText();
    count = rule.get("count").asInt();
    character = rule.get("character").asText().codePointAt(0);
    length = rule.get("length").asInt();
    keepsPunctuation = rule.get("punctuation").asBoolean();
  }

  @Override
  String of(String text) {
    int[] points = text.codePoints().toArray();
    StringBuilder out = new StringBuilder(text.length());
    switch (shows) {
      case "domain":
        int at = last(points, '@');
        if (at < 0) {
          mask(points, 0, points.length, out);
        } else {
          first(points, at, out);
          show(points, at, points.length, out);
        }
        break;
      case "first":
        first(points, points.length, out);
        break;
      default:
        int from = points.length - shown(points, points.length, true);
        mask(points, 0, from, out);
        show(points, from, points.length, out);
    }
    return out.toString();
  }

  private static int last(int[] points, int point) {
    int at = points.length - 1;
    while (at >= 0 && points[at] != point) {
      at--;
    }
    return at;
  }

  private void first(int[] points, int end, StringBuilder out) {
    int shown = shown(points, end, false);
    show(points, 0, shown, out);
    mask(points, shown, end, out);
  }

  /**
   * Returns the number of characters at the beginning or at the end that stay unmasked. Returns 0 if all characters
   * would stay unmasked.
   */
  private int shown(int[] points, int end, boolean fromEnd) {
    int all = 0;
    for (int i = 0; i < end; i++) {
      all += counts(points[i]) ? 1 : 0;
    }
    if (all <= count || count == 0) {
      return 0;
    }
    int left = 0;
    int shown = 0;
    while (left < count) {
      left += counts(points[fromEnd ? end - 1 - shown : shown]) ? 1 : 0;
      shown++;
    }
    return shown;
  }

  private boolean counts(int point) {
    return !keepsPunctuation || point >= 0x80 || Character.isLetterOrDigit(point);
  }

  private static void show(int[] points, int start, int end, StringBuilder out) {
    for (int i = start; i < end; i++) {
      out.appendCodePoint(points[i]);
    }
  }

  private void mask(int[] points, int start, int end, StringBuilder out) {
    if (length > 0) {
      for (int i = 0; i < length && start < end; i++) {
        out.appendCodePoint(character);
      }
      return;
    }
    for (int i = start; i < end; i++) {
      out.appendCodePoint(counts(points[i]) ? character : points[i]);
    }
  }
}
