package dagstersmt.cache;

import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.columnar.CachedBatch;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.Platform;

/**
 * Reads the selected columns of packed rows. The iterator returns the same row object each time, as Spark's operators
 * do.
 */
final class RowUnpacker implements Iterator<InternalRow> {
  /** The initial number of bytes for values of variable length. The buffer grows if rows need more. */
  private static final int ROOM = 1024;

  private final Iterator<CachedBatch> batches;
  private final UnsafeRow packed;

  /** For each selected column, its position in the packed row. */
  private final int[] places;

  /** For each selected column, true if its value lies in the eight bytes of the column itself. */
  private final boolean[] isFixed;

  /** Writes the selected columns; null if all columns are selected in their order. */
  private final UnsafeRowWriter writer;

  private PackedRows batch = new PackedRows(new byte[0], new int[0]);
  private int number;
  private int start;

  RowUnpacker(Iterator<CachedBatch> batches, DataType[] types, int[] places) {
    this.batches = batches;
    this.places = places;
    packed = new UnsafeRow(types.length);
    isFixed = new boolean[places.length];
    boolean isWhole = places.length == types.length;
    for (int i = 0; i < places.length; i++) {
      isFixed[i] = UnsafeRow.isFixedLength(types[places[i]]);
      isWhole = isWhole && places[i] == i;
    }
    writer = isWhole ? null : new UnsafeRowWriter(places.length, ROOM);
  }

  @Override
  public boolean hasNext() {
    while (number == batch.ends.length && batches.hasNext()) {
      batch = (PackedRows) batches.next();
      number = 0;
      start = 0;
    }
    return number < batch.ends.length;
  }

  @Override
  public InternalRow next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    int end = batch.ends[number++];
    packed.pointTo(batch.bytes, Platform.BYTE_ARRAY_OFFSET + (long) start, end - start);
    InternalRow row = writer == null ? packed : selected();
    start = end;
    return row;
  }

  /** Copies the selected columns. A value of variable length has only relative positions, so its bytes are copied. */
  private UnsafeRow selected() {
    writer.reset();
    writer.zeroOutNullBytes();
    for (int i = 0; i < places.length; i++) {
      int place = places[i];
      if (packed.isNullAt(place)) {
        writer.setNullAt(i);
      } else if (isFixed[i]) {
        writer.write(i, packed.getLong(place));
      } else {
        // the upper half is the position in the row, the lower half the number of bytes
        long region = packed.getLong(place);
        writer.write(i, batch.bytes, start + (int) (region >> 32), (int) region);
      }
    }
    return writer.getRow();
  }
}
