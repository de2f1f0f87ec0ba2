package dagstersmt;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/**
 * A chain as the lane runs it. Python writes it as JSON ({@code dagster_smt.jvm.program}); it holds all that the chain
 * is told, and nothing of a record.
 *
 * <p>Not for several threads: each has its own.
 */
final class Program {
  /** What becomes of a record. The numbers are those of the column {@code __status}. */
  static final byte KEPT = 0;

  static final byte DROPPED = 1;
  static final byte LEFT = 3;
  private static final Pattern TOPIC = Pattern.compile("(?!\\.{1,2}$)[A-Za-z0-9._-]{1,249}");

  private static final class Stage {
    final Predicate<Row> test;

    /** Whether the stage is about one side of a record; and which one. */
    final boolean isSided;

    final boolean onKey;

    /** Which records the stage drops; null for a stage that does something else. */
    final Predicate<Row> rejects;

    /** Whether the stage leaves a null alone. */
    final boolean passesNull;

    final Effect[] effects;

    /** The bits of the ledger that earlier stages may set. */
    final long earlier;

    Stage(JsonNode stage) {
      test = stage.has("test") ? Test.of(stage.get("test")) : row -> true;
      String side = stage.get("side").asText();
      isSided = !side.isEmpty();
      onKey = "key".equals(side);
      earlier = stage.get("earlier").asLong();
      passesNull = "pass".equals(stage.get("null").asText());
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

    void apply(Row row) {
      for (Effect effect : effects) {
        effect.apply(row);
      }
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
        case "make key":
          return new MakeKey(effect);
        case "route":
          return new Route(effect);
        case "route by time":
          return new RouteByTime(effect);
        default:
          throw new IllegalArgumentException("no effect " + name);
      }
    }
  }

  private final Stage[] stages;

  /** The format of keys that stages look at: json or string; empty if nobody does. */
  private final String keyFormat;

  /** Topics that no record may be written to; null if records go to no topics. */
  private final List<String> refusedTopics;

  private final Out out = new Out();
  private final Row row = new Row();

  byte[] key;
  byte[] value;
  int stage;

  Program(String json) {
    try {
      JsonNode program = new ObjectMapper().readTree(json);
      List<Stage> all = new ArrayList<>();
      program.get("stages").forEach(stage -> all.add(new Stage(stage)));
      stages = all.toArray(new Stage[0]);
      keyFormat = program.get("key").asText();
      if (program.has("refused topics")) {
        refusedTopics = new ArrayList<>();
        program.get("refused topics").forEach(topic -> refusedTopics.add(topic.asText()));
      } else {
        refusedTopics = null;
      }
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException(e);
    }
  }

  /** The record that {@link #run} runs: its topic and its coordinates are to be set. */
  Row row() {
    return row;
  }

  /** Runs a record; what comes out is in {@code key}, {@code value}, {@code stage} and the row. */
  byte run(byte[] keyBytes, byte[] valueBytes) {
    try {
      return runStages(keyBytes, valueBytes);
    } catch (RuntimeException | StackOverflowError | OutOfMemoryError e) {
      return LEFT; // whatever it is, the Python evaluator comes upon it again, and says what it is
    }
  }

  private byte runStages(byte[] keyBytes, byte[] valueBytes) {
    row.touched = 0;
    stage = -1;
    key = keyBytes;
    value = valueBytes;
    row.value.read(valueBytes);
    if ("json".equals(keyFormat)) {
      row.key.read(keyBytes);
    } else {
      row.key.readTyped("string".equals(keyFormat) ? keyBytes : null);
    }
    for (int number = 0; number < stages.length; number++) {
      Stage one = stages[number];
      if (!one.test.test(row)) {
        continue;
      }
      if (one.rejects == null) {
        apply(one);
      } else if (one.rejects.test(row)) {
        stage = number;
        row.touched &= one.earlier;
        return DROPPED;
      }
    }
    checkTopic();
    write();
    return KEPT;
  }

  private void apply(Stage one) {
    if (!one.isSided) {
      one.apply(row);
      return;
    }
    Side side = one.onKey ? row.key : row.value;
    if (side.content() == null) {
      if (one.passesNull) {
        return;
      }
      throw Left.LEFT;
    }
    one.apply(row);
    side.markChanged();
  }

  private void checkTopic() {
    if (refusedTopics == null) {
      return;
    }
    if (refusedTopics.contains(row.topic()) || !TOPIC.matcher(row.topic()).matches()) {
      throw Left.LEFT;
    }
  }

  private void write() {
    if (row.key.isChanged()) {
      key = "json".equals(keyFormat) ? row.key.write(out) : row.key.writeAsString();
    }
    if (row.value.isChanged()) {
      value = row.value.write(out);
    }
  }
}
