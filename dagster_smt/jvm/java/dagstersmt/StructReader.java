package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;

/** Reads objects into rows: declared fields by name, others are checked and passed over. */
final class StructReader extends ColumnReader {
  /** In a row on its way: the field has not come, or was null. */
  private static final Object ABSENT = null;

  private final Name[] names;
  private final ColumnReader[] fields;

  /** Positions by the hashes of names, plus one. */
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

  /** How many fields there are. */
  int width() {
    return fields.length;
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
   * @param depth how many objects and arrays there are from the outermost to this one, itself included
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
      int nameStart = nameStart(text, at, end);
      int nameEnd = Json.afterPlainString(text, nameStart, end) - 1;
      int start = Json.afterColon(text, nameEnd + 1, end);
      int field = field(text, nameStart, nameEnd, expected);
      if (field < 0) {
        at = Json.afterValue(text, start, end, depth);
      } else {
        // of two fields with one name the last one counts, as in Jackson's objects
        at = fields[field].read(text, start, end, depth);
        row[field] = fields[field].value;
        expected = field + 1;
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

  private static int nameStart(byte[] text, int at, int end) {
    if (at >= end || text[at] != '"') {
      throw Left.LEFT;
    }
    return at + 1;
  }

  /** Records of one producer have their fields in one order: the next one is looked at first. */
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
