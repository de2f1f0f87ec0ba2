package acme;

import org.apache.kafka.connect.connector.ConnectRecord;

/** Needs a class that no jar has. */
public class Missing<R extends ConnectRecord<R>> extends Base<R> {
    @Override
    public R apply(R record) {
        if (marked(record)) {
            throw new NoClassDefFoundError("acme/Nowhere");
        }
        return record;
    }
}
