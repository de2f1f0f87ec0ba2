import com.fasterxml.jackson.databind.ObjectMapper;
import dagstersmt.Columns;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.unsafe.types.UTF8String;

/** Reads texts into rows by programs, without Spark, and prints the rows as JSON, a line each: see columns_harness.py. */
public class ColumnsHarness {
  public static void main(String[] arguments) throws IOException {
    DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
    ObjectMapper json = new ObjectMapper();
    while (true) {
      byte[] program = bytes(in);
      if (program == null) {
        return;
      }
      UTF8String text = UTF8String.fromBytes(program);
      String[] types = json.readValue(bytes(in), String[].class);
      int count = in.readInt();
      for (int i = 0; i < count; i++) {
        InternalRow result = Columns.invoke(bytes(in), text, null);
        List<Object> line = new ArrayList<>();
        line.add(result.getByte(0));
        Object row = ((GenericInternalRow) result).genericGet(1);
        line.add(row instanceof UnsafeRow ? list(values((UnsafeRow) row, types)) : plain(row));
        System.out.println(json.writeValueAsString(line));
      }
      System.out.flush();
    }
  }

  /** The values of a row in Spark's own format. */
  private static Object[] values(UnsafeRow row, String[] types) {
    Object[] values = new Object[types.length];
    for (int at = 0; at < types.length; at++) {
      values[at] = row.isNullAt(at) ? null : value(row, at, types[at]);
    }
    return values;
  }

  private static Object value(UnsafeRow row, int at, String type) {
    switch (type) {
      case "string":
        return row.getUTF8String(at);
      case "binary":
        return row.getBinary(at);
      case "boolean":
        return row.getBoolean(at);
      case "tinyint":
        return row.getByte(at);
      case "smallint":
        return row.getShort(at);
      case "int":
        return row.getInt(at);
      case "bigint":
        return row.getLong(at);
      case "float":
        return row.getFloat(at);
      case "double":
        return row.getDouble(at);
      default:
        throw new IllegalArgumentException(type);
    }
  }

  /** A value as JSON tells it from all others of its type. */
  private static Object plain(Object value) {
    if (value instanceof GenericInternalRow) {
      return list(((GenericInternalRow) value).values());
    }
    if (value instanceof GenericArrayData) {
      return list(((GenericArrayData) value).array());
    }
    if (value instanceof MapData) {
      return List.of(plain(((MapData) value).keyArray()), plain(((MapData) value).valueArray()));
    }
    if (value instanceof byte[]) {
      return Base64.getEncoder().encodeToString((byte[]) value);
    }
    if (value instanceof Float) {
      return "float " + Integer.toHexString(Float.floatToRawIntBits((float) value));
    }
    if (value instanceof Double) {
      return "double " + Long.toHexString(Double.doubleToRawLongBits((double) value));
    }
    boolean isText = value instanceof UTF8String || value instanceof org.apache.spark.sql.types.Decimal;
    return isText ? value.toString() : value;
  }

  private static List<Object> list(Object[] values) {
    List<Object> list = new ArrayList<>();
    for (Object value : values) {
      list.add(plain(value));
    }
    return list;
  }

  private static byte[] bytes(DataInputStream in) throws IOException {
    byte[] size = in.readNBytes(4);
    int length = size.length < 4 ? -1 : ByteBuffer.wrap(size).getInt();
    return length < 0 ? null : in.readNBytes(length);
  }
}
