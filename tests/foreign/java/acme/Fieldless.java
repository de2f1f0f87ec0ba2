package acme;

import java.util.List;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;

/** Makes headers of the value whose schemas do not say its fields, as Debezium's ExtractNewRecordState does. */
public class Fieldless<R extends ConnectRecord<R>> extends Base<R> {
    @Override
    public R apply(R record) {
        if (!(record.value() instanceof Struct)) {
            return record;
        }
        Struct value = (Struct) record.value();
        Schema bare = SchemaBuilder.struct().name("bare").optional().build();
        record.headers().add("struct", value, bare);
        record.headers().add("unknown", value, null);
        record.headers().add("list", List.of(value), SchemaBuilder.array(bare).build());
        record.headers().add("builder", new Struct(SchemaBuilder.struct().field("a", Schema.INT8_SCHEMA)).put("a", (byte) 1),
                SchemaBuilder.struct().field("a", Schema.INT8_SCHEMA));
        return record;
    }
}
