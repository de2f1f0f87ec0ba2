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
 * Reads JSON texts of one schema into rows. A row has a column for each field, followed by two columns for each rule
 * call. The first contains the result. The second is null, where Python would name an exception.
 *
 * <p>Not safe for several threads: each thread has its own object.
 */
final class RowReader {
  /** The number of consecutive rows with a different field order after which the fast reader is no longer tried. */
  private static final int TRIES = 100;

  private static final class Call {
    final int field;
    final ColumnRule rule;

    Call(JsonNode call) {
      field = call.get("field").asInt();
      rule = ColumnRule.of(call.get("rule"));
    }
  }

  private final StructReader struct;

  /** The schema of the envelopes; null if the texts are the payload itself. */
  private final byte[] schema;

  private final Envelope envelope = new Envelope();
  private final List<Call> calls = new ArrayList<>();

  /** Reads into Spark's own row format; null for schemas that this reader does not support. */
  private final UnsafeRowReader unsafe;

  /** The number of consecutive rows whose fields had an order different from the schema's. */
  private int uneven;

  RowReader(String program) {
    try {
      JsonNode parsed = new ObjectMapper().readTree(program);
      struct = new StructReader(parsed.get("row"));
      JsonNode text = parsed.get("envelope");
      schema = text == null ? null : text.asText().getBytes(StandardCharsets.UTF_8);
      parsed.get("calls").forEach(call -> calls.add(new Call(call)));
      unsafe = UnsafeRowReader.canRead(struct) ? new UnsafeRowReader(struct, 2 * calls.size(), arguments()) : null;
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException(e);
    }
  }

  /**
   * Reads a text into a row. For an empty text, the result is null, unless the texts are envelopes.
   *
   * @throws Left the text is not plain, or does not fit the schema
   */
  InternalRow read(byte[] text) {
    if (text.length == 0 && schema == null) {
      return null;
    }
    int width = struct.width();
    if (unsafe != null && uneven < TRIES) {
      try {
        InternalRow row = readUnsafe(text, width);
        uneven = 0;
        return row;
      } catch (Uneven e) {
        uneven++;
      }
    }
    Object[] row = new Object[width + 2 * calls.size()];
    checkEnd(text, struct.readFields(text, start(text), text.length, depth(), row));
    for (int number = 0; number < calls.size(); number++) {
      row[width + 2 * number] = result(calls.get(number), row);
    }
    return new GenericInternalRow(row);
  }

  private InternalRow readUnsafe(byte[] text, int width) {
    Object[] arguments = calls.isEmpty() ? null : new Object[width];
    checkEnd(text, unsafe.readFields(text, start(text), text.length, depth(), arguments));
    for (int number = 0; number < calls.size(); number++) {
      unsafe.put(width + 2 * number, result(calls.get(number), arguments));
      unsafe.put(width + 2 * number + 1, null);
    }
    return unsafe.row();
  }

  private static Object result(Call call, Object[] fields) {
    Object argument = fields[call.field];
    return argument == null ? null : call.rule.apply(argument);
  }

  private boolean[] arguments() {
    boolean[] isArgument = new boolean[struct.width()];
    calls.forEach(call -> isArgument[call.field] = true);
    return isArgument;
  }

  /** Returns the position of the payload. */
  private int start(byte[] text) {
    return schema == null ? Json.afterBlanks(text, 0, text.length) : payloadStart(text);
  }

  /** Returns the number of objects and arrays from the outermost to the payload, including the payload. */
  private int depth() {
    return schema == null ? 1 : 2;
  }

  /**
   * Checks the end of a text. In an envelope, the text after the payload has already been checked when the payload was
   * found.
   */
  private void checkEnd(byte[] text, int end) {
    if (schema == null && Json.afterBlanks(text, end, text.length) != text.length) {
      throw Left.LEFT;
    }
  }

  private int payloadStart(byte[] text) {
    envelope.find(text);
    if (!Arrays.equals(text, envelope.schemaStart, envelope.schemaEnd, schema, 0, schema.length)) {
      throw Left.LEFT;
    }
    return envelope.payloadStart;
  }
}
