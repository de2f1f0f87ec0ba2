package org.apache.kafka.connect.data;

public class Field {
    public Field(String name, int index, Schema schema) {
        throw new AssertionError();
    }

    public String name() {
        throw new AssertionError();
    }

    public Schema schema() {
        throw new AssertionError();
    }
}
