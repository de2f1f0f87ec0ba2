package org.apache.kafka.common;

import java.util.Map;

public interface Configurable {
    void configure(Map<String, ?> configs);
}
