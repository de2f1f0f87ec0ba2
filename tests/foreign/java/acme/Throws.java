package acme;

import org.apache.kafka.connect.connector.ConnectRecord;

/** Refuses marked records, with a message that quotes them. */
public class Throws<R extends ConnectRecord<R>> extends Base<R> {
    @Override
    public R apply(R record) {
        if (marked(record)) {
            throw new IllegalStateException("no " + record.value());
        }
        return record;
    }
}
