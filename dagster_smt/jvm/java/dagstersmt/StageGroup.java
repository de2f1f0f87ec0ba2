package dagstersmt;

import java.util.ArrayList;
import java.util.List;

/**
 * Consecutive stages that act only on the matches of paths. One walk through a record's text applies all of these
 * stages.
 */
final class StageGroup {
  /** The smallest number of paths with any number of levels for which a group is faster than separate stages. */
  private static final int FEWEST = 2;

  private final boolean onKey;
  private final int next;
  private final PathStates states;

  /** The names of fields at the top level that become null if they are missing. */
  private final List<Name> fills;

  private final Touched touched = new Touched();
  private final TextWalk walk = new TextWalk(touched);

  /** The new value of each position at the top level. */
  private Object[] values = new Object[64];

  private StageGroup(boolean onKey, int next, List<PathEffect> effects, int entries) {
    this.onKey = onKey;
    this.next = next;
    states = new PathStates(effects);
    fills = effects.get(effects.size() - 1).fills();
    touched.resize(entries);
  }

  /** Returns the groups of a chain, by the number of their first stage. */
  static StageGroup[] of(List<Stage> stages, int entries) {
    StageGroup[] groups = new StageGroup[stages.size()];
    int first = 0;
    while (first < groups.length) {
      List<PathEffect> effects = new ArrayList<>();
      int next = collect(stages, first, effects);
      if (searches(effects) >= FEWEST) {
        groups[first] = new StageGroup(stages.get(first).isOnKey(), next, effects, entries);
      }
      first = Math.max(next, first + 1);
    }
    return groups;
  }

  /** Adds the effects of stages that belong together to {@code effects}. Returns the number of the stage after them. */
  private static int collect(List<Stage> stages, int first, List<PathEffect> effects) {
    int next = first;
    while (next < stages.size() && stages.get(next).isOnKey() == stages.get(first).isOnKey()) {
      List<PathEffect> more = stages.get(next).pathEffects();
      if (more == null || !more.stream().allMatch(StageGroup::isByNames)) {
        return next;
      }
      effects.addAll(more);
      next++;
      // a later effect could drop a field that this effect fills
      if (more.stream().anyMatch(effect -> !effect.fills().isEmpty())) {
        return next;
      }
    }
    return next;
  }

  private static boolean isByNames(PathEffect effect) {
    return effect.actions().stream().allMatch(PathAction::isByNames);
  }

  /** Returns the number of paths with any number of levels. */
  private static long searches(List<PathEffect> effects) {
    long count = 0;
    for (PathEffect effect : effects) {
      count += effect.actions().stream().filter(action -> action.path.deepSteps() > 0).count();
    }
    return count;
  }

  /** Returns the number of the stage after the group. */
  int next() {
    return next;
  }

  /** Runs the stages. Returns false if they must run one after the other, because the text is {@link Uneven}. */
  boolean run(Row row) {
    Side side = onKey ? row.key : row.value;
    Object content = side.content();
    if (!(content instanceof Members) || !((Members) content).isObject()) {
      return false;
    }
    Members top = (Members) content;
    try {
      walk(top);
    } catch (Uneven e) {
      return false;
    }
    put(top);
    row.touched.addAll(touched);
    side.markChanged();
    return true;
  }

  /** Determines the new value of each member, but does not change any member yet. */
  private void walk(Members top) {
    walk.begin();
    PathState state = states.top();
    if (values.length < top.positions()) {
      values = new Object[2 * top.positions()];
    }
    for (int at = 0; at < top.positions(); at++) {
      values[at] = null;
      if (top.isGone(at)) {
        continue;
      }
      values[at] = top.walk(at, walk, state);
    }
  }

  private void put(Members top) {
    for (int at = 0; at < top.positions(); at++) {
      if (values[at] == TextWalk.GONE) {
        top.drop(at);
      } else if (values[at] != null) {
        top.set(at, values[at]);
      }
    }
    for (Name name : fills) {
      if (top.find(name) < 0) {
        top.put(name, Text.NULL);
      }
    }
  }
}
