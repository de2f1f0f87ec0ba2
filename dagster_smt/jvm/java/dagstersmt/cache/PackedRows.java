package dagstersmt.cache;

import java.io.Serializable;
import org.apache.spark.sql.columnar.CachedBatch;

/** Rows in Spark's own row format, one after the other in an array. */
final class PackedRows implements CachedBatch, Serializable {
  private static final long serialVersionUID = 1L;

  final byte[] bytes;

  /** For each row, the position in {@link #bytes} after it. */
  final int[] ends;

  PackedRows(byte[] bytes, int[] ends) {
    this.bytes = bytes;
    this.ends = ends;
  }

  @Override
  public int numRows() {
    return ends.length;
  }

  @Override
  public long sizeInBytes() {
    return bytes.length + (long) Integer.BYTES * ends.length;
  }
}
