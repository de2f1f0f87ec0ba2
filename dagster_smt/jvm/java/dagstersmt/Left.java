package dagstersmt;

/** Thrown for a record that the lane leaves to the Python evaluator. */
final class Left extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /**
   * The only instance. It contains no stack trace and nothing about the record, because filling in a stack trace would
   * take longer than processing the record.
   */
  static final Left LEFT = new Left();

  private Left() {
    super("left to the Python evaluator", null, false, false);
  }
}
