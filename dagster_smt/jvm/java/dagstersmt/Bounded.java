package dagstersmt;

/**
 * A string with a limit on the number of characters that a pattern may read from it. Without a limit, the matching of
 * some patterns would never end.
 */
public final class Bounded implements CharSequence {
  private static final int MOST = 5_000_000;

  private final CharSequence text;
  private final int[] looks;

  public Bounded(CharSequence text) {
    this(text, new int[1]);
  }

  private Bounded(CharSequence text, int[] looks) {
    this.text = text;
    this.looks = looks;
  }

  @Override
  public int length() {
    return text.length();
  }

  @Override
  public char charAt(int index) {
    if (++looks[0] > MOST) {
      throw Left.LEFT;
    }
    return text.charAt(index);
  }

  @Override
  public CharSequence subSequence(int start, int end) {
    return new Bounded(text.subSequence(start, end), looks);
  }

  @Override
  public String toString() {
    return text.toString();
  }
}
