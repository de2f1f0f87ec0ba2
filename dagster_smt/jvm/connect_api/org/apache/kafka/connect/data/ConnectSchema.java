package org.apache.kafka.connect.data;

import java.util.List;
import java.util.Map;

public class ConnectSchema implements Schema {
    public ConnectSchema(Type type, boolean optional, Object defaultValue, String name, Integer version, String doc,
            Map<String, String> parameters, List<Field> fields, Schema keySchema, Schema valueSchema) {
        throw new AssertionError();
    }

    @Override
    public Type type() {
        throw new AssertionError();
    }

    @Override
    public boolean isOptional() {
        throw new AssertionError();
    }

    @Override
    public Object defaultValue() {
        throw new AssertionError();
    }

    @Override
    public String name() {
        throw new AssertionError();
    }

    @Override
    public Integer version() {
        throw new AssertionError();
    }

    @Override
    public String doc() {
        throw new AssertionError();
    }

    @Override
    public Map<String, String> parameters() {
        throw new AssertionError();
    }

    @Override
    public Schema keySchema() {
        throw new AssertionError();
    }

    @Override
    public Schema valueSchema() {
        throw new AssertionError();
    }

    @Override
    public List<Field> fields() {
        throw new AssertionError();
    }

    @Override
    public Field field(String name) {
        throw new AssertionError();
    }
}
