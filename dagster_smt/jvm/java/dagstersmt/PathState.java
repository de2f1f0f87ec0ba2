package dagstersmt;

import java.util.Arrays;
import java.util.BitSet;
import java.util.List;

/** A state of {@link PathStates}. It holds the actions on members and elements at one level of a text. */
final class PathState {
  /** A number of an effect that stands for no effect. */
  static final int NO_EFFECT = Integer.MAX_VALUE;

  /** An action on a field, and the number of its effect. */
  static final class Act {
    final PathAction action;
    final int effect;

    Act(PathAction action, int effect) {
      this.action = action;
      this.effect = effect;
    }
  }

  /** The actions on the members with one name, or on the elements of an array. */
  static final class Member {
    /** The name in quotes, followed by a colon. */
    final byte[] label;

    final int hash;

    /** The state inside the value, if the value is an object or array. */
    final PathState inside;

    /** The actions, in the order in which they act. */
    final Act[] acts;

    /** True if a path leads into the value with a step that does not stand for any number of levels. */
    final boolean leadsOn;

    /** The number of the last object that had the name; see {@link TextWalk}. */
    long seenIn;

    /**
     * The member that followed this one in the previous object. Objects of the same kind usually have their names in
     * the same order.
     */
    Member next;

    Member(byte[] text, int from, int to, int hash, PathState inside, List<Act> acts, boolean leadsOn) {
      label = new byte[to - from + 3];
      label[0] = '"';
      System.arraycopy(text, from, label, 1, to - from);
      label[label.length - 2] = '"';
      label[label.length - 1] = ':';
      this.hash = hash;
      this.inside = inside;
      this.acts = acts.toArray(new Act[0]);
      this.leadsOn = leadsOn;
    }

    boolean hasName(byte[] text, int from, int to) {
      return Arrays.equals(label, 1, label.length - 2, text, from, to);
    }

    /** Returns true if the quoted name and a colon are at a position. */
    boolean isAt(byte[] text, int at) {
      int end = at + label.length;
      return end <= text.length && Arrays.equals(label, 0, label.length, text, at, end);
    }
  }

  private final PathStates states;
  private final BitSet steps;
  private final int firstEffect;
  private Member elements;

  /** The members by the hashes of their names. At least half of the table is empty. */
  private Member[] table = new Member[64];

  private int count;

  /** The first member of the previous object. */
  Member first;

  PathState(PathStates states, BitSet steps, int firstEffect) {
    this.states = states;
    this.steps = steps;
    this.firstEffect = firstEffect;
  }

  /** Returns true if an effect with a number up to {@code last} acts at this level, or further inside. */
  boolean hasEffect(int last) {
    return firstEffect <= last;
  }

  Member elements() {
    if (elements == null) {
      elements = states.elements(steps);
    }
    return elements;
  }

  /** Returns the actions on the member with a name. */
  Member member(byte[] text, int from, int to, int hash) {
    int slot = hash & table.length - 1;
    while (table[slot] != null) {
      Member known = table[slot];
      if (known.hash == hash && known.hasName(text, from, to)) {
        return known;
      }
      slot = slot + 1 & table.length - 1;
    }
    return learn(states.member(steps, text, from, to, hash));
  }

  private Member learn(Member member) {
    count++;
    if (2 * count > table.length) {
      Member[] before = table;
      table = new Member[2 * before.length];
      for (Member known : before) {
        if (known != null) {
          enter(known);
        }
      }
    }
    enter(member);
    return member;
  }

  private void enter(Member member) {
    int slot = member.hash & table.length - 1;
    while (table[slot] != null) {
      slot = slot + 1 & table.length - 1;
    }
    table[slot] = member;
  }
}
