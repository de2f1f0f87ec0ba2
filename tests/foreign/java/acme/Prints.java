package acme;

import java.util.Map;
import org.apache.kafka.connect.connector.ConnectRecord;

/** Prints to standard output, and reads from standard input. */
public class Prints<R extends ConnectRecord<R>> extends Base<R> {
    @Override
    public R apply(R record) {
        System.out.println("printed");
        System.out.flush();
        Map<String, Object> value = copy(record);
        try {
            value.put("read", (long) System.in.read());
        } catch (java.io.IOException e) {
            value.put("read", e.toString());
        }
        return with(record, value);
    }
}
