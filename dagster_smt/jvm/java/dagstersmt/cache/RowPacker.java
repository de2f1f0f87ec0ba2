package dagstersmt.cache;

import java.util.Arrays;
import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.columnar.CachedBatch;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.Platform;

/** Packs the rows of a partition into batches of about a megabyte. */
final class RowPacker implements Iterator<CachedBatch> {
  /** The number of bytes after which a batch ends. A batch also has at least one row, of any size. */
  private static final int BYTES = 1 << 20;

  private static final int ROWS = 10_000;

  private final Iterator<InternalRow> rows;
  private final DataType[] types;
  private UnsafeProjection projection;

  /** The row that did not fit into the batch before. The source of the rows may reuse the object, but not yet. */
  private UnsafeRow next;

  private byte[] bytes = new byte[BYTES];
  private final int[] ends = new int[ROWS];

  RowPacker(Iterator<InternalRow> rows, DataType[] types) {
    this.rows = rows;
    this.types = types;
  }

  @Override
  public boolean hasNext() {
    return next != null || rows.hasNext();
  }

  @Override
  public CachedBatch next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    int length = 0;
    int count = 0;
    while (count < ROWS && hasNext()) {
      if (next == null) {
        next = unsafe(rows.next());
      }
      int size = next.getSizeInBytes();
      if (size > bytes.length - length) {
        if (count > 0) {
          break;
        }
        bytes = new byte[size];
      }
      next.writeToMemory(bytes, Platform.BYTE_ARRAY_OFFSET + (long) length);
      next = null;
      length += size;
      ends[count++] = length;
    }
    CachedBatch batch = new PackedRows(Arrays.copyOf(bytes, length), Arrays.copyOf(ends, count));
    // a single large row must not keep this much memory
    if (bytes.length > BYTES) {
      bytes = new byte[BYTES];
    }
    return batch;
  }

  private UnsafeRow unsafe(InternalRow row) {
    if (row instanceof UnsafeRow) {
      return (UnsafeRow) row;
    }
    if (projection == null) {
      projection = UnsafeProjection.create(types);
    }
    return projection.apply(row);
  }
}
