package dagstersmt;

/** The action of an effect on all matches of a path. Either a rule changes the value, or the field is dropped. */
final class PathAction {
  final Path path;

  /** The rule; null if the field is dropped. */
  final Rule rule;

  final int entry;

  private PathAction(Path path, Rule rule, int entry) {
    this.path = path;
    this.rule = rule;
    this.entry = entry;
  }

  static PathAction change(Path path, Rule rule, int entry) {
    return new PathAction(path, rule, entry);
  }

  static PathAction drop(Path path, int entry) {
    return new PathAction(path, null, entry);
  }

  boolean isDrop() {
    return rule == null;
  }

  /**
   * Returns true if names alone determine the matches of the path. Otherwise the matches depend on earlier effects:
   * they may change the kind of a value, or drop elements of an array, so that later elements move.
   */
  boolean isByNames() {
    for (int at = 0; at < path.length(); at++) {
      if (!path.step(at).isByNames()) {
        return false;
      }
    }
    if (path.length() == 0) {
      return false;
    }
    Step last = path.step(path.length() - 1);
    return !last.deep && !(isDrop() && last.leadsToElements());
  }
}
