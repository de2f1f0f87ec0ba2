package acme;

import java.util.Map;
import org.apache.kafka.connect.connector.ConnectRecord;

/** Returns a value of a class that Connect's data does not have. */
public class Odd<R extends ConnectRecord<R>> extends Base<R> {
    @Override
    public R apply(R record) {
        Map<String, Object> value = copy(record);
        value.put("odd", java.util.Optional.of(1));
        return with(record, value);
    }
}
