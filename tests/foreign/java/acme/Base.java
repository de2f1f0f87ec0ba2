package acme;

import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.transforms.Transformation;

/** Base of the transforms of the tests: a value without a schema, one option. */
abstract class Base<R extends ConnectRecord<R>> implements Transformation<R> {
    String option = "";

    @Override
    public ConfigDef config() {
        return new ConfigDef().define("option", ConfigDef.Type.STRING, "", ConfigDef.Importance.LOW, "anything");
    }

    @Override
    public void configure(Map<String, ?> configs) {
        Object value = configs.get("option");
        option = value == null ? "" : value.toString();
    }

    @Override
    public void close() {}

    @SuppressWarnings("unchecked")
    static Map<String, Object> object(ConnectRecord<?> record) {
        return (Map<String, Object>) record.value();
    }

    /** Whether the record is the one that the test is about. */
    static boolean marked(ConnectRecord<?> record) {
        return record.value() instanceof Map && object(record).containsKey("marked");
    }

    R with(R record, Object value) {
        return record.newRecord(record.topic(), record.kafkaPartition(), record.keySchema(), record.key(), null, value,
                record.timestamp());
    }

    static Map<String, Object> copy(ConnectRecord<?> record) {
        return new HashMap<>(object(record));
    }
}
