package acme;

import java.util.Map;
import org.apache.kafka.connect.connector.ConnectRecord;

/** Takes a second to read its options, and no time for a record. */
public class Slow<R extends ConnectRecord<R>> extends Base<R> {
    @Override
    public void configure(Map<String, ?> configs) {
        super.configure(configs);
        try {
            Thread.sleep(1000);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public R apply(R record) {
        return record;
    }
}
