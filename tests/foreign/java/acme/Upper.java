package acme;

import java.util.Map;
import org.apache.kafka.connect.connector.ConnectRecord;

/** Writes a text in capitals. */
public class Upper<R extends ConnectRecord<R>> extends Base<R> {
    @Override
    public R apply(R record) {
        Map<String, Object> value = copy(record);
        value.computeIfPresent(option, (name, text) -> text.toString().toUpperCase());
        return with(record, value);
    }
}
