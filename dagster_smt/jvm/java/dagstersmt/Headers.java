package dagstersmt;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** The headers of a record, in their order. */
final class Headers {
  private final List<UTF8String> names = new ArrayList<>();
  private final List<byte[]> values = new ArrayList<>();

  /** Returns the type of Spark's column {@code headers}. */
  static ArrayType type() {
    return DataTypes.createArrayType(
        new StructType().add("key", DataTypes.StringType).add("value", DataTypes.BinaryType));
  }

  /** Reads the headers from Spark's column. Null means no headers. */
  void read(ArrayData headers) {
    names.clear();
    values.clear();
    for (int i = 0; headers != null && i < headers.numElements(); i++) {
      InternalRow header = headers.isNullAt(i) ? null : headers.getStruct(i, 2);
      if (header == null || header.isNullAt(0)) {
        throw Left.LEFT;
      }
      add(header.getUTF8String(0), header.isNullAt(1) ? null : header.getBinary(1));
    }
  }

  void add(UTF8String name, byte[] value) {
    names.add(name);
    values.add(value);
  }

  boolean has(UTF8String name) {
    return names.contains(name);
  }

  /** Returns the position of the last header with a name; -1 if there is none. */
  int last(UTF8String name) {
    return names.lastIndexOf(name);
  }

  byte[] value(int at) {
    return values.get(at);
  }

  /** Drops all headers with a name. */
  void drop(UTF8String name) {
    for (int i = names.size() - 1; i >= 0; i--) {
      if (names.get(i).equals(name)) {
        names.remove(i);
        values.remove(i);
      }
    }
  }

  /** Drops all headers whose name is not in the list. Returns true if there were any. */
  boolean keep(List<UTF8String> kept) {
    boolean drops = false;
    for (int i = names.size() - 1; i >= 0; i--) {
      if (!kept.contains(names.get(i))) {
        names.remove(i);
        values.remove(i);
        drops = true;
      }
    }
    return drops;
  }

  ArrayData write() {
    Object[] all = new Object[names.size()];
    for (int i = 0; i < all.length; i++) {
      all[i] = new GenericInternalRow(new Object[] {names.get(i), values.get(i)});
    }
    return new GenericArrayData(all);
  }
}
