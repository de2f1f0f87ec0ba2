package acme;

import java.util.Map;
import org.apache.kafka.connect.connector.ConnectRecord;

/** Keeps a number between records. */
public class Counts<R extends ConnectRecord<R>> extends Base<R> {
    private long count;

    @Override
    public R apply(R record) {
        Map<String, Object> value = copy(record);
        value.put("number", ++count);
        return with(record, value);
    }
}
