package dagstersmt;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
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

  /** The schema of the envelopes that the texts are; null for texts that are the payload. */
  private final byte[] schema;

  private final Envelope envelope = new Envelope();
  private final List<Call> calls = new ArrayList<>();

  RowReader(String program) {
    try {
      JsonNode parsed = new ObjectMapper().readTree(program);
      struct = new StructReader(parsed.get("row"));
      JsonNode text = parsed.get("envelope");
      schema = text == null ? null : text.asText().getBytes(StandardCharsets.UTF_8);
      parsed.get("calls").forEach(call -> calls.add(new Call(call)));
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException(e);
    }
  }

  /**
   * Reads a text; of no bytes at all it is null, unless it should be an envelope.
   *
   * @throws Left the text is not plain, or does not fit the schema
   */
  InternalRow read(byte[] text) {
    if (text.length == 0 && schema == null) {
      return null;
    }
    int width = struct.width();
    Object[] row = new Object[width + 2 * calls.size()];
    if (schema == null) {
      readText(text, row);
    } else {
      readEnvelope(text, row);
    }
    for (int number = 0; number < calls.size(); number++) {
      Call call = calls.get(number);
      Object argument = row[call.field];
      row[width + 2 * number] = argument == null ? null : call.rule.apply(argument);
    }
    return new GenericInternalRow(row);
  }

  private void readText(byte[] text, Object[] row) {
    int start = Json.afterBlanks(text, 0, text.length);
    int end = struct.readFields(text, start, text.length, 1, row);
    if (Json.afterBlanks(text, end, text.length) != text.length) {
      throw Left.LEFT;
    }
  }

  private void readEnvelope(byte[] text, Object[] row) {
    envelope.find(text);
    if (!Arrays.equals(text, envelope.schemaStart, envelope.schemaEnd, schema, 0, schema.length)) {
      throw Left.LEFT;
    }
    struct.readFields(text, envelope.payloadStart, text.length, 2, row);
  }
}
