package dagstersmt;

import java.util.Arrays;

/**
 * Changes, at every level of a text, the values with a certain name, or with names that match a pattern. The text is
 * not parsed first.
 *
 * <p>Only these values are written again. Everything else is copied unchanged, including whitespace. The Python
 * evaluator does the same where possible. In all other cases, it decodes the text and writes it again. If that would
 * change the text, the record is left to Python.
 */
final class Splice {
  private final Step wanted;
  private final Rule rule;
  private final Out out = new Out();
  private byte[] text;
  private int end;
  private int copied;
  private boolean changed;
  private boolean decodes;

  Splice(Step wanted, Rule rule) {
    this.wanted = wanted;
    this.rule = rule;
  }

  /** Changes the object or array at a position. Returns true if anything was changed. */
  boolean apply(Members container, int position) {
    text = container.text(position);
    end = container.end(position);
    int start = container.start(position);
    if (wanted.name != null && !Search.mayHave(wanted.name, text, start, end)) {
      return false;
    }
    out.clear();
    copied = start;
    changed = false;
    // Python decodes the text to find names that are spelled with escapes
    decodes = wanted.name != null && Search.mayBeEscaped(wanted.name, text, start, end);
    walk(start, container.depth() + 1);
    if (decodes && !Canonical.is(text, start, end)) {
      throw Left.LEFT;
    }
    if (changed) {
      out.put(text, copied, end);
      container.set(position, new Text(out.toBytes(), false));
    }
    return changed;
  }

  /** Changes the values with the wanted names inside a value, and returns the position after that value. */
  private int walk(int at, int depth) {
    byte first = text[at];
    if (first != '{' && first != '[') {
      return Json.afterValue(text, at, end, depth);
    }
    at = Json.afterBlanks(text, at + 1, end);
    while (text[at] != '}' && text[at] != ']') {
      at = first == '{' ? walkMember(at, depth) : walk(at, depth + 1);
      at = Json.afterBlanks(text, at, end);
      if (text[at] == ',') {
        at = Json.afterBlanks(text, at + 1, end);
      }
    }
    return at + 1;
  }

  private int walkMember(int at, int depth) {
    int nameEnd = Json.afterPlainString(text, at + 1, end) - 1;
    boolean isWanted = isWanted(at + 1, nameEnd);
    int value = Json.afterColon(text, nameEnd + 1, end);
    if (!isWanted) {
      return walk(value, depth + 1);
    }
    if (text[value] == '{' || text[value] == '[') {
      return change(value, walkInside(value, depth));
    }
    return change(value, Json.afterValue(text, value, end, depth));
  }

  /**
   * Applies the rule inside a value that is dropped, because the rule may reject a value there. No part of the value is
   * written.
   */
  private int walkInside(int value, int depth) {
    decodes = true;
    int size = out.size();
    int before = copied;
    boolean changedBefore = changed;
    int after = walk(value, depth + 1);
    out.cut(size);
    copied = before;
    changed = changedBefore;
    return after;
  }

  private boolean isWanted(int from, int to) {
    if (wanted.name != null) {
      byte[] name = wanted.name.bytes;
      return Arrays.equals(text, from, to, name, 0, name.length);
    }
    return ((Step.Match) wanted).pattern.matches(text, from, to, Words.hash(text, from, to));
  }

  private int change(int from, int to) {
    Kind kind = Kind.of(text, from, to);
    Text after = kind == Kind.NULL ? null : rule.apply(kind, text, from, to);
    if (after == null) {
      return to;
    }
    // Python then decodes the whole text, and keeps the type of the new value
    if (after.boxed) {
      throw Left.LEFT;
    }
    out.put(text, copied, from);
    out.put(after.bytes);
    copied = to;
    changed = true;
    return to;
  }
}
