package acme;

import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.errors.RetriableException;

/** Fails twice for each marked record with an error that may pass. */
public class Retries<R extends ConnectRecord<R>> extends Base<R> {
    private int tries;

    @Override
    public R apply(R record) {
        if (marked(record) && ++tries % 3 != 0) {
            throw new RetriableException("not yet");
        }
        return record;
    }
}
