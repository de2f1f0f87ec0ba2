package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/** One stage of a chain. */
final class Stage {
  /** The test of the records on which the stage acts; null for all records. */
  private final Predicate<Row> test;

  /** True if the stage changes one side (key or value) of a record. */
  private final boolean isSided;

  /**
   * True if the stage reads the key or the value. The next fields state which of the two, and how records are treated
   * in which it is null.
   */
  private final boolean looks;

  private final boolean onKey;
  private final String onNull;

  /** The test of the records that the stage drops; null for a stage that does something else. */
  private final Predicate<Row> rejects;

  private final Effect[] effects;

  Stage(JsonNode stage) {
    test = stage.has("test") ? Test.of(stage.get("test")) : null;
    isSided = stage.get("sided").asBoolean();
    String side = stage.get("side").asText();
    looks = !side.isEmpty();
    onKey = "key".equals(side);
    onNull = stage.get("null").asText();
    List<Effect> all = new ArrayList<>();
    Predicate<Row> dropped = null;
    for (JsonNode effect : stage.get("effects")) {
      String name = effect.get("do").asText();
      if ("reject".equals(name)) {
        dropped = Test.of(effect.get("test"));
      } else {
        all.add(effect(name, effect, onKey));
      }
    }
    effects = all.toArray(new Effect[0]);
    rejects = dropped;
  }

  private static Effect effect(String name, JsonNode effect, boolean onKey) {
    switch (name) {
      case "change":
        return new Changes(effect, onKey);
      case "restructure":
        return new Restructure(effect, onKey);
      case "insert":
        return new Inserts(effect, onKey);
      case "extract":
        return new Extract(effect, onKey);
      case "wrap":
        return new Wrap(effect, onKey);
      case "flatten":
        return new Flatten(effect, onKey);
      case "join":
        return new Join(effect, onKey);
      case "nullify":
        return nullify(effect, onKey);
      case "make key":
        return new MakeKey(effect);
      case "set timestamp":
        return new SetTimestamp(effect, onKey);
      case "route":
        return new Route(effect);
      case "route by time":
        return new RouteByTime(effect);
      case "route by text":
        return new RouteByText(effect, onKey);
      case "add header":
        return HeaderEffects.add(effect);
      case "drop headers":
        return HeaderEffects.drop(effect);
      case "keep headers":
        return HeaderEffects.keep(effect);
      case "copy to header":
        return HeaderEffects.copy(effect, onKey);
      default:
        throw new IllegalArgumentException("no effect " + name);
    }
  }

  private static Effect nullify(JsonNode effect, boolean onKey) {
    int entry = effect.get("entry").asInt();
    return row -> {
      (onKey ? row.key : row.value).set(null);
      row.touched.add(entry);
    };
  }

  /**
   * Runs the stage on a record. Returns true if the record continues to the next stage, and false if this stage drops
   * it.
   */
  boolean run(Row row) {
    if (test != null && !test.test(row)) {
      return true;
    }
    Side side = onKey ? row.key : row.value;
    if (looks && side.content() == null) {
      return passesNull();
    }
    if (rejects != null && rejects.test(row)) {
      return false;
    }
    for (Effect effect : effects) {
      effect.apply(row);
    }
    if (isSided) {
      side.markChanged();
    }
    return true;
  }

  /**
   * Returns the effects of the stage if it acts on all records, and only on the matches of paths. Returns null for all
   * other stages.
   */
  List<PathEffect> pathEffects() {
    if (test != null || rejects != null || !looks || !isSided) {
      return null;
    }
    List<PathEffect> all = new ArrayList<>();
    for (Effect effect : effects) {
      if (!(effect instanceof PathEffect) || ((PathEffect) effect).actions() == null) {
        return null;
      }
      all.add((PathEffect) effect);
    }
    return all;
  }

  boolean isOnKey() {
    return onKey;
  }

  private boolean passesNull() {
    if ("leave".equals(onNull)) {
      throw Left.LEFT;
    }
    return "pass".equals(onNull);
  }
}
