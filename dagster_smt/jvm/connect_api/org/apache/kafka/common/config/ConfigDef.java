package org.apache.kafka.common.config;

import java.util.List;
import java.util.Map;

public class ConfigDef {
    public enum Type { PASSWORD }

    public static class ConfigKey {
        public final Type type = null;
    }

    public Map<String, ConfigKey> configKeys() {
        throw new AssertionError();
    }

    public List<ConfigValue> validate(Map<String, String> props) {
        throw new AssertionError();
    }
}
