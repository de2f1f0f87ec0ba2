package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;

/** Coarser values: {@code dagster_smt.values.privacy.coarse}. */
final class Coarse {
  private Coarse() {}

  /** The first address of the network of an address of version 4. Other texts are left to Python. */
  static final class Network extends TextRule {
    private final int bits;

    Network(JsonNode rule) {
      bits = rule.get("v4").asInt();
    }

    @Override
    String of(String text) {
      long address = 0;
      int parts = 0;
      for (String part : text.split("\\.", -1)) {
        boolean isPlain = part.matches("[0-9]{1,3}") && (part.length() == 1 || part.charAt(0) != '0');
        int number = isPlain ? Integer.parseInt(part) : 256;
        if (number > 255) {
          throw Left.LEFT;
        }
        address = address << 8 | number;
        parts++;
      }
      if (parts != 4) {
        throw Left.LEFT;
      }
      address &= 0xFFFFFFFFL << 32 - bits;
      return (address >> 24 & 255) + "." + (address >> 16 & 255) + "." + (address >> 8 & 255) + "." + (address & 255);
    }
  }

  /** The first letters and digits of a postcode. */
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
