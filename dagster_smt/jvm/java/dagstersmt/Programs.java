package dagstersmt;

import java.util.function.Function;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The programs that a thread runs, by their texts. A text is a literal of a query, so it is nearly always the same
 * object for consecutive records.
 *
 * @param <P> the type of the programs
 */
final class Programs<P> {
  /** The number of programs to keep, which is more than a query calls at the same time. */
  private static final int KEPT = 8;

  private final Function<String, P> reader;
  private final UTF8String[] literals = new UTF8String[KEPT];
  private final Object[] programs = new Object[KEPT];
  private int next;

  Programs(Function<String, P> reader) {
    this.reader = reader;
  }

  P of(UTF8String literal) {
    for (int at = 0; at < KEPT; at++) {
      if (literals[at] == literal) {
        return program(at);
      }
    }
    for (int at = 0; at < KEPT; at++) {
      if (literal.equals(literals[at])) {
        literals[at] = literal; // each task has its own object for the literal, and comparing long texts takes time
        return program(at);
      }
    }
    P program = reader.apply(literal.toString());
    literals[next] = literal;
    programs[next] = program;
    next = (next + 1) % KEPT;
    return program;
  }

  @SuppressWarnings("unchecked") // the array contains only programs
  private P program(int at) {
    return (P) programs[at];
  }
}
