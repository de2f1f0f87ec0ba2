package dagstersmt;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.util.ArrayData;

/**
 * A chain that the lane runs. Python writes the program as JSON ({@code dagster_smt.jvm.program}). The program contains
 * the configuration of the chain, and no part of a record.
 *
 * <p>Not safe for several threads: each thread has its own object.
 */
final class Program {
  /** The outcome of a record. The numbers are those of the column {@code __status}. */
  static final byte KEPT = 0;

  static final byte DROPPED = 1;
  static final byte LEFT = 3;

  private final Stage[] stages;

  /**
   * The groups of stages that one walk applies, by the number of their first stage. The items for all other stages are
   * null.
   */
  private final StageGroup[] groups;

  /** True if a stage reads or creates headers. */
  private final boolean hasHeaders;

  /** The format of keys that stages read: json or string; empty if no stage reads keys. */
  private final String keyFormat;

  /** The topics to which records can be written. Null if records are not written to topics. */
  private final TopicNames topicNames;

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
      int entries = program.get("entries").asInt();
      row.touched.resize(entries);
      groups = StageGroup.of(all, entries);
      hasHeaders = program.get("headers").asBoolean();
      keyFormat = program.get("key").asText();
      topicNames = program.has("topics") ? new TopicNames(program.get("topics")) : null;
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException(e);
    }
  }

  /** Returns the record for {@link #run}. The caller sets its topic and its coordinates. */
  Row row() {
    return row;
  }

  /** Returns the output headers; null if no stage reads or creates headers. */
  ArrayData headers() {
    return hasHeaders ? row.headers.write() : null;
  }

  /** Runs a record, and returns its outcome. The output is in {@code key}, {@code value}, {@code stage} and the row. */
  byte run(byte[] keyBytes, byte[] valueBytes, ArrayData headers) {
    try {
      if (hasHeaders) {
        row.headers.read(headers);
      }
      return runStages(keyBytes, valueBytes);
    } catch (RuntimeException | StackOverflowError | OutOfMemoryError e) {
      return LEFT; // the Python evaluator meets the same problem again, and reports it
    }
  }

  private byte runStages(byte[] keyBytes, byte[] valueBytes) {
    row.touched.clear();
    stage = -1;
    key = keyBytes;
    value = valueBytes;
    row.value.read(valueBytes);
    if ("json".equals(keyFormat)) {
      row.key.read(keyBytes);
    } else {
      row.key.readTyped("string".equals(keyFormat) ? keyBytes : null);
    }
    int number = 0;
    while (number < stages.length) {
      StageGroup group = groups[number];
      if (group != null && group.run(row)) {
        number = group.next();
        continue;
      }
      if (!stages[number].run(row)) {
        stage = number;
        return DROPPED;
      }
      number++;
    }
    if (topicNames != null && !topicNames.takes(row.topic())) {
      throw Left.LEFT;
    }
    write();
    return KEPT;
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
