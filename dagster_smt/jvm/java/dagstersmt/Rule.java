package dagstersmt;

/** What becomes of a value that is not null. */
interface Rule {
  /**
   * Returns the new value; null if the rule leaves this kind alone.
   *
   * @throws Left the rule refuses the value, or only Python knows what becomes of it
   */
  Text apply(Kind kind, byte[] text, int start, int end);
}
