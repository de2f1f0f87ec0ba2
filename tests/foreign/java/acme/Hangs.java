package acme;

import org.apache.kafka.connect.connector.ConnectRecord;

/** Never returns from marked records, whoever interrupts it. */
public class Hangs<R extends ConnectRecord<R>> extends Base<R> {
    @Override
    public R apply(R record) {
        while (marked(record)) {
            Thread.onSpinWait();
        }
        return record;
    }
}
