package dagstersmt;

/** A rule that changes values that are not null. */
interface Rule {
  /**
   * Returns the new value; null if the rule does not change values of this kind.
   *
   * @throws Left the rule rejects the value, or only Python can determine the result
   */
  Text apply(Kind kind, byte[] text, int start, int end);
}
