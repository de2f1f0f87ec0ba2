package acme;

import org.apache.kafka.connect.connector.ConnectRecord;

/** Returns each record as it is. */
public class Same<R extends ConnectRecord<R>> extends Base<R> {
    @Override
    public R apply(R record) {
        return record;
    }
}
