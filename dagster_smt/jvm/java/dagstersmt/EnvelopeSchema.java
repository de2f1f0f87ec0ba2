package dagstersmt;

import java.util.Arrays;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * The function {@code envelope_schema}, which returns the text of the schema in an envelope of Connect's JSON
 * converter. If only Python can find the schema, the result is empty. If the envelope is null, the result is null.
 *
 * <p>Arguments: the envelope, and the maximum number of bytes of its schema.
 */
public final class EnvelopeSchema implements ScalarFunction<byte[]> {
  private static final long serialVersionUID = 1L;
  private static final ThreadLocal<Envelope> ENVELOPES = ThreadLocal.withInitial(Envelope::new);

  @Override
  public String name() {
    return "envelope_schema";
  }

  @Override
  public String canonicalName() {
    return "dagstersmt.envelope_schema";
  }

  @Override
  public DataType[] inputTypes() {
    return new DataType[] {DataTypes.BinaryType, DataTypes.IntegerType};
  }

  @Override
  public DataType resultType() {
    return DataTypes.BinaryType;
  }

  /** Runs the function. Spark finds this "magic method" by its name. */
  public static byte[] invoke(byte[] text, int most) {
    if (text == null) {
      return null;
    }
    Envelope envelope = ENVELOPES.get();
    try {
      envelope.find(text);
    } catch (RuntimeException | StackOverflowError e) {
      return new byte[0];
    }
    boolean isLong = envelope.schemaEnd - envelope.schemaStart > most;
    return isLong ? new byte[0] : Arrays.copyOfRange(text, envelope.schemaStart, envelope.schemaEnd);
  }
}
