package dagstersmt;

import java.util.function.Function;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The catalog in which Spark finds the functions of the lane. {@code spark.sql.catalog.dagster_smt} names this class.
 */
public final class Functions implements FunctionCatalog {
  private String name;

  @Override
  public void initialize(String catalog, CaseInsensitiveStringMap options) {
    name = catalog;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Identifier[] listFunctions(String[] namespace) {
    return new Identifier[] {
      identifier("columns"), identifier("connect_records"), identifier("envelope_schema"),
      identifier("foreign_records"), identifier("headers_size"), identifier("record_counts"), identifier("records"),
      identifier("relabel"), identifier("version")
    };
  }

  private static Identifier identifier(String function) {
    return Identifier.of(new String[0], function);
  }

  @Override
  public UnboundFunction loadFunction(Identifier function) {
    switch (function.name()) {
      case "columns":
        return unbound("columns", arguments -> new Columns(arguments.fields()[2].dataType()));
      case "connect_records":
        return unbound("connect_records", arguments -> new ConnectRecords());
      case "envelope_schema":
        return unbound("envelope_schema", arguments -> new EnvelopeSchema());
      case "foreign_records":
        return unbound("foreign_records", arguments -> new ForeignRecords());
      case "headers_size":
        return unbound("headers_size", arguments -> new HeadersSize());
      case "record_counts":
        return unbound("record_counts", arguments -> new RecordCounts());
      case "records":
        return unbound("records", arguments -> new Records());
      case "relabel":
        return unbound("relabel", Relabel::new);
      case "version":
        return unbound("version", arguments -> new Version());
      default:
        throw new IllegalArgumentException("no function " + function.name());
    }
  }

  private static UnboundFunction unbound(String name, Function<StructType, BoundFunction> binder) {
    return new UnboundFunction() {
      @Override
      public BoundFunction bind(StructType arguments) {
        return binder.apply(arguments);
      }

      @Override
      public String description() {
        return name + " of dagster_smt";
      }

      @Override
      public String name() {
        return name;
      }
    };
  }
}
