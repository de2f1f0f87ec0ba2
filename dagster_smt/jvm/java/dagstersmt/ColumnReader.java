package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;

/**
 * Reads JSON of one declared type into a Spark value. The reader accepts exactly what Connect accepts. Everything else
 * is {@link Left} to Python.
 */
abstract class ColumnReader {
  /** The value that was read last. */
  Object value;

  private boolean takesNull;
  private Object ifNull;
  private Object mask;

  static ColumnReader of(JsonNode type) {
    ColumnReader reader = ofType(type);
    reader.takesNull = type.get("null").asBoolean();
    if (type.has("default")) {
      reader.ifNull = reader.constant(type.get("default"));
    }
    if (type.has("mask")) {
      reader.mask = reader.constant(type.get("mask"));
      reader.ifNull = reader.ifNull == null ? null : reader.mask;
    }
    return reader;
  }

  private static ColumnReader ofType(JsonNode type) {
    String name = type.get("type").asText();
    switch (name) {
      case "struct":
        return new StructReader(type);
      case "array":
        return new ArrayReader(type);
      case "map":
        return new MapReader(type);
      default:
        return Scalars.of(name, type);
    }
  }

  /** Reads a value that is not null, and returns the position after the value. */
  abstract int readValue(byte[] text, int at, int end, int depth);

  /** Returns true if {@link #write} accepts values of the type. */
  boolean isWritten() {
    return false;
  }

  /** Writes a value that is not null to a column of a row, and returns the position after the value. */
  int writeValue(byte[] text, int at, int end, int depth, UnsafeRowWriter row, int column) {
    int after = readValue(text, at, end, depth);
    UnsafeRowReader.put(row, column, value);
    return after;
  }

  /** Converts a constant of the program into a value of the reader's type. */
  Object constant(JsonNode constant) {
    throw new IllegalArgumentException("no constants of this type");
  }

  /**
   * Reads a value into {@link #value}.
   *
   * @param depth the number of objects and arrays around the value
   * @return the position after the value
   */
  final int read(byte[] text, int at, int end, int depth) {
    if (at >= end) {
      throw Left.LEFT;
    }
    if (text[at] == 'n') {
      value = ofNull();
      return Json.afterValue(text, at, end, depth);
    }
    int after = readValue(text, at, end, depth);
    if (mask != null) {
      value = mask;
    }
    return after;
  }

  /** Reads a value as {@link #read} does, and writes it to a column of a row. */
  final int write(byte[] text, int at, int end, int depth, UnsafeRowWriter row, int column) {
    if (at >= end) {
      throw Left.LEFT;
    }
    if (text[at] != 'n' && mask == null) {
      return writeValue(text, at, end, depth, row, column);
    }
    int after = read(text, at, end, depth);
    UnsafeRowReader.put(row, column, value);
    return after;
  }

  /** Returns the value that represents a null, or a missing field. */
  final Object ofNull() {
    if (!takesNull) {
      throw Left.LEFT;
    }
    return ifNull;
  }
}
