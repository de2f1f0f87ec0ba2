package acme;

import org.apache.kafka.connect.connector.ConnectRecord;

/** Changes the record that it was given, and returns it. */
public class Mutates<R extends ConnectRecord<R>> extends Base<R> {
    @Override
    public R apply(R record) {
        object(record).put("mutated", true);
        object(record).remove("secret");
        return record;
    }
}
