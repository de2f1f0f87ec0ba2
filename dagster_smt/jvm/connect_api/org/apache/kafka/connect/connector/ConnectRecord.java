package org.apache.kafka.connect.connector;

import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.header.Headers;

public abstract class ConnectRecord<R extends ConnectRecord<R>> {
    public String topic() {
        throw new AssertionError();
    }

    public Integer kafkaPartition() {
        throw new AssertionError();
    }

    public Object key() {
        throw new AssertionError();
    }

    public Schema keySchema() {
        throw new AssertionError();
    }

    public Object value() {
        throw new AssertionError();
    }

    public Schema valueSchema() {
        throw new AssertionError();
    }

    public Long timestamp() {
        throw new AssertionError();
    }

    public Headers headers() {
        throw new AssertionError();
    }
}
