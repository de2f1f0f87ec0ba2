package dagstersmt;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.connector.catalog.functions.AggregateFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The aggregate function {@code record_counts}, which counts records by outcome, and by the ledger entries that they
 * touched.
 *
 * <p>Arguments: the columns {@code __status}, {@code __stage} and {@code __touched} of an evaluated record. A single
 * aggregate replaces an aggregate for each stage and entry, because these would cost more time per record than a stage.
 *
 * <p>The state consists of arrays, because Spark reads it with a class loader that does not know the classes of jars.
 */
public final class RecordCounts implements AggregateFunction<long[][], InternalRow> {
  private static final long serialVersionUID = 1L;

  /**
   * The stage number of records without a stage. The stages of converters have lower numbers: see
   * {@code dagster_smt.interpret.interpreter}.
   */
  private static final int NO_STAGE = -1;

  private static final byte FAILED_RECORD = 2;

  /** The positions of the lists of counts in the state. A list ends with its last count above zero. */
  private static final int CONVERTERS = 0;

  private static final int DROPPED = 1;
  private static final int FAILED = 2;
  private static final int TOUCHED = 3;

  /** Positions in the list of converters: the records that they dropped, and those that they rejected. */
  private static final int EMPTY = 0;

  private static final int REFUSED = 1;

  @Override
  public String name() {
    return "record_counts";
  }

  @Override
  public String canonicalName() {
    return "dagstersmt.record_counts";
  }

  @Override
  public DataType[] inputTypes() {
    return new DataType[] {DataTypes.ByteType, DataTypes.IntegerType, DataTypes.createArrayType(DataTypes.LongType)};
  }

  @Override
  public DataType resultType() {
    DataType counts = DataTypes.createArrayType(DataTypes.LongType, false);
    return new StructType()
        .add("empty", DataTypes.LongType, false)
        .add("converters", DataTypes.LongType, false)
        .add("dropped", counts, false)
        .add("failed", counts, false)
        .add("touched", counts, false);
  }

  @Override
  public boolean isResultNullable() {
    return false;
  }

  @Override
  public long[][] newAggregationState() {
    return new long[][] {{0, 0}, {}, {}, {}};
  }

  @Override
  public long[][] update(long[][] counts, InternalRow record) {
    byte status = record.isNullAt(0) ? Program.KEPT : record.getByte(0);
    if (status == Program.DROPPED) {
      addOutcome(counts, DROPPED, EMPTY, record.getInt(1));
    } else if (status == FAILED_RECORD) {
      addOutcome(counts, FAILED, REFUSED, record.getInt(1));
    }
    if (!record.isNullAt(2)) {
      addTouched(counts, record.getArray(2));
    }
    return counts;
  }

  private static void addOutcome(long[][] counts, int ofStages, int ofConverters, int stage) {
    if (stage > NO_STAGE) {
      add(counts, ofStages, stage, 1);
    } else if (stage < NO_STAGE) {
      counts[CONVERTERS][ofConverters]++;
    }
  }

  private static void addTouched(long[][] counts, ArrayData words) {
    for (int at = 0; at < words.numElements(); at++) {
      // bits & (bits - 1) clears the lowest set bit
      for (long bits = words.getLong(at); bits != 0; bits &= bits - 1) {
        add(counts, TOUCHED, at * Touched.BITS + Long.numberOfTrailingZeros(bits), 1);
      }
    }
  }

  private static void add(long[][] counts, int list, int at, long more) {
    if (at >= counts[list].length) {
      counts[list] = Arrays.copyOf(counts[list], at + 1);
    }
    counts[list][at] += more;
  }

  @Override
  public long[][] merge(long[][] counts, long[][] others) {
    for (int list = 0; list < others.length; list++) {
      for (int at = 0; at < others[list].length; at++) {
        add(counts, list, at, others[list][at]);
      }
    }
    return counts;
  }

  @Override
  public InternalRow produceResult(long[][] counts) {
    long[] converters = counts[CONVERTERS];
    return new GenericInternalRow(
        new Object[] {
          converters[EMPTY],
          converters[REFUSED],
          UnsafeArrayData.fromPrimitiveArray(counts[DROPPED]),
          UnsafeArrayData.fromPrimitiveArray(counts[FAILED]),
          UnsafeArrayData.fromPrimitiveArray(counts[TOUCHED])
        });
  }
}
