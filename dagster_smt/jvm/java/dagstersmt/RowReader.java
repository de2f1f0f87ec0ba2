package dagstersmt;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;

/**
 * Reads JSON texts of one schema into rows: a column for each field, and behind them two for each call of a rule: its
 * result, and a null where Python would name an exception.
 *
 * <p>Not for several threads: each has its own.
 */
final class RowReader {
  private static final class Call {
    final int field;
    final ColumnRule rule;

    Call(JsonNode call) {
      field = call.get("field").asInt();
      rule = ColumnRule.of(call.get("rule"));
    }
  }

  private final StructReader struct;
  private final List<Call> calls = new ArrayList<>();

  RowReader(String program) {
    try {
      JsonNode parsed = new ObjectMapper().readTree(program);
      struct = new StructReader(parsed.get("row"));
      parsed.get("calls").forEach(call -> calls.add(new Call(call)));
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException(e);
    }
  }

  /**
   * Reads a text.
   *
   * @throws Left the text is not plain, or does not fit the schema
   */
  InternalRow read(byte[] text) {
    int width = struct.width();
    Object[] row = new Object[width + 2 * calls.size()];
    int start = Json.afterBlanks(text, 0, text.length);
    int end = struct.readFields(text, start, text.length, 1, row);
    if (Json.afterBlanks(text, end, text.length) != text.length) {
      throw Left.LEFT;
    }
    for (int number = 0; number < calls.size(); number++) {
      Call call = calls.get(number);
      Object argument = row[call.field];
      row[width + 2 * number] = argument == null ? null : call.rule.apply(argument);
    }
    return new GenericInternalRow(row);
  }
}
