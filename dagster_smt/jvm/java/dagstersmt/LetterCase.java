package dagstersmt;

import java.util.Locale;

/** Converts strings to upper or lower case. Other values are converted to strings first. */
final class LetterCase implements Rule {
  private final boolean upper;

  LetterCase(boolean upper) {
    this.upper = upper;
  }

  @Override
  public Text apply(Kind kind, byte[] text, int start, int end) {
    String before = Scalar.text(kind, text, start, end);
    if (before.chars().anyMatch(c -> c > 0x7F)) {
      throw Left.LEFT; // different versions of Java and Python know different letters
    }
    return Text.string(upper ? before.toUpperCase(Locale.ROOT) : before.toLowerCase(Locale.ROOT));
  }
}
