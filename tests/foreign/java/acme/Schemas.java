package acme;

import java.math.BigDecimal;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Decimal;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.data.Timestamp;

/** Gives each value a schema of its own. */
public class Schemas<R extends ConnectRecord<R>> extends Base<R> {
    @Override
    public R apply(R record) {
        Schema schema = SchemaBuilder.struct().name("acme.Value").version(2).parameter("p", "q")
                .field("id", Schema.INT32_SCHEMA)
                .field("at", Timestamp.SCHEMA)
                .field("price", Decimal.schema(2))
                .field("tags", SchemaBuilder.array(Schema.STRING_SCHEMA).optional().build())
                .field("counts", SchemaBuilder.map(Schema.INT16_SCHEMA, Schema.OPTIONAL_FLOAT32_SCHEMA).build())
                .field("level", SchemaBuilder.int8().defaultValue((byte) 7).build())
                .build();
        Struct value = new Struct(schema)
                .put("id", ((Number) object(record).get("id")).intValue())
                .put("at", new java.util.Date(1556204536123L))
                .put("price", new BigDecimal("12.50"))
                .put("tags", List.of("a", "b"))
                .put("counts", Map.of((short) 3, 0.5f));
        return record.newRecord(record.topic(), record.kafkaPartition(), Schema.STRING_SCHEMA, "key", schema, value,
                record.timestamp());
    }
}
