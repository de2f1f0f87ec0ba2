package dagstersmt;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * The function {@code headers_size}, which returns the number of bytes that the headers of a record take in a batch of
 * Kafka, without their count ({@code DefaultRecord}). The result for null is 0.
 *
 * <p>Spark compiles no expression with a lambda over an array, nor anything beside such an expression. Spark compiles a
 * call of this function.
 */
public final class HeadersSize implements ScalarFunction<Long> {
  private static final long serialVersionUID = 1L;

  /** The size of the length of a missing value, which is -1. */
  private static final int MISSING = 1;

  @Override
  public String name() {
    return "headers_size";
  }

  @Override
  public String canonicalName() {
    return "dagstersmt.headers_size";
  }

  @Override
  public DataType[] inputTypes() {
    return new DataType[] {Headers.type()};
  }

  @Override
  public DataType resultType() {
    return DataTypes.LongType;
  }

  @Override
  public boolean isResultNullable() {
    return false;
  }

  /** Runs the function. Spark finds this "magic method" by its name. */
  public static long invoke(ArrayData headers) {
    if (headers == null) {
      return 0;
    }
    long size = 0;
    for (int at = 0; at < headers.numElements(); at++) {
      InternalRow header = headers.getStruct(at, 2);
      size += header.isNullAt(0) ? MISSING : part(header.getUTF8String(0).numBytes());
      size += header.isNullAt(1) ? MISSING : part(header.getBinary(1).length);
    }
    return size;
  }

  /** Returns the size of a part of a record: its length as a signed varint, and its bytes. */
  private static long part(int length) {
    long varint = 1;
    // a signed varint has 7 bits in a byte, and holds twice the number (zigzag)
    for (long rest = 2L * length >>> 7; rest != 0; rest >>>= 7) {
      varint++;
    }
    return varint + length;
  }
}
