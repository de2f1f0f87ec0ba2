package dagstersmt;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * The paths of several effects as one automaton. A state is the set of steps that are possible next at a level of a
 * text. So a walk examines each name only once, even if there are many paths. A state is created when a record first
 * reaches it.
 */
final class PathStates {
  /** The maximum number of states. A limit is needed because names can be data. */
  private static final int MOST = 20_000;

  /** An action, and the number of its effect among the effects of the walk. */
  private static final class Numbered {
    final PathAction action;
    final int effect;
    final int firstStep;

    Numbered(PathAction action, int effect, int firstStep) {
      this.action = action;
      this.effect = effect;
      this.firstStep = firstStep;
    }
  }

  private final List<PathEffect> effects;
  private final List<Numbered> actions = new ArrayList<>();

  /** The action of each step of all paths. */
  private final List<Numbered> ofStep = new ArrayList<>();

  private final Map<BitSet, PathState> states = new HashMap<>();
  private PathState top;
  private int members;

  PathStates(List<PathEffect> effects) {
    this.effects = effects;
    for (int effect = 0; effect < effects.size(); effect++) {
      for (PathAction action : effects.get(effect).actions()) {
        Numbered numbered = new Numbered(action, effect, ofStep.size());
        actions.add(numbered);
        for (int step = 0; step < action.path.length(); step++) {
          ofStep.add(numbered);
        }
      }
    }
    top = start();
  }

  /**
   * Returns the state of the top level. Call it only between records, because it removes all states if there are too
   * many.
   */
  PathState top() {
    if (members > MOST) {
      states.clear();
      members = 0;
      top = start();
    }
    return top;
  }

  private PathState start() {
    BitSet steps = new BitSet();
    for (Numbered each : actions) {
      enter(steps, each.firstStep);
    }
    return state(steps);
  }

  private Step step(int number) {
    Numbered numbered = ofStep.get(number);
    return numbered.action.path.step(number - numbered.firstStep);
  }

  /**
   * Adds a step to a state. If the step stands for any number of levels, it may match no level, so the step after it is
   * also added.
   */
  private void enter(BitSet steps, int number) {
    steps.set(number);
    if (step(number).deep) {
      enter(steps, number + 1);
    }
  }

  private PathState state(BitSet steps) {
    PathState known = states.get(steps);
    if (known == null) {
      int first = steps.isEmpty() ? PathState.NO_EFFECT : ofStep.get(steps.nextSetBit(0)).effect;
      known = new PathState(this, steps, first);
      states.put(steps, known);
    }
    return known;
  }

  /** Returns the actions of the steps of a state on the member whose name is between two positions. */
  PathState.Member member(BitSet steps, byte[] text, int from, int to, int hash) {
    members++;
    return member(steps, step -> step.matches(text, from, to, hash), text, from, to, hash);
  }

  /** Returns the actions of the steps of a state on each element of an array. */
  PathState.Member elements(BitSet steps) {
    return member(steps, Step::leadsToElements, new byte[0], 0, 0, 0);
  }

  private PathState.Member member(
      BitSet steps, Predicate<Step> leadsThere, byte[] text, int from, int to, int hash) {
    BitSet inside = new BitSet();
    List<PathState.Act> acts = new ArrayList<>();
    boolean leadsOn = false;
    for (int number = steps.nextSetBit(0); number >= 0; number = steps.nextSetBit(number + 1)) {
      Step step = step(number);
      if (step.deep) {
        inside.set(number);
        enter(inside, number + 1);
      } else if (leadsThere.test(step)) {
        leadsOn |= advance(number, inside, acts);
      }
    }
    return new PathState.Member(text, from, to, hash, state(inside), acts, leadsOn);
  }

  /**
   * Follows a step. Returns true if the path of the step continues inside the value. Otherwise, the path ends here, and
   * its action is added to {@code acts}.
   */
  private boolean advance(int number, BitSet inside, List<PathState.Act> acts) {
    Numbered numbered = ofStep.get(number);
    if (number < numbered.firstStep + numbered.action.path.length() - 1) {
      enter(inside, number + 1);
      return true;
    }
    add(acts, new PathState.Act(numbered.action, numbered.effect));
    return false;
  }

  /** Adds an action. If several actions of the same effect drop a field, only one of them is kept. */
  private void add(List<PathState.Act> acts, PathState.Act act) {
    int last = acts.size() - 1;
    if (last < 0 || !act.action.isDrop() || acts.get(last).effect != act.effect) {
      acts.add(act);
    } else if (!effects.get(act.effect).firstDropCounts()) {
      acts.set(last, act);
    }
  }
}
