package dagstersmt;

import java.util.ArrayList;
import java.util.List;

/** Drops all fields except the matches of paths and the objects and arrays around them. */
final class Pruner {
  private final List<Place> ends = new ArrayList<>();
  private final List<Place> ways = new ArrayList<>();

  Pruner(List<Path> paths, Members top) {
    for (Path path : paths) {
      path.find(top, ends);
    }
    for (Place end : ends) {
      for (Place way = end.above; way != null; way = way.above) {
        ways.add(way);
      }
    }
  }

  /**
   * Returns true if a field was dropped. Arrays keep their nulls, and they keep their objects and arrays even if these
   * become empty.
   */
  boolean prune(Members node) {
    boolean dropped = false;
    for (int at = node.positions() - 1; at >= 0; at--) {
      if (node.isGone(at) || has(ends, node, at)) {
        continue;
      }
      if (has(ways, node, at)) {
        dropped |= prune(node.child(at));
      } else {
        dropped |= node.isObject() ? drop(node, at) : empty(node, at);
      }
    }
    return dropped;
  }

  private static boolean drop(Members node, int at) {
    node.drop(at);
    return true;
  }

  private static boolean empty(Members array, int at) {
    Kind kind = array.kind(at);
    if (kind == Kind.NULL) {
      return false;
    }
    if (kind == Kind.MAP || kind == Kind.ARRAY) {
      array.set(at, Text.of(kind == Kind.MAP ? "{}" : "[]"));
    } else {
      array.drop(at);
    }
    return true;
  }

  private static boolean has(List<Place> places, Members node, int at) {
    for (Place place : places) {
      if (place.container == node && place.position == at) {
        return true;
      }
    }
    return false;
  }
}
