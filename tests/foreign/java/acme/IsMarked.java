package acme;

import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/** True for marked records. */
public class IsMarked<R extends ConnectRecord<R>> implements Predicate<R> {
    @Override
    public ConfigDef config() {
        return new ConfigDef();
    }

    @Override
    public boolean test(R record) {
        return Base.marked(record);
    }

    @Override
    public void configure(Map<String, ?> configs) {}

    @Override
    public void close() {}
}
