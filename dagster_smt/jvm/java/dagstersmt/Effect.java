package dagstersmt;

/** One action of a stage on a record. */
interface Effect {
  /**
   * Applies the effect to a record.
   *
   * @throws Left only Python can determine the outcome of the record
   */
  void apply(Row row);
}
