package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Applies rules to values. Inner values are changed before the values that contain them. */
final class Changes implements PathEffect {
  private static final class Change {
    final Path path;
    final Rule rule;
    final int entry;

    Change(JsonNode change) {
      path = new Path(change.get("path"));
      rule = Rules.of(change.get("rule"));
      entry = change.get("entry").asInt();
    }
  }

  private final boolean onKey;

  /** True if a missing field of the top level becomes null, as in Kafka's own transforms. */
  private final boolean fills;

  /**
   * The changes of a name at every level. They are applied first, one after the other. If another path may match the
   * same values, there are none, and {@link #rest} has all changes.
   */
  private final List<Change> deep = new ArrayList<>();

  private final List<Splice> splices = new ArrayList<>();

  /** All other changes. Those with longer paths come first. */
  private final List<Change> rest = new ArrayList<>();

  private final List<Path> restPaths = new ArrayList<>();
  private final boolean restIsPlain;
  private final Change whole;

  Changes(JsonNode effect, boolean onKey) {
    this.onKey = onKey;
    fills = effect.get("fills").asBoolean();
    boolean scansFirst = effect.get("scans_first").asBoolean();
    Change ofAll = null;
    for (JsonNode node : effect.get("changes")) {
      Change change = new Change(node);
      if (change.path.length() == 0) {
        ofAll = change;
      } else if (scansFirst && isSplice(change.path)) {
        deep.add(change);
        splices.add(new Splice(change.path.step(change.path.length() - 1), change.rule));
      } else {
        rest.add(change);
      }
    }
    whole = ofAll;
    restIsPlain = rest.stream().allMatch(change -> change.path.isPlain());
    if (restIsPlain) {
      rest.sort(Comparator.comparingInt((Change change) -> -change.path.length()));
    }
    rest.forEach(change -> restPaths.add(change.path));
  }

  @Override
  public List<PathAction> actions() {
    if (whole != null) {
      return null;
    }
    List<PathAction> actions = new ArrayList<>();
    deep.forEach(change -> actions.add(PathAction.change(change.path, change.rule, change.entry)));
    rest.forEach(change -> actions.add(PathAction.change(change.path, change.rule, change.entry)));
    return actions;
  }

  @Override
  public boolean firstDropCounts() {
    return false;
  }

  @Override
  public List<Name> fills() {
    List<Name> names = new ArrayList<>();
    for (Change change : rest) {
      if (fills && change.path.isFlat()) {
        names.add(change.path.leaf());
      }
    }
    return names;
  }

  /**
   * Returns true if the path consists of names, followed by a step for any number of levels, and finally a name or a
   * pattern.
   */
  private static boolean isSplice(Path path) {
    int last = path.length() - 1;
    if (last < 1 || !path.step(last - 1).deep || path.deepSteps() != 1) {
      return false;
    }
    for (int i = 0; i < last - 1; i++) {
      if (path.step(i).name == null) {
        return false;
      }
    }
    return path.step(last).name != null || path.step(last) instanceof Step.Match;
  }

  @Override
  public void apply(Row row) {
    Side side = onKey ? row.key : row.value;
    if (whole != null) {
      changeWhole(side, row);
      return;
    }
    Members top = side.object();
    for (int i = 0; i < deep.size(); i++) {
      Members node = below(top, deep.get(i).path);
      if (node != null) {
        splice(node, deep.get(i), splices.get(i), row);
      }
    }
    if (restIsPlain) {
      changeInTurn(top, row);
    } else {
      changeAll(top, row);
    }
  }

  private void changeWhole(Side side, Row row) {
    Object content = side.content();
    if (content == null) {
      return;
    }
    Text after;
    if (content instanceof Text) {
      Text before = (Text) content;
      if (before.boxed) {
        throw Left.LEFT;
      }
      Kind kind = Kind.of(before.bytes, 0, before.bytes.length);
      after = whole.rule.apply(kind, before.bytes, 0, before.bytes.length);
    } else {
      after = whole.rule.apply(((Members) content).isObject() ? Kind.MAP : Kind.ARRAY, null, 0, 0);
    }
    if (after != null) {
      side.set(after);
      row.touched.add(whole.entry);
    }
  }

  /**
   * Returns the object or array to which the names before the step for any number of levels lead. Returns null if there
   * is none.
   */
  private static Members below(Members top, Path path) {
    Members node = top;
    for (int i = 0; i < path.length() - 2; i++) {
      int at = node.find(path.step(i).name);
      node = at < 0 ? null : node.child(at);
      if (node == null) {
        return null;
      }
    }
    return node;
  }

  private static void splice(Members node, Change change, Splice splice, Row row) {
    for (int at = 0; at < node.positions(); at++) {
      if (node.isGone(at) || !node.isContainer(at)) {
        continue;
      }
      if (node.text(at) == null) {
        splice(node.child(at), change, splice, row);
      } else if (splice.apply(node, at)) {
        row.touched.add(change.entry);
      }
    }
    if (node.isObject()) {
      for (int at : change.path.step(change.path.length() - 1).positions(node)) {
        change(node, at, change, row);
      }
    }
  }

  private void changeInTurn(Members top, Row row) {
    for (Change change : rest) {
      Members parent = change.path.parent(top);
      int at = parent == null ? -1 : parent.find(change.path.leaf());
      if (at >= 0) {
        change(parent, at, change, row);
      } else if (fills && change.path.length() == 1) {
        top.put(change.path.leaf(), Text.NULL);
      }
    }
  }

  private void changeAll(Members top, Row row) {
    List<Name> missing = new ArrayList<>();
    for (Change change : rest) {
      if (fills && change.path.isFlat() && top.find(change.path.leaf()) < 0) {
        missing.add(change.path.leaf());
      }
    }
    for (Places.Numbered each : Places.of(restPaths, top, false)) {
      change(each.place.container, each.place.position, rest.get(each.number), row);
    }
    for (Name name : missing) {
      top.put(name, Text.NULL);
    }
  }

  private static void change(Members container, int at, Change change, Row row) {
    if (container.isBoxed(at)) {
      throw Left.LEFT;
    }
    Kind kind = container.kind(at);
    if (kind == Kind.NULL) {
      return;
    }
    byte[] text = container.text(at);
    Text after = text == null
        ? change.rule.apply(kind, null, 0, 0)
        : change.rule.apply(kind, text, container.start(at), container.end(at));
    if (after != null) {
      container.set(at, after);
      row.touched.add(change.entry);
    }
  }
}
