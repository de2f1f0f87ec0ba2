package dagstersmt;

import java.util.Arrays;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * The function {@code envelope_schema}: the text of the schema in an envelope of Connect's JSON converter; of no bytes
 * if Python has to look for it, null for null.
 *
 * <p>Arguments: the envelope, and how many bytes its schema may have.
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

  /** Spark's "magic method". */
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
