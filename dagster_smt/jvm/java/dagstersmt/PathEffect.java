package dagstersmt;

import java.util.List;

/** An effect that acts on what paths lead to, so that one walk can do it together with others. */
interface PathEffect extends Effect {
  /**
   * What the effect does, in the order in which it acts on one field.
   *
   * @return null if it does more than that
   */
  List<PathAction> actions();

  /** Whether the first of several actions that drop one field counts, not the last. */
  boolean firstDropCounts();

  /** The names of the top level that become null where they are missing. */
  List<Name> fills();
}
