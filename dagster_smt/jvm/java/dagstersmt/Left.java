package dagstersmt;

/** Thrown where a record is not plain: the Python evaluator has to say what becomes of it. */
final class Left extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The only one: it says nothing of the record, and filling in a stack trace would cost more than the record. */
  static final Left LEFT = new Left();

  private Left() {
    super("left to the Python evaluator", null, false, false);
  }
}
