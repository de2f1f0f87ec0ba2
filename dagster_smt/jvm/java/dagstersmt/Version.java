package dagstersmt;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The function {@code version}, which returns the version of the sources from which the jar was built. With this
 * function, a run checks that the jar matches its code.
 */
public final class Version implements ScalarFunction<UTF8String> {
  private static final long serialVersionUID = 1L;

  @Override
  public String name() {
    return "version";
  }

  @Override
  public String canonicalName() {
    return "dagstersmt.version";
  }

  @Override
  public DataType[] inputTypes() {
    return new DataType[0];
  }

  @Override
  public DataType resultType() {
    return DataTypes.StringType;
  }

  /** Runs the function. Spark finds this "magic method" by its name. */
  public static UTF8String invoke() {
    try (InputStream version = Version.class.getResourceAsStream("version")) {
      return version == null
          ? UTF8String.fromString("")
          : UTF8String.fromString(new String(version.readAllBytes(), StandardCharsets.UTF_8));
    } catch (IOException e) {
      return UTF8String.fromString("");
    }
  }
}
