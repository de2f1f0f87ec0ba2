package org.apache.kafka.connect.data;

public class SchemaAndValue {
    public SchemaAndValue(Schema schema, Object value) {
        throw new AssertionError();
    }

    public Schema schema() {
        throw new AssertionError();
    }

    public Object value() {
        throw new AssertionError();
    }
}
