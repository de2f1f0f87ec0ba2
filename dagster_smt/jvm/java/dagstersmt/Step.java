package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;

/** One step of a path, which matches members of an object or elements of an array. */
abstract class Step {
  private static final int[] NOWHERE = {};

  /** The name, if the step is a name. */
  final Name name;

  /** True if the step stands for any number of levels, including none. */
  final boolean deep;

  private Step(Name name, boolean deep) {
    this.name = name;
    this.deep = deep;
  }

  /** Returns the positions that the step matches, in their order. */
  abstract int[] positions(Members node);

  /** Returns true if the step matches a member with a name, whatever other members exist. */
  boolean matches(byte[] text, int from, int to, int hash) {
    return false;
  }

  /** Returns true if the step matches all elements of arrays. */
  boolean leadsToElements() {
    return false;
  }

  /** Returns true if names alone determine the matches of the step. */
  boolean isByNames() {
    return true;
  }

  /** Returns the step that a program describes. A string is a name; all other steps are objects. */
  static Step of(JsonNode step) {
    if (step.isTextual()) {
      return new Named(step.asText());
    }
    String kind = step.fieldNames().next();
    switch (kind) {
      case "index":
        return new Index(step.get(kind).asInt());
      case "every":
        return new Every();
      case "deep":
        return new Deep();
      case "match":
        return new Match(step.get(kind).asText());
      case "kinds":
        return new OfKind(step.get(kind));
      default:
        throw new IllegalArgumentException("no step " + kind);
    }
  }

  private static final class Named extends Step {
    Named(String name) {
      super(new Name(name), false);
    }

    @Override
    boolean matches(byte[] text, int from, int to, int hash) {
      return Arrays.equals(name.bytes, 0, name.bytes.length, text, from, to);
    }

    @Override
    int[] positions(Members node) {
      int at = node.find(name);
      return at < 0 ? NOWHERE : new int[] {at};
    }
  }

  /** Matches one element of an array. The index starts at 0; a negative index counts from the end. */
  private static final class Index extends Step {
    private final int number;

    Index(int number) {
      super(null, false);
      this.number = number;
    }

    @Override
    boolean isByNames() {
      return false;
    }

    @Override
    int[] positions(Members node) {
      if (node.isObject()) {
        return NOWHERE;
      }
      int[] all = live(node);
      int at = number < 0 ? all.length + number : number;
      return at < 0 || at >= all.length ? NOWHERE : new int[] {all[at]};
    }
  }

  private static final class Every extends Step {
    Every() {
      super(null, false);
    }

    @Override
    boolean matches(byte[] text, int from, int to, int hash) {
      return true;
    }

    @Override
    boolean leadsToElements() {
      return true;
    }

    @Override
    int[] positions(Members node) {
      return live(node);
    }
  }

  /** Stands for any number of levels. {@link Path} implements this step. */
  private static final class Deep extends Step {
    Deep() {
      super(null, true);
    }

    @Override
    int[] positions(Members node) {
      throw new IllegalStateException("a deep step is no place");
    }
  }

  /** Matches every member whose name contains a match of a regular expression. */
  static final class Match extends Step {
    final NamePattern pattern;

    Match(String pattern) {
      super(null, false);
      this.pattern = new NamePattern(pattern);
    }

    @Override
    boolean matches(byte[] text, int from, int to, int hash) {
      return pattern.matches(text, from, to, hash);
    }

    @Override
    int[] positions(Members node) {
      int[] found = NOWHERE;
      int count = 0;
      for (int at = 0; node.isObject() && at < node.positions(); at++) {
        if (!node.isGone(at) && node.nameMatches(at, pattern)) {
          found = count < found.length ? found : Arrays.copyOf(found, 2 * count + 1);
          found[count++] = at;
        }
      }
      return count == found.length ? found : Arrays.copyOf(found, count);
    }
  }

  /** Matches every member or element whose value has one of the given kinds. */
  private static final class OfKind extends Step {
    private final Set<Kind> kinds = EnumSet.noneOf(Kind.class);

    OfKind(JsonNode names) {
      super(null, false);
      for (JsonNode kind : names) {
        kinds.add(Kind.called(kind.asText()));
      }
    }

    @Override
    boolean isByNames() {
      return false;
    }

    @Override
    int[] positions(Members node) {
      return Arrays.stream(live(node)).filter(at -> isOfKind(node, at)).toArray();
    }

    private boolean isOfKind(Members node, int at) {
      if (node.isBoxed(at)) {
        throw Left.LEFT;
      }
      return kinds.contains(node.kind(at));
    }
  }

  private static int[] live(Members node) {
    int[] all = new int[node.positions()];
    int count = 0;
    for (int at = 0; at < all.length; at++) {
      if (!node.isGone(at)) {
        all[count++] = at;
      }
    }
    return Arrays.copyOf(all, count);
  }
}
