package org.apache.kafka.connect.data;

import java.util.List;
import java.util.Map;

public interface Schema {
    enum Type { INT8, INT16, INT32, INT64, FLOAT32, FLOAT64, BOOLEAN, STRING, BYTES, ARRAY, MAP, STRUCT }

    Type type();

    boolean isOptional();

    Object defaultValue();

    String name();

    Integer version();

    String doc();

    Map<String, String> parameters();

    Schema keySchema();

    Schema valueSchema();

    List<Field> fields();

    Field field(String name);
}
