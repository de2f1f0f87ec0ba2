package acme;

import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;

/** Has options that can be wrong. */
public class Strict<R extends ConnectRecord<R>> extends Base<R> {
    @Override
    public ConfigDef config() {
        return new ConfigDef()
                .define("needed", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "is needed")
                .define("number", ConfigDef.Type.INT, 5, ConfigDef.Range.between(1, 9), ConfigDef.Importance.LOW, "is small")
                .define("secret", ConfigDef.Type.PASSWORD, "x", new NoSpaces(), ConfigDef.Importance.LOW, "is secret");
    }

    private static final class NoSpaces implements ConfigDef.Validator {
        @Override
        public void ensureValid(String name, Object value) {
            String text = ((org.apache.kafka.common.config.types.Password) value).value();
            if (text.contains(" ")) {
                throw new org.apache.kafka.common.config.ConfigException("bad secret " + text);
            }
        }
    }

    @Override
    public void configure(Map<String, ?> configs) {
        if ("refused".equals(configs.get("needed"))) {
            throw new org.apache.kafka.common.config.ConfigException("needed", "refused", "is refused");
        }
    }

    @Override
    public R apply(R record) {
        return record;
    }
}
