package dagstersmt.foreign;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.ConnectSchema;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;

/**
 * The schemas by number, so that each schema is sent only once. Python numbers its schemas from 0 upwards, and this
 * process numbers its schemas from -1 downwards.
 */
final class Schemas {
    private static final int MOST = 2000;
    private static final Schema.Type[] TYPES = Schema.Type.values();
    private final Map<Integer, Schema> byNumber = new HashMap<>();
    private final Map<Schema, Integer> numbers = new IdentityHashMap<>();
    private final Map<Schema, Integer> equal = new HashMap<>();
    private final List<Schema> fresh = new ArrayList<>();
    private int last;

    Schema get(Long number) {
        return number == null ? null : byNumber.get(number.intValue());
    }

    /** Reads the schemas that Python sends for the first time. */
    void read(Unpack in) {
        for (int n = in.array(); n > 0; n--) {
            in.array();
            int number = (int) in.integer();
            Schema schema = readSchema(in);
            byNumber.put(number, schema);
            numbers.put(schema, number);
            equal.putIfAbsent(schema, number);
        }
    }

    /**
     * Returns the number of a schema. A schema without a number gets one, and is sent to Python with the next answer.
     */
    int number(Schema schema) {
        Integer known = numbers.get(schema);
        if (known != null) {
            return known;
        }
        Schema built = built(schema);
        known = equal.get(built);
        if (numbers.size() > MOST) {
            // A stage may create a new schema for each record, so the numbers are cleared. Python's schemas stay,
            // because Python refers to them by number.
            numbers.clear();
            byNumber.forEach((number, of) -> numbers.put(of, number));
        }
        if (known == null) {
            if (equal.size() > 2 * MOST) {
                equal.clear();
                byNumber.forEach((number, of) -> equal.put(of, number));
            }
            known = --last;
            equal.put(built, known);
            fresh.add(built);
        }
        numbers.put(schema, known);
        return known;
    }

    static Schema built(Schema schema) {
        return schema instanceof SchemaBuilder ? ((SchemaBuilder) schema).build() : schema;
    }

    /** Writes the schemas that got a number after the last answer. */
    void writeFresh(Pack out) {
        out.array(fresh.size());
        for (Schema schema : fresh) {
            out.array(2);
            out.integer(equal.get(schema));
            writeSchema(out, schema);
        }
        fresh.clear();
    }

    private Schema readSchema(Unpack in) {
        if (in.nil()) {
            return null;
        }
        in.array();
        Schema.Type type = TYPES[(int) in.integer()];
        boolean optional = in.bool();
        String name = in.text();
        Long version = in.optionalInteger();
        String doc = in.text();
        Map<String, String> parameters = readParameters(in);
        List<Field> fields = type == Schema.Type.STRUCT ? new ArrayList<>() : null;
        int count = in.array();
        for (int n = 0; n < count; n++) {
            in.array();
            String field = in.text();
            fields.add(new Field(field, n, readSchema(in)));
        }
        Schema keys = readSchema(in);
        Schema values = readSchema(in);
        Integer number = version == null ? null : Integer.valueOf(version.intValue());
        Schema bare = new ConnectSchema(type, optional, null, name, number, doc, parameters, fields, keys, values);
        if (in.nil()) {
            return bare;
        }
        Object value = Values.read(in, bare);
        return new ConnectSchema(type, optional, value, name, number, doc, parameters, fields, keys, values);
    }

    private static Map<String, String> readParameters(Unpack in) {
        int count = in.map();
        if (count == 0) {
            return null;
        }
        Map<String, String> parameters = new java.util.LinkedHashMap<>();
        for (int n = 0; n < count; n++) {
            String key = in.text();
            parameters.put(key, in.text());
        }
        return parameters;
    }

    private void writeSchema(Pack out, Schema schema) {
        if (schema == null) {
            out.nil();
            return;
        }
        out.array(10);
        out.integer(schema.type().ordinal());
        out.bool(schema.isOptional());
        out.text(schema.name());
        if (schema.version() == null) {
            out.nil();
        } else {
            out.integer(schema.version());
        }
        out.text(schema.doc());
        Map<String, String> parameters = schema.parameters();
        out.map(parameters == null ? 0 : parameters.size());
        if (parameters != null) {
            for (Map.Entry<String, String> entry : parameters.entrySet()) {
                out.text(entry.getKey());
                out.text(entry.getValue());
            }
        }
        Schema.Type type = schema.type();
        List<Field> fields = type == Schema.Type.STRUCT ? schema.fields() : List.of();
        out.array(fields.size());
        for (Field field : fields) {
            out.array(2);
            out.text(field.name());
            writeSchema(out, field.schema());
        }
        writeSchema(out, type == Schema.Type.MAP ? schema.keySchema() : null);
        writeSchema(out, type == Schema.Type.MAP || type == Schema.Type.ARRAY ? schema.valueSchema() : null);
        if (schema.defaultValue() == null) {
            out.nil();
        } else {
            Values.write(out, schema, schema.defaultValue());
        }
    }
}
