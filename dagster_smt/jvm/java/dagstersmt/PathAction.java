package dagstersmt;

/** What an effect does to all that one path leads to: a rule changes the value, or the field goes. */
final class PathAction {
  final Path path;

  /** Null for a field that goes. */
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
   * Whether names decide alone where the path leads to. An index, or the kind of a value, depends on what other
   * effects did before; and where an element of an array goes, those after it have other places.
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
