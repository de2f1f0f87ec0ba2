package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A path to fields: a list of steps from the top of a key or value. */
final class Path {
  private final Step[] steps;

  Path(JsonNode steps) {
    List<Step> all = new ArrayList<>();
    for (JsonNode step : steps) {
      all.add(Step.of(step));
    }
    this.steps = all.toArray(new Step[0]);
  }

  private Path(Step[] steps) {
    this.steps = steps;
  }

  /** Returns true if all steps are names. */
  boolean isPlain() {
    return Arrays.stream(steps).allMatch(step -> step.name != null);
  }

  /** Returns true if the path is one name of the top level. */
  boolean isFlat() {
    return steps.length == 1 && isPlain();
  }

  /** Returns the last step of a path that consists of names. */
  Name leaf() {
    return steps[steps.length - 1].name;
  }

  int length() {
    return steps.length;
  }

  Step step(int at) {
    return steps[at];
  }

  /** Returns the path without its first {@code at} steps. */
  Path from(int at) {
    return new Path(Arrays.copyOfRange(steps, at, steps.length));
  }

  /** Returns the number of steps that stand for any number of levels. */
  long deepSteps() {
    return Arrays.stream(steps).filter(step -> step.deep).count();
  }

  /** Returns the object that may contain the last name of a plain path. Returns null if a step leads to no object. */
  Members parent(Members top) {
    Members at = top;
    for (int i = 0; i < steps.length - 1 && at != null; i++) {
      int position = at.find(steps[i].name);
      at = position < 0 ? null : at.child(position);
    }
    return at == null || !at.isObject() ? null : at;
  }

  /** Returns the value at a path that leads to at most one field. Returns null if the path leads nowhere. */
  Object valueAt(Object top) {
    Object content = top;
    for (int i = 0; i < steps.length && content != null; i++) {
      if (!(content instanceof Members)) {
        return null;
      }
      int[] positions = steps[i].positions((Members) content);
      content = positions.length == 0 ? null : Values.taken((Members) content, positions[0]);
    }
    return content;
  }

  /**
   * Adds all matches of the path to {@code places}. Outer values come before inner values, and elements are in their
   * order.
   */
  void find(Members top, List<Place> places) {
    walk(0, top, null, places);
  }

  private void walk(int at, Members node, Place trail, List<Place> places) {
    if (steps[at].deep) {
      walkDeep(at + 1, node, trail, places);
      return;
    }
    boolean last = at == steps.length - 1;
    for (int position : steps[at].positions(node)) {
      if (last) {
        places.add(new Place(node, position, trail));
        continue;
      }
      Members child = node.child(position);
      if (child != null) {
        walk(at + 1, child, new Place(node, position, trail), places);
      }
    }
  }

  private void walkDeep(int rest, Members node, Place trail, List<Place> places) {
    walk(rest, node, trail, places);
    Name name = steps[rest].name;
    for (int position = 0; position < node.positions(); position++) {
      if (node.isGone(position) || !node.isContainer(position)) {
        continue;
      }
      // a text without the name stays unchanged, because only values that have been parsed are written again
      byte[] text = name == null ? null : node.text(position);
      if (text != null && !Search.mayHave(name, text, node.start(position), node.end(position))) {
        continue;
      }
      walkDeep(rest, node.child(position), new Place(node, position, trail), places);
    }
  }
}
