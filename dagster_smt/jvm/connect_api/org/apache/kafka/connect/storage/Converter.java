package org.apache.kafka.connect.storage;

import java.util.Map;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;

public interface Converter {
    void configure(Map<String, ?> configs, boolean isKey);

    byte[] fromConnectData(String topic, Schema schema, Object value);

    SchemaAndValue toConnectData(String topic, byte[] value);
}
