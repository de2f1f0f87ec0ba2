package dagstersmt;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads objects whose fields are numbers, texts, bytes and moments into Spark's own row format. Spark copies such a row
 * at once; of any other row it takes each value on its own, after an object was made for it.
 *
 * <p>Equal rows must have equal bytes, since Spark groups and joins by them. Texts are written one after the other, so
 * an object whose fields are in another order, or twice, is {@link Uneven}.
 */
final class UnsafeRowReader {
  /** Room for texts at first; it grows with the records. */
  private static final int ROOM = 1024;

  private final StructReader struct;
  private final ColumnReader[] fields;

  /** By field, whether a call of a rule has it as its argument. */
  private final boolean[] isArgument;

  private final UnsafeRowWriter row;

  /**
   * A reader of rows.
   *
   * @param others how many columns there are behind the fields
   * @param isArgument by field whether {@link #argument} is to give its value
   */
  UnsafeRowReader(StructReader struct, int others, boolean[] isArgument) {
    this.struct = struct;
    this.isArgument = isArgument;
    fields = struct.fields();
    row = new UnsafeRowWriter(fields.length + others, ROOM);
  }

  /** Whether all fields of an object are of types that are written so. */
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
   * @param depth how many objects and arrays there are from the outermost to this one, itself included
   * @param arguments receives the values of fields that calls have as arguments
   * @return the position after the object
   */
  int readFields(byte[] text, int at, int end, int depth, Object[] arguments) {
    if (at >= end || text[at] != '{') {
      throw Left.LEFT;
    }
    row.reset();
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

  /** Writes fields that have not come. */
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

  /** The row: a copy, since two sides of one schema have the same reader. */
  InternalRow row() {
    return row.getRow().copy();
  }
}
