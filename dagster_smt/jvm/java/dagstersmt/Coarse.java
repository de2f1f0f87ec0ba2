package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;

/** Rules that make values coarser, as {@code dagster_smt.values.privacy.coarse} does. */
final class Coarse {
  private Coarse() {}

  /** Replaces an IPv4 address with the first address of its network. All other strings are left to Python. */
  static final class Network extends TextRule {
    private final int bits;

    Network(JsonNode rule) {
      bits = rule.get("v4").asInt();
    }

    @Override
    String of(String text) {
      long address = 0;
      int parts = 0;
      int digits = 0;
      int number = 0;
      for (int i = 0; i <= text.length(); i++) {
        char c = i == text.length() ? '.' : text.charAt(i);
        if (c == '.' && digits > 0 && number < 256) {
          address = address << 8 | number;
          parts++;
          digits = 0;
          number = 0;
        } else if (c >= '0' && c <= '9' && digits < 3 && !(digits == 1 && number == 0)) {
          number = number * 10 + c - '0';
          digits++;
        } else {
          throw Left.LEFT;
        }
      }
      if (parts != 4) {
        throw Left.LEFT;
      }
      address &= 0xFFFFFFFFL << 32 - bits;
      return (address >> 24 & 255) + "." + (address >> 16 & 255) + "." + (address >> 8 & 255) + "." + (address & 255);
    }
  }

  /** Keeps only the first letters and digits of a postcode. */
  static final class Beginning extends TextRule {
    private final int count;

    Beginning(JsonNode rule) {
      count = rule.get("count").asInt();
    }

    @Override
    String of(String text) {
      int[] points = text.codePoints().filter(point -> point != ' ' && point != '-').toArray();
      return points.length <= count ? "" : new String(points, 0, count);
    }
  }
}
