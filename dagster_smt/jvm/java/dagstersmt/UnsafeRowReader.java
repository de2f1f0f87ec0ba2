package dagstersmt;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads objects whose fields are numbers, strings, bytes and timestamps into Spark's own row format. Spark copies such
 * a row in one step. From a row in any other format, Spark takes each value separately, as an object.
 *
 * <p>Equal rows must have equal bytes, because Spark groups and joins rows by their bytes. Strings are written one
 * after the other. So an object is {@link Uneven} if its fields are in a different order, or if a field occurs twice.
 */
final class UnsafeRowReader {
  /** The initial number of bytes for strings. The buffer grows if records need more. */
  private static final int ROOM = 1024;

  private final StructReader struct;
  private final ColumnReader[] fields;

  /** For each field, true if it is the argument of a rule's call. */
  private final boolean[] isArgument;

  private final UnsafeRowWriter row;

  /**
   * Creates a reader of rows.
   *
   * @param others the number of columns after the fields
   * @param isArgument for each field, true if {@link #argument} returns its value
   */
  UnsafeRowReader(StructReader struct, int others, boolean[] isArgument) {
    this.struct = struct;
    this.isArgument = isArgument;
    fields = struct.fields();
    row = new UnsafeRowWriter(fields.length + others, ROOM);
  }

  /** Returns true if this format supports the types of all fields of an object. */
  static boolean canRead(StructReader struct) {
    for (ColumnReader field : struct.fields()) {
      if (!field.isWritten()) {
        return false;
      }
    }
    return true;
  }

  /**
   * Reads an object's fields.
   *
   * @param depth the number of objects and arrays from the outermost to this one, including this one
   * @param arguments receives the values of the fields that are arguments of calls
   * @return the position after the object
   */
  int readFields(byte[] text, int at, int end, int depth, Object[] arguments) {
    if (at >= end || text[at] != '{') {
      throw Left.LEFT;
    }
    row.reset();
    // the writer still has the null bits of the previous row
    row.zeroOutNullBytes();
    int expected = 0;
    at = Json.afterBlanks(text, at + 1, end);
    boolean isEmpty = at < end && text[at] == '}';
    while (!isEmpty) {
      struct.readName(text, at, end, expected);
      int field = struct.field;
      if (field < 0) {
        at = Json.afterValue(text, struct.valueStart, end, depth);
      } else if (field < expected) {
        throw Uneven.UNEVEN;
      } else {
        writeNulls(expected, field, arguments);
        at = write(field, text, struct.valueStart, end, depth, arguments);
        expected = field + 1;
      }
      at = Json.afterBlanks(text, at, end);
      if (at < end && text[at] == '}') {
        break;
      }
      at = Json.afterComma(text, at, end);
    }
    writeNulls(expected, fields.length, arguments);
    return at + 1;
  }

  private int write(int field, byte[] text, int at, int end, int depth, Object[] arguments) {
    if (!isArgument[field]) {
      return fields[field].write(text, at, end, depth, row, field);
    }
    int after = fields[field].read(text, at, end, depth);
    arguments[field] = fields[field].value;
    put(field, arguments[field]);
    return after;
  }

  /** Writes null for missing fields. */
  private void writeNulls(int from, int to, Object[] arguments) {
    for (int field = from; field < to; field++) {
      Object value = fields[field].ofNull();
      put(field, value);
      if (isArgument[field]) {
        arguments[field] = value;
      }
    }
  }

  /** Writes a value to a column. */
  void put(int column, Object value) {
    put(row, column, value);
  }

  static void put(UnsafeRowWriter row, int column, Object value) {
    if (value == null) {
      row.setNullAt(column);
    } else if (value instanceof UTF8String) {
      row.write(column, (UTF8String) value);
    } else if (value instanceof Long) {
      row.write(column, (long) value);
    } else if (value instanceof Integer) {
      row.write(column, (int) value);
    } else if (value instanceof Double) {
      row.write(column, (double) value);
    } else if (value instanceof Boolean) {
      row.write(column, (boolean) value);
    } else if (value instanceof byte[]) {
      row.write(column, (byte[]) value);
    } else if (value instanceof Float) {
      row.write(column, (float) value);
    } else if (value instanceof Short) {
      row.write(column, (short) value);
    } else {
      row.write(column, (byte) value);
    }
  }

  /** Returns a copy of the row, because the key and the value share a reader if they have the same schema. */
  InternalRow row() {
    return row.getRow().copy();
  }
}
