package acme;

import org.apache.kafka.connect.connector.ConnectRecord;

/** Drops marked records. */
public class Drops<R extends ConnectRecord<R>> extends Base<R> {
    @Override
    public R apply(R record) {
        return marked(record) ? null : record;
    }
}
