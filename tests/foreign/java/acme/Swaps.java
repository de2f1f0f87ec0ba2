package acme;

import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.header.Header;

/** Swaps key and value, and makes each header anew, so that all three travel back. */
public class Swaps<R extends ConnectRecord<R>> extends Base<R> {
    @Override
    public R apply(R record) {
        R after = record.newRecord(record.topic(), record.kafkaPartition(), record.valueSchema(), record.value(),
                record.keySchema(), record.key(), record.timestamp());
        for (Header header : record.headers()) {
            after.headers().remove(header.key());
            after.headers().add(header.key() + "2", header.value(), header.schema());
        }
        return after;
    }
}
