package acme;

import java.util.Map;
import org.apache.kafka.connect.connector.ConnectRecord;

/** Returns values of types that JSON does not have. */
public class Boxes<R extends ConnectRecord<R>> extends Base<R> {
    @Override
    public R apply(R record) {
        Map<String, Object> value = copy(record);
        value.put("int8", (byte) 1);
        value.put("int16", (short) 2);
        value.put("int32", 3);
        value.put("float", 0.5f);
        value.put("decimal", new java.math.BigDecimal("1.50"));
        value.put("date", new java.util.Date(5));
        value.put("bytes", new byte[] {1, 2});
        value.put("pairs", Map.of(1L, "one"));
        value.put("nan", Double.NaN);
        return with(record, value);
    }
}
