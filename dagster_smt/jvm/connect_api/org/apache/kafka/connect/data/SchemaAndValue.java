package org.apache.kafka.connect.data;

public class SchemaAndValue {
    public Schema schema() {
        throw new AssertionError();
    }

    public Object value() {
        throw new AssertionError();
    }
}
