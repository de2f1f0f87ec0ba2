package dagstersmt;

import java.util.Arrays;

/**
 * One level of a JSON object or array. It holds the positions of the names and values in the text. Values that no
 * effect reads are copied unchanged (difference D5).
 *
 * <p>A value is usually a range of bytes of the text. If an effect has changed the value, it is a {@link Text}. If a
 * path has led into the value, it is a {@code Members} object. Removed members stay in the arrays, so that positions
 * keep their meaning.
 */
final class Members {
  private static final int FEW = 8;

  /**
   * The initial capacity. A record may contain hundreds of small objects, and a larger capacity for each of them would
   * cost time.
   */
  private static final int ROOM = 8;

  private byte[] source;
  private boolean isObject;
  private int depth;
  private int count;

  /**
   * The start of the object's or array's range in the text. Start and end are equal if the object or array was not read
   * from a text.
   */
  private int from;

  private int to;
  private int[] nameStart = new int[ROOM];
  private int[] nameEnd = new int[ROOM];
  private int[] hash = new int[ROOM];
  private Name[] newName = new Name[ROOM];
  private int[] start = new int[ROOM];
  private int[] end = new int[ROOM];
  private Object[] newValue = new Object[ROOM];
  private boolean[] gone = new boolean[ROOM];

  /** The positions by name. The table is filled only if there are more than a few members. */
  private NameTable table = new NameTable();

  /** The number of members of the last object that was read. Their names and positions are still in the arrays. */
  private int readBefore;

  /** Returns an object without members. */
  static Members empty(int depth) {
    Members members = new Members();
    members.reset(new byte[0], true, depth);
    return members;
  }

  /**
   * Returns a copy that shares no mutable part with this object. {@code level} has the meaning of {@code depth} in
   * {@link #read}.
   */
  Members copy(int level) {
    Members copy = new Members();
    copy.source = source;
    copy.isObject = isObject;
    copy.depth = level;
    copy.count = count;
    copy.from = from;
    copy.to = to;
    copy.nameStart = nameStart.clone();
    copy.nameEnd = nameEnd.clone();
    copy.hash = hash.clone();
    copy.newName = newName.clone();
    copy.start = start.clone();
    copy.end = end.clone();
    copy.newValue = newValue.clone();
    copy.gone = gone.clone();
    copy.table = table.copy();
    for (int at = 0; at < count; at++) {
      if (newValue[at] instanceof Members) {
        copy.newValue[at] = ((Members) newValue[at]).copy(level + 1);
      }
    }
    return copy;
  }

  private void reset(byte[] text, boolean object, int level) {
    Arrays.fill(newValue, 0, count, null);
    Arrays.fill(newName, 0, count, null);
    source = text;
    isObject = object;
    depth = level;
    count = 0;
    from = 0;
    to = 0;
  }

  /**
   * Reads the object or array at a position, and checks its content.
   *
   * @param depth the number of objects and arrays from the outermost to this one, including this one
   * @return the position after the value
   */
  int read(byte[] text, int at, int end, int depth) {
    if (depth > Json.MAX_DEPTH) {
      throw Left.LEFT;
    }
    boolean object = text[at] == '{';
    byte[] before = source;
    int known = object && isObject ? forgetOthers() : 0;
    int inTable = known == 0 ? 0 : table.size();
    // if reading fails, nothing about this text may be used for the next one
    readBefore = 0;
    table.clear();
    reset(text, object, depth);
    from = at;
    to = readAll(text, at, end, before, known, inTable);
    readBefore = count;
    return to;
  }

  /** Removes from the table the members that were added after reading. Returns the number of members that were read. */
  private int forgetOthers() {
    table.leave(hash, readBefore);
    return readBefore;
  }

  /**
   * Reads all members or elements. Objects of the same kind usually have the same names in the same order. So a name is
   * first compared with the name at the same position in the previous object. If both are equal, the name needs no hash
   * and cannot occur twice.
   *
   * @param before the text of the previous object
   * @param known the number of members of the previous object; 0 for arrays
   * @param inTable the number of these members that are in the table
   */
  private int readAll(byte[] text, int at, int end, byte[] before, int known, int inTable) {
    char close = isObject ? '}' : ']';
    at = Json.afterBlanks(text, at + 1, end);
    if (at < end && text[at] == close) {
      return at + 1;
    }
    boolean isAsBefore = known > 0;
    while (true) {
      if (isAsBefore && !(count < known && isNamedAs(before, text, at, end))) {
        isAsBefore = false;
        forget(inTable);
      }
      if (isAsBefore) {
        at = readKnown(text, at, end);
      } else {
        at = isObject ? readMember(text, at, end) : readElement(text, at, end);
      }
      at = Json.afterBlanks(text, at, end);
      if (at < end && text[at] == close) {
        break;
      }
      at = Json.afterComma(text, at, end);
    }
    if (isAsBefore) {
      forget(inTable);
    }
    return at + 1;
  }

  /** Removes from the table those members of the previous object that this object lacks. */
  private void forget(int inTable) {
    table.restore(inTable);
    table.leave(hash, count);
  }

  /** Returns true if the quoted name of the next member equals the name at the same position in the previous object. */
  private boolean isNamedAs(byte[] before, byte[] text, int at, int end) {
    int from = nameStart[count] - 1;
    int to = nameEnd[count] + 1;
    int after = at + to - from;
    return after < end && Arrays.equals(before, from, to, text, at, after);
  }

  private int readKnown(byte[] text, int at, int end) {
    int nameTo = at + 1 + nameEnd[count] - nameStart[count];
    int valueStart = Json.afterColon(text, nameTo + 1, end);
    int valueEnd = Json.afterValue(text, valueStart, end, depth);
    nameStart[count] = at + 1;
    nameEnd[count] = nameTo;
    start[count] = valueStart;
    this.end[count] = valueEnd;
    gone[count] = false;
    count++;
    return valueEnd;
  }

  private int readElement(byte[] text, int at, int end) {
    int valueEnd = Json.afterValue(text, at, end, depth);
    append(0, 0, 0, null, at, valueEnd, null);
    return valueEnd;
  }

  /**
   * Reads a member. If two members have the same name, the first member gets the value of the second, as in Python's
   * dictionaries.
   */
  private int readMember(byte[] text, int at, int end) {
    if (at >= end || text[at] != '"') {
      throw Left.LEFT;
    }
    int nameStart = at + 1;
    int nameEnd = Json.afterPlainString(text, nameStart, end) - 1;
    int nameHash = Words.hash(text, nameStart, nameEnd);
    int valueStart = Json.afterColon(text, nameEnd + 1, end);
    int valueEnd = Json.afterValue(text, valueStart, end, depth);
    int same = find(text, nameStart, nameEnd, nameHash);
    if (same >= 0) {
      this.start[same] = valueStart;
      this.end[same] = valueEnd;
    } else {
      append(nameStart, nameEnd, nameHash, null, valueStart, valueEnd, null);
    }
    return valueEnd;
  }

  private void append(int nameFrom, int nameTo, int nameHash, Name name, int from, int to, Object value) {
    if (count == start.length) {
      grow();
    }
    int at = count++;
    nameStart[at] = nameFrom;
    nameEnd[at] = nameTo;
    hash[at] = nameHash;
    newName[at] = name;
    start[at] = from;
    end[at] = to;
    newValue[at] = value;
    gone[at] = false;
    if (isObject && (count > FEW || table.size() > 0)) {
      table.enter(hash, count);
    }
  }

  private void grow() {
    int more = 2 * count;
    nameStart = Arrays.copyOf(nameStart, more);
    nameEnd = Arrays.copyOf(nameEnd, more);
    hash = Arrays.copyOf(hash, more);
    newName = Arrays.copyOf(newName, more);
    start = Arrays.copyOf(start, more);
    end = Arrays.copyOf(end, more);
    newValue = Arrays.copyOf(newValue, more);
    gone = Arrays.copyOf(gone, more);
  }

  boolean isObject() {
    return isObject;
  }

  int depth() {
    return depth;
  }

  /** Returns the number of positions, including those of removed members. */
  int positions() {
    return count;
  }

  boolean isGone(int at) {
    return gone[at];
  }

  /** Returns the position of the member with a name; -1 if there is none. */
  int find(Name name) {
    return isObject ? find(name.bytes, 0, name.bytes.length, name.hash) : -1;
  }

  private int find(byte[] text, int from, int to, int nameHash) {
    if (table.size() == 0) {
      for (int at = 0; at < count; at++) {
        if (isMember(at, text, from, to, nameHash)) {
          return at;
        }
      }
      return -1;
    }
    int slot = table.slot(nameHash);
    while (table.position(slot) >= 0 && !isMember(table.position(slot), text, from, to, nameHash)) {
      slot = table.next(slot);
    }
    return table.position(slot);
  }

  private boolean isMember(int at, byte[] text, int from, int to, int nameHash) {
    return hash[at] == nameHash && !gone[at] && hasName(at, text, from, to);
  }

  private boolean hasName(int at, byte[] text, int from, int to) {
    Name name = newName[at];
    if (name != null) {
      return Arrays.equals(name.bytes, 0, name.bytes.length, text, from, to);
    }
    return Arrays.equals(source, nameStart[at], nameEnd[at], text, from, to);
  }

  /** Returns the name at a position, as bytes without escapes. */
  byte[] name(int at) {
    Name name = newName[at];
    return name != null ? name.bytes : Arrays.copyOfRange(source, nameStart[at], nameEnd[at]);
  }

  boolean nameMatches(int at, NamePattern pattern) {
    Name name = newName[at];
    if (name != null) {
      return pattern.matches(name.bytes, 0, name.bytes.length, name.hash);
    }
    return pattern.matches(source, nameStart[at], nameEnd[at], hash[at]);
  }

  /** Returns true if the object or array has not been changed after reading, so that its text is still valid. */
  private boolean isAsRead() {
    for (int at = 0; at < count; at++) {
      if (gone[at] || newName[at] != null || newValue[at] instanceof Text) {
        return false;
      }
      if (newValue[at] != null && !((Members) newValue[at]).isAsRead()) {
        return false;
      }
    }
    return to > from;
  }

  /** Applies a walk to the member at a position, and returns the result of the walk. */
  Object walk(int at, TextWalk walk, PathState state) {
    Object value = newValue[at];
    PathState.Member member = memberOf(state, at);
    if (value == null) {
      return walk.apply(member, source, start[at], end[at]);
    }
    if (value instanceof Text) {
      Text text = (Text) value;
      return text.boxed ? TextWalk.unevenly() : walk.apply(member, text.bytes, 0, text.bytes.length);
    }
    Members inside = (Members) value;
    return inside.isAsRead() ? walk.apply(member, inside.source, inside.from, inside.to) : TextWalk.unevenly();
  }

  /** Returns the actions of {@code state} on the member at a position. */
  private PathState.Member memberOf(PathState state, int at) {
    Name name = newName[at];
    if (name != null) {
      return state.member(name.bytes, 0, name.bytes.length, name.hash);
    }
    return state.member(source, nameStart[at], nameEnd[at], hash[at]);
  }

  void drop(int at) {
    gone[at] = true;
    newValue[at] = null;
  }

  /** Replaces the value at a position. */
  void set(int at, Object value) {
    newValue[at] = value;
  }

  /** Sets the value of a name. A new name is added at the end. */
  void put(Name name, Object value) {
    int at = find(name);
    if (at >= 0) {
      set(at, value);
    } else {
      append(0, 0, name.hash, name, 0, 0, value);
    }
  }

  /** Returns the value at a position as a {@link Text} or {@code Members}, so that it can be inserted elsewhere. */
  Object value(int at) {
    if (newValue[at] != null) {
      return newValue[at];
    }
    return new Text(Arrays.copyOfRange(source, start[at], end[at]), false);
  }

  /** Returns the bytes that contain the value at a position; null if a path has led into the value. */
  byte[] text(int at) {
    if (newValue[at] == null) {
      return source;
    }
    return newValue[at] instanceof Text ? ((Text) newValue[at]).bytes : null;
  }

  int start(int at) {
    return newValue[at] == null ? start[at] : 0;
  }

  int end(int at) {
    return newValue[at] == null ? end[at] : ((Text) newValue[at]).bytes.length;
  }

  /** Returns true if the value at a position is boxed: see {@link Text}. */
  boolean isBoxed(int at) {
    return newValue[at] instanceof Text && ((Text) newValue[at]).boxed;
  }

  Kind kind(int at) {
    if (newValue[at] instanceof Members) {
      return ((Members) newValue[at]).isObject ? Kind.MAP : Kind.ARRAY;
    }
    return Kind.of(text(at), start(at), end(at));
  }

  /**
   * Reads the object or array at a position; returns null for any other value.
   *
   * @throws Left the value is a number that no type can hold
   */
  Members child(int at) {
    if (newValue[at] instanceof Members) {
      return (Members) newValue[at];
    }
    Kind kind = kind(at);
    if (kind != Kind.MAP && kind != Kind.ARRAY) {
      return null;
    }
    Members child = new Members();
    child.read(text(at), start(at), end(at), depth + 1);
    newValue[at] = child;
    return child;
  }

  /** Returns true if a value is an object or array. Numbers are not examined. */
  boolean isContainer(int at) {
    if (newValue[at] instanceof Members) {
      return true;
    }
    byte first = text(at)[start(at)];
    return first == '{' || first == '[';
  }

  /** Returns true if a value is an object. Its content is not read. */
  boolean isObject(int at) {
    if (newValue[at] instanceof Members) {
      return ((Members) newValue[at]).isObject;
    }
    return text(at)[start(at)] == '{';
  }

  /** Returns true if the object or array contains a boxed value: see {@link Text}. */
  boolean hasBoxed() {
    for (int at = 0; at < count; at++) {
      boolean inside = newValue[at] instanceof Members && ((Members) newValue[at]).hasBoxed();
      if (inside || isBoxed(at)) {
        return true;
      }
    }
    return false;
  }

  /** Writes the object or array without whitespace between members. Unchanged values keep their text. */
  void write(Out out) {
    out.put(isObject ? '{' : '[');
    boolean first = true;
    int at = 0;
    while (at < count) {
      if (gone[at]) {
        at++;
        continue;
      }
      if (!first) {
        out.put(',');
      }
      first = false;
      at = newValue[at] == null && newName[at] == null ? writeRun(out, at) : writeNew(out, at);
    }
    out.put(isObject ? '}' : ']');
  }

  private int writeNew(Out out, int at) {
    if (newName[at] != null) {
      out.put(newName[at].label);
    } else if (isObject) {
      out.put(source, nameStart[at] - 1, nameEnd[at] + 1);
      out.put(':');
    }
    writeValue(out, at);
    return at + 1;
  }

  private void writeValue(Out out, int at) {
    if (newValue[at] instanceof Members) {
      ((Members) newValue[at]).write(out);
    } else {
      out.put(text(at), start(at), end(at));
    }
  }

  /** Copies consecutive members in one step, as long as they are unchanged and have no whitespace between them. */
  private int writeRun(Out out, int at) {
    int from = isObject ? nameStart[at] - 1 : start[at];
    if (isObject && start[at] != nameEnd[at] + 2) {
      return writeNew(out, at); // there is whitespace around the colon
    }
    int to = end[at];
    int next = at + 1;
    while (next < count && follows(next, to)) {
      to = end[next];
      next++;
    }
    out.put(source, from, to);
    return next;
  }

  private boolean follows(int at, int previousEnd) {
    if (gone[at] || newValue[at] != null || newName[at] != null) {
      return false;
    }
    if (!isObject) {
      return start[at] == previousEnd + 1;
    }
    // only a comma and a quote before the name, and only a quote and a colon after it
    return nameStart[at] == previousEnd + 2 && start[at] == nameEnd[at] + 2;
  }
}
