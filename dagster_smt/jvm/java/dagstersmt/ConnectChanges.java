package dagstersmt;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.zip.CRC32;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The changes that Kafka's own stages made to a record. They consist of the bits of the ledger, and of a text or the
 * marker of the text, as in {@code change_texts.py}.
 */
final class ConnectChanges {
  static final UTF8String NONE = UTF8String.fromString("");
  final GenericArrayData words;
  private final UTF8String text;
  private final UTF8String mark;
  private long task = Long.MIN_VALUE;
  private long partition;
  private long offset;

  /**
   * Reads changes. Each change consists of a stage, an action, a side (key or value) and a path.
   *
   * @param bits for each stage, the number of its bit in the ledger; -1 if it has none
   * @param count the number of words that the bits need
   */
  ConnectChanges(List<?> changes, int[] bits, int bitsOfWord, int count) {
    long[] numbers = new long[count];
    StringBuilder lines = new StringBuilder();
    for (Object change : changes) {
      Object[] parts = (Object[]) change;
      int bit = bits[(Integer) parts[0]];
      if (bit >= 0 && count > 0) {
        numbers[bit / bitsOfWord] |= 1L << bit % bitsOfWord;
      }
      // the text must equal that of Python's json.dumps, so that both have the same marker
      lines.append(lines.length() == 0 ? "[" : "\n[").append(parts[0]);
      for (int n = 1; n < parts.length; n++) {
        quote(lines.append(", "), (String) parts[n]);
      }
      lines.append(']');
    }
    words = new GenericArrayData(numbers);
    text = UTF8String.fromString(lines.toString());
    mark = changes.isEmpty() ? NONE : mark(lines.toString());
  }

  /**
   * Returns the whole text for the first record of a task, and the marker of the text for all other records. Spark may
   * call a function several times for one record. In that case, the first record gets the whole text each time.
   */
  UTF8String text(long ofTask, long ofPartition, long ofOffset) {
    if (ofTask != task) {
      task = ofTask;
      partition = ofPartition;
      offset = ofOffset;
    }
    return ofPartition == partition && ofOffset == offset ? text : mark;
  }

  private static UTF8String mark(String text) {
    CRC32 sum = new CRC32();
    sum.update(text.getBytes(StandardCharsets.UTF_8));
    return UTF8String.fromString(
        // Python's len counts code points, not UTF-16 units
        String.format("#%08x%x", sum.getValue(), text.codePointCount(0, text.length())));
  }

  /** Writes a JSON string in which every character outside ASCII is escaped. */
  private static void quote(StringBuilder out, String text) {
    out.append('"');
    for (int n = 0; n < text.length(); n++) {
      char c = text.charAt(n);
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c < ' ' || c > '~') {
        out.append(String.format("\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    out.append('"');
  }
}
