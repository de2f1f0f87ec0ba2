package dagstersmt;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.regex.Pattern;

/** A pattern for names. The result for each name is cached, because the names of most records are the same. */
final class NamePattern {
  /** The maximum number of cached names. A limit is needed because names can be data. */
  private static final int MOST = 10_000;

  private static final class Known {
    final byte[] name;
    final int hash;
    final boolean matches;

    Known(byte[] name, int hash, boolean matches) {
      this.name = name;
      this.hash = hash;
      this.matches = matches;
    }
  }

  private final Pattern pattern;

  /** The known names by their hashes. At least half of the table is empty. */
  private Known[] table = new Known[64];

  private int count;

  NamePattern(String pattern) {
    this.pattern = Pattern.compile(pattern);
  }

  /** Returns true if the pattern matches a part of a name. {@code hash} is the result of {@link Words#hash}. */
  boolean matches(byte[] text, int from, int to, int hash) {
    int slot = hash & table.length - 1;
    while (table[slot] != null) {
      Known known = table[slot];
      if (known.hash == hash && Arrays.equals(known.name, 0, known.name.length, text, from, to)) {
        return known.matches;
      }
      slot = slot + 1 & table.length - 1;
    }
    return learn(Arrays.copyOfRange(text, from, to), hash);
  }

  private boolean learn(byte[] name, int hash) {
    boolean matches = pattern.matcher(new Bounded(new String(name, StandardCharsets.UTF_8))).find();
    if (count == MOST) {
      table = new Known[64];
      count = 0;
    }
    count++;
    if (2 * count > table.length) {
      grow();
    }
    enter(new Known(name, hash, matches));
    return matches;
  }

  private void grow() {
    Known[] before = table;
    table = new Known[2 * before.length];
    for (Known known : before) {
      if (known != null) {
        enter(known);
      }
    }
  }

  private void enter(Known known) {
    int slot = known.hash & table.length - 1;
    while (table[slot] != null) {
      slot = slot + 1 & table.length - 1;
    }
    table[slot] = known;
  }
}
