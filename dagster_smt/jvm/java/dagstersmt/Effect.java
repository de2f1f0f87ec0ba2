package dagstersmt;

/** One thing that a stage does to a record. */
interface Effect {
  /**
   * Does it.
   *
   * @throws Left only Python knows what becomes of the record
   */
  void apply(Row row);
}
