package dagstersmt;

import java.util.List;

/** An effect that acts only on the matches of paths, so that one walk can apply it together with others. */
interface PathEffect extends Effect {
  /**
   * Returns the actions of the effect, in the order in which they act on one field.
   *
   * @return null if the effect does more than its actions
   */
  List<PathAction> actions();

  /** Returns true if the first of several actions that drop the same field applies. Otherwise the last one applies. */
  boolean firstDropCounts();

  /** Returns the names of fields at the top level that become null if they are missing. */
  List<Name> fills();
}
