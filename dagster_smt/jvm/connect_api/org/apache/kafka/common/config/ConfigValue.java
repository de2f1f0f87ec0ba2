package org.apache.kafka.common.config;

import java.util.List;

public class ConfigValue {
    public String name() {
        throw new AssertionError();
    }

    public List<String> errorMessages() {
        throw new AssertionError();
    }
}
