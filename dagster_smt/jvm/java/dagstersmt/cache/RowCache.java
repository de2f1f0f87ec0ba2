package dagstersmt.cache;

import java.io.Serializable;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.columnar.CachedBatch;
import org.apache.spark.sql.columnar.CachedBatchSerializer;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.storage.StorageLevel;
import scala.Function2;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * Keeps the rows of cached frames as rows. {@code spark.sql.cache.serializer} names this class.
 *
 * <p>A run caches a window, reads it a few times as a whole, and releases it. Spark's own serializer stores each column
 * separately, for queries that read a few columns many times: it takes every row apart, computes the minimum and
 * maximum of each column, and puts the rows together again for each read. This serializer copies the bytes of whole
 * rows instead.
 *
 * <p>Spark 3.5 is built with Scala 2.12, and Spark 4 with Scala 2.13. The interface's {@code Seq} is a different type in
 * each of them, so each method with such a parameter exists twice. The methods with {@code scala.collection.Seq}
 * implement the interface of Spark 3.5. None of them says {@code @Override}, because the class has to compile against
 * either version, and each version lacks one of the two.
 */
public final class RowCache implements CachedBatchSerializer {
  private static final long serialVersionUID = 1L;

  public boolean supportsColumnarInput(scala.collection.immutable.Seq<Attribute> columns) {
    return false;
  }

  /** Implements the method above for Spark 3.5. */
  public boolean supportsColumnarInput(Seq<Attribute> columns) {
    return false;
  }

  @Override
  public boolean supportsColumnarOutput(StructType columns) {
    return false;
  }

  public RDD<CachedBatch> convertInternalRowToCachedBatch(
      RDD<InternalRow> rows, scala.collection.immutable.Seq<Attribute> columns, StorageLevel level, SQLConf settings) {
    return packed(rows, columns);
  }

  /** Implements the method above for Spark 3.5. */
  public RDD<CachedBatch> convertInternalRowToCachedBatch(
      RDD<InternalRow> rows, Seq<Attribute> columns, StorageLevel level, SQLConf settings) {
    return packed(rows, columns);
  }

  private static RDD<CachedBatch> packed(RDD<InternalRow> rows, Seq<Attribute> columns) {
    DataType[] types = types(columns);
    return rows.toJavaRDD().mapPartitions(partition -> (java.util.Iterator<CachedBatch>) new RowPacker(partition, types))
        .rdd();
  }

  public RDD<InternalRow> convertCachedBatchToInternalRow(
      RDD<CachedBatch> batches,
      scala.collection.immutable.Seq<Attribute> columns,
      scala.collection.immutable.Seq<Attribute> selected,
      SQLConf settings) {
    return unpacked(batches, columns, selected);
  }

  /** Implements the method above for Spark 3.5. */
  public RDD<InternalRow> convertCachedBatchToInternalRow(
      RDD<CachedBatch> batches, Seq<Attribute> columns, Seq<Attribute> selected, SQLConf settings) {
    return unpacked(batches, columns, selected);
  }

  private static RDD<InternalRow> unpacked(
      RDD<CachedBatch> batches, Seq<Attribute> columns, Seq<Attribute> selected) {
    DataType[] types = types(columns);
    int[] places = places(columns, selected);
    return batches.toJavaRDD()
        .mapPartitions(partition -> (java.util.Iterator<InternalRow>) new RowUnpacker(partition, types, places)).rdd();
  }

  /** Returns a function that skips no batch, because this cache keeps no statistics of columns. */
  public Function2<Object, Iterator<CachedBatch>, Iterator<CachedBatch>> buildFilter(
      scala.collection.immutable.Seq<Expression> conditions, scala.collection.immutable.Seq<Attribute> columns) {
    return everyBatch();
  }

  /** Implements the method above for Spark 3.5. */
  public Function2<Object, Iterator<CachedBatch>, Iterator<CachedBatch>> buildFilter(
      Seq<Expression> conditions, Seq<Attribute> columns) {
    return everyBatch();
  }

  private static Function2<Object, Iterator<CachedBatch>, Iterator<CachedBatch>> everyBatch() {
    return (Function2<Object, Iterator<CachedBatch>, Iterator<CachedBatch>> & Serializable)
        (partition, batches) -> batches;
  }

  public RDD<CachedBatch> convertColumnarBatchToCachedBatch(
      RDD<ColumnarBatch> batches,
      scala.collection.immutable.Seq<Attribute> columns,
      StorageLevel level,
      SQLConf settings) {
    throw noColumns();
  }

  /** Implements the method above for Spark 3.5. */
  public RDD<CachedBatch> convertColumnarBatchToCachedBatch(
      RDD<ColumnarBatch> batches, Seq<Attribute> columns, StorageLevel level, SQLConf settings) {
    throw noColumns();
  }

  public RDD<ColumnarBatch> convertCachedBatchToColumnarBatch(
      RDD<CachedBatch> batches,
      scala.collection.immutable.Seq<Attribute> columns,
      scala.collection.immutable.Seq<Attribute> selected,
      SQLConf settings) {
    throw noColumns();
  }

  /** Implements the method above for Spark 3.5. */
  public RDD<ColumnarBatch> convertCachedBatchToColumnarBatch(
      RDD<CachedBatch> batches, Seq<Attribute> columns, Seq<Attribute> selected, SQLConf settings) {
    throw noColumns();
  }

  /** Returns the error of methods that Spark never calls, because {@code supportsColumnar…} return false. */
  private static UnsupportedOperationException noColumns() {
    return new UnsupportedOperationException("this cache keeps rows, not columns");
  }

  private static DataType[] types(Seq<Attribute> columns) {
    DataType[] types = new DataType[columns.length()];
    for (int i = 0; i < types.length; i++) {
      types[i] = columns.apply(i).dataType();
    }
    return types;
  }

  /** Returns the positions of the selected columns among the cached ones. */
  private static int[] places(Seq<Attribute> columns, Seq<Attribute> selected) {
    int[] places = new int[selected.length()];
    for (int i = 0; i < places.length; i++) {
      places[i] = place(columns, selected.apply(i).exprId());
    }
    return places;
  }

  private static int place(Seq<Attribute> columns, ExprId id) {
    for (int i = 0; i < columns.length(); i++) {
      if (columns.apply(i).exprId().equals(id)) {
        return i;
      }
    }
    throw new IllegalArgumentException("the cache has no such column");
  }
}
