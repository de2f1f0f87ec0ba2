package dagstersmt;

import java.util.Arrays;

/**
 * Walks once through a text that has been checked, and applies the actions of several effects.
 *
 * <p>Text that no effect changes is copied in pieces. Copying has the same result as reading an object and writing it
 * again, if the text has no whitespace and no object has a name twice. All other texts are {@link Uneven}.
 *
 * <p>Effects act in their order. If an effect drops a field, the effects up to this one still act inside the field,
 * because the ledger counts them. Their results are dropped with the field.
 */
final class TextWalk {
  /** A placeholder for the value of a field that an effect drops. */
  static final Object GONE = new Object();

  /** The number of the last effect, if all effects act. */
  private static final int ALL = PathState.NO_EFFECT - 1;

  private final Out out = new Out();
  private final Touched touched;
  private byte[] text;

  /** The end of the part of the text that has been copied or dropped so far. */
  private int copied;

  /** The number of the object that is being read. Objects of all records have different numbers. */
  private long objects;

  /** The number of the first object in the record. */
  private long firstOfRecord;

  /**
   * The members of an inner object whose names may also occur in an unfinished outer object. Their notes are restored
   * at the end of the inner object.
   */
  private PathState.Member[] outer = new PathState.Member[64];

  private long[] outerSeenIn = new long[64];
  private int outerCount;

  TextWalk(Touched touched) {
    this.touched = touched;
  }

  static Object unevenly() {
    throw Uneven.UNEVEN;
  }

  /** Begins a record. */
  void begin() {
    firstOfRecord = objects + 1;
    outerCount = 0;
    touched.clear();
  }

  /**
   * Applies the effects to a member of the top level.
   *
   * @param source a text that contains the member's value
   * @return the new value; {@link #GONE} if an effect drops the member, null if it stays unchanged
   */
  Object apply(PathState.Member member, byte[] source, int start, int end) {
    text = source;
    copied = start;
    out.clear();
    boolean isContainer = text[start] == '{' || text[start] == '[';
    int after = isContainer ? containerOf(member, start, ALL) : scalar(member, start, end, ALL);
    if (after < 0) {
      return GONE;
    }
    if (copied == start) {
      return null;
    }
    out.put(text, copied, end);
    return new Text(out.toBytes(), false);
  }

  /** Walks through an object or array, and returns the position after it. */
  private int container(int at, PathState state, int lastEffect) {
    if (!state.hasEffect(lastEffect)) {
      return CheckedText.afterContainer(text, at);
    }
    return text[at] == '{' ? object(at, state, lastEffect) : array(at, state, lastEffect);
  }

  private int object(int at, PathState state, int lastEffect) {
    if (text[at + 1] == '}') {
      return at + 2;
    }
    long number = ++objects;
    int outerBefore = outerCount;
    PathState.Member member = firstMember(at + 1, state);
    boolean hasMembers = false;
    while (true) {
      int start = at + 1;
      note(member, number);
      int value = start + member.label.length;
      int end = value(member, value, lastEffect);
      if (end < 0) {
        end = -end;
        remove(start, end, hasMembers);
      } else {
        hasMembers = true;
      }
      if (text[end] == '}') {
        forget(outerBefore);
        return end + 1;
      }
      if (text[end] != ',') {
        throw Uneven.UNEVEN;
      }
      at = end;
      member = nextMember(member, at + 1, state);
    }
  }

  private PathState.Member firstMember(int at, PathState state) {
    PathState.Member guess = state.first;
    if (guess != null && guess.isAt(text, at)) {
      return guess;
    }
    state.first = member(at, state);
    return state.first;
  }

  private PathState.Member nextMember(PathState.Member previous, int at, PathState state) {
    PathState.Member guess = previous.next;
    if (guess != null && guess.isAt(text, at)) {
      return guess;
    }
    previous.next = member(at, state);
    return previous.next;
  }

  private PathState.Member member(int at, PathState state) {
    if (text[at] != '"') {
      throw Uneven.UNEVEN;
    }
    int end = Words.quoteOrBackslash(text, at + 1);
    if (text[end] != '"' || text[end + 1] != ':') {
      throw Uneven.UNEVEN;
    }
    return state.member(text, at + 1, end, Words.hash(text, at + 1, end));
  }

  /** Notes that an object has a name. The object must not have had the name before. */
  private void note(PathState.Member member, long object) {
    long before = member.seenIn;
    if (before == object) {
      throw Uneven.UNEVEN;
    }
    if (before >= firstOfRecord) {
      if (outerCount == outer.length) {
        outer = Arrays.copyOf(outer, 2 * outerCount);
        outerSeenIn = Arrays.copyOf(outerSeenIn, 2 * outerCount);
      }
      outer[outerCount] = member;
      outerSeenIn[outerCount++] = before;
    }
    member.seenIn = object;
  }

  private void forget(int outerBefore) {
    while (outerCount > outerBefore) {
      outerCount--;
      outer[outerCount].seenIn = outerSeenIn[outerCount];
    }
  }

  private int array(int at, PathState state, int lastEffect) {
    if (text[at + 1] == ']') {
      return at + 2;
    }
    PathState.Member elements = state.elements();
    while (true) {
      int end = value(elements, at + 1, lastEffect);
      if (text[end] == ']') {
        return end + 1;
      }
      if (text[end] != ',') {
        throw Uneven.UNEVEN;
      }
      at = end;
    }
  }

  /** Walks through a value, and returns the position after it. The result is negative if an effect drops the field. */
  private int value(PathState.Member member, int at, int lastEffect) {
    byte first = text[at];
    if (first == '{' || first == '[') {
      return containerOf(member, at, lastEffect);
    }
    int end = first == '"' ? CheckedText.afterString(text, at) : CheckedText.afterWord(text, at);
    return scalar(member, at, end, lastEffect);
  }

  private int containerOf(PathState.Member member, int at, int lastEffect) {
    PathState.Act drop = member.acts.length == 0 ? null : dropOfContainer(member, lastEffect);
    if (drop == null) {
      return container(at, member.inside, lastEffect);
    }
    int size = out.size();
    int before = copied;
    int end = container(at, member.inside, drop.effect);
    out.cut(size);
    copied = before;
    touched.add(drop.action.entry);
    return -end;
  }

  /** Returns the action that drops a field whose value is an object or array; null if no action does. */
  private static PathState.Act dropOfContainer(PathState.Member member, int lastEffect) {
    for (PathState.Act act : member.acts) {
      if (act.effect > lastEffect) {
        return null;
      }
      if (act.action.isDrop()) {
        return act;
      }
      throw Uneven.UNEVEN; // a rule reads the whole value, or rejects it
    }
    return null;
  }

  private int scalar(PathState.Member member, int at, int end, int lastEffect) {
    if (member.leadsOn) {
      Kind.of(text, at, end); // if a path leads to a number that no type can hold, the record is left to Python
    }
    return member.acts.length == 0 ? end : act(member, at, end, lastEffect);
  }

  private int act(PathState.Member member, int at, int end, int lastEffect) {
    byte[] source = text;
    int from = at;
    int to = end;
    for (PathState.Act act : member.acts) {
      if (act.effect > lastEffect) {
        break;
      }
      if (act.action.isDrop()) {
        touched.add(act.action.entry);
        return -end;
      }
      byte[] after = changed(act.action, source, from, to);
      if (after != null) {
        source = after;
        from = 0;
        to = after.length;
      }
    }
    if (source != text) {
      out.put(text, copied, at);
      out.put(source);
      copied = end;
    }
    return end;
  }

  /**
   * Returns the result of a rule for a value that is neither an object nor an array; null if the value stays unchanged.
   */
  private byte[] changed(PathAction action, byte[] source, int from, int to) {
    Kind kind = Kind.of(source, from, to);
    Text after = kind == Kind.NULL ? null : action.rule.apply(kind, source, from, to);
    if (after == null) {
      return null;
    }
    if (after.boxed || after.bytes[0] == '{' || after.bytes[0] == '[') {
      throw Uneven.UNEVEN; // later effects may depend on the type of the value, or on values inside it
    }
    touched.add(action.entry);
    return after.bytes;
  }

  /**
   * Removes a member together with the comma before it. If there is no comma before it, the comma after it is removed.
   */
  private void remove(int start, int end, boolean hasMembers) {
    int from = hasMembers ? start - 1 : start;
    int to = !hasMembers && text[end] == ',' ? end + 1 : end;
    if (from > copied) {
      out.put(text, copied, from);
    }
    copied = to;
  }
}
