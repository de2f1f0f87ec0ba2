package acme;

import org.apache.kafka.connect.connector.ConnectRecord;

/** Changes topic, partition, timestamp and headers. */
public class Moves<R extends ConnectRecord<R>> extends Base<R> {
    @Override
    public R apply(R record) {
        record.headers().remove("old");
        record.headers().addLong("new", 42L);
        return record.newRecord("moved", 3, record.keySchema(), record.key(), record.valueSchema(), record.value(), 1000L);
    }
}
