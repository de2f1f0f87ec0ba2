package acme;

import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.SchemaBuilder;

/** Gives the value a schema without fields, which no converter of Connect writes. */
public class Misfit<R extends ConnectRecord<R>> extends Base<R> {
    @Override
    public R apply(R record) {
        return record.newRecord(record.topic(), record.kafkaPartition(), record.keySchema(), record.key(),
                SchemaBuilder.struct().build(), record.value(), record.timestamp());
    }
}
