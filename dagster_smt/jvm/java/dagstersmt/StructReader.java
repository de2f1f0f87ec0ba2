package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;

/** Reads objects into rows. Declared fields are found by name. All other fields are checked and skipped. */
final class StructReader extends ColumnReader {
  /** The value in an unfinished row for a field that is null or has not been read yet. */
  private static final Object ABSENT = null;

  private final Name[] names;
  private final ColumnReader[] fields;

  /**
   * The number of the field whose name {@link #readName} has read; -1 for a field that is not declared. The position of
   * its value is in the next variable.
   */
  int field;

  int valueStart;

  /** The positions by the hashes of names, plus one. */
  private final int[] table;

  StructReader(JsonNode type) {
    JsonNode declared = type.get("fields");
    names = new Name[declared.size()];
    fields = new ColumnReader[declared.size()];
    table = new int[Integer.highestOneBit(4 * declared.size() + 4)];
    for (int at = 0; at < names.length; at++) {
      names[at] = new Name(declared.get(at).get("name").asText());
      fields[at] = ColumnReader.of(declared.get(at).get("value"));
      enter(at);
    }
  }

  private void enter(int at) {
    int slot = slot(names[at].hash);
    while (table[slot] != 0) {
      slot = slot + 1 & table.length - 1;
    }
    table[slot] = at + 1;
  }

  private int slot(int hash) {
    return (hash ^ hash >>> 15) & table.length - 1;
  }

  /** Returns the number of fields. */
  int width() {
    return fields.length;
  }

  ColumnReader[] fields() {
    return fields;
  }

  @Override
  int readValue(byte[] text, int at, int end, int depth) {
    Object[] row = new Object[fields.length];
    int after = readFields(text, at, end, depth + 1, row);
    value = new GenericInternalRow(row);
    return after;
  }

  /**
   * Reads an object's fields into the beginning of a row.
   *
   * @param depth the number of objects and arrays from the outermost to this one, including this one
   * @return the position after the object
   */
  int readFields(byte[] text, int at, int end, int depth, Object[] row) {
    if (at >= end || text[at] != '{' || depth > Json.MAX_DEPTH) {
      throw Left.LEFT;
    }
    int expected = 0;
    at = Json.afterBlanks(text, at + 1, end);
    boolean isEmpty = at < end && text[at] == '}';
    while (!isEmpty) {
      readName(text, at, end, expected);
      if (field < 0) {
        at = Json.afterValue(text, valueStart, end, depth);
      } else {
        int position = field; // copied, because the same object may read a struct inside the field
        // if two fields have the same name, the last one applies, as in Jackson's objects
        at = fields[position].read(text, valueStart, end, depth);
        row[position] = fields[position].value;
        expected = position + 1;
      }
      at = Json.afterBlanks(text, at, end);
      if (at < end && text[at] == '}') {
        break;
      }
      at = Json.afterComma(text, at, end);
    }
    fill(row);
    return at + 1;
  }

  /** Reads a name and the colon into {@link #field} and {@link #valueStart}. */
  void readName(byte[] text, int at, int end, int expected) {
    if (expected < names.length && isLabel(names[expected].label, text, at, end)) {
      field = expected;
      valueStart = Json.afterBlanks(text, at + names[expected].label.length, end);
      return;
    }
    if (at >= end || text[at] != '"') {
      throw Left.LEFT;
    }
    int nameEnd = Json.afterPlainString(text, at + 1, end) - 1;
    valueStart = Json.afterColon(text, nameEnd + 1, end);
    field = field(text, at + 1, nameEnd, expected);
  }

  private static boolean isLabel(byte[] label, byte[] text, int at, int end) {
    int after = at + label.length;
    return after <= end && Arrays.equals(label, 0, label.length, text, at, after);
  }

  /**
   * Returns the number of the field with a name. The records of a producer have their fields in the same order, so the
   * expected field is compared first.
   */
  private int field(byte[] text, int from, int to, int expected) {
    if (expected < names.length && isNamed(expected, text, from, to)) {
      return expected;
    }
    for (int slot = slot(Words.hash(text, from, to)); table[slot] != 0; slot = slot + 1 & table.length - 1) {
      int at = table[slot] - 1;
      if (isNamed(at, text, from, to)) {
        return at;
      }
    }
    return -1;
  }

  private boolean isNamed(int at, byte[] text, int from, int to) {
    byte[] name = names[at].bytes;
    return Arrays.equals(name, 0, name.length, text, from, to);
  }

  private void fill(Object[] row) {
    for (int at = 0; at < fields.length; at++) {
      if (row[at] == ABSENT) {
        row[at] = fields[at].ofNull();
      }
    }
  }
}
