package dagstersmt;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.util.ArrayData;

/** The ledger entries that a record has touched. */
final class Touched {
  /** The number of entries in one word, as in the column {@code __touched}. */
  static final int BITS = 62;

  private long[] words = new long[1];

  /** Sets the number of entries. */
  void resize(int entries) {
    words = new long[Math.max(1, (entries + BITS - 1) / BITS)];
  }

  void clear() {
    Arrays.fill(words, 0);
  }

  void add(int entry) {
    words[entry / BITS] |= 1L << entry % BITS;
  }

  void addAll(Touched other) {
    for (int i = 0; i < words.length; i++) {
      words[i] |= other.words[i];
    }
  }

  long firstWord() {
    return words[0];
  }

  /** Returns all words if there are several; null if the first word is the only one. */
  ArrayData words() {
    return words.length == 1 ? null : UnsafeArrayData.fromPrimitiveArray(words);
  }
}
