package dagstersmt.foreign;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.errors.DataException;

/**
 * Values with a schema. The schema determines their Java types, so they are sent as plain MessagePack. A struct is sent
 * as a map of its fields, a map with string keys as a map, any other map as a list of pairs, a date as milliseconds,
 * and a decimal as a string.
 */
final class Values {
    private static final String DATA = "org.apache.kafka.connect.data.";

    private Values() {}

    static boolean isDate(Schema schema) {
        String name = schema.name();
        if (name == null || !name.startsWith(DATA)) {
            return false;
        }
        Schema.Type type = schema.type();
        if (type == Schema.Type.INT32) {
            return name.equals(DATA + "Date") || name.equals(DATA + "Time");
        }
        return type == Schema.Type.INT64 && name.equals(DATA + "Timestamp");
    }

    static boolean isDecimal(Schema schema) {
        return schema.type() == Schema.Type.BYTES && (DATA + "Decimal").equals(schema.name());
    }

    static Object read(Unpack in, Schema schema) {
        if (in.nil()) {
            return null;
        }
        if (schema == null) {
            return Free.read(in);
        }
        if (isDate(schema)) {
            return new Date(in.integer());
        }
        switch (schema.type()) {
            case INT8:
                return (byte) in.integer();
            case INT16:
                return (short) in.integer();
            case INT32:
                return (int) in.integer();
            case INT64:
                return in.integer();
            case FLOAT32:
                return (float) in.real();
            case FLOAT64:
                return in.real();
            case BOOLEAN:
                return in.bool();
            case STRING:
                return in.text();
            case BYTES:
                if (isDecimal(schema)) {
                    return new BigDecimal(in.text());
                }
                return in.binary();
            case ARRAY:
                return readArray(in, schema.valueSchema());
            case MAP:
                return readMap(in, schema);
            default:
                return readStruct(in, schema);
        }
    }

    private static List<Object> readArray(Unpack in, Schema items) {
        int count = in.array();
        List<Object> list = new ArrayList<>(count);
        for (int n = 0; n < count; n++) {
            list.add(read(in, items));
        }
        return list;
    }

    private static Map<Object, Object> readMap(Unpack in, Schema schema) {
        Schema keys = schema.keySchema();
        Map<Object, Object> map = new HashMap<>();
        if (keys != null && keys.type() == Schema.Type.STRING) {
            for (int n = in.map(); n > 0; n--) {
                String key = in.text();
                map.put(key, read(in, schema.valueSchema()));
            }
            return map;
        }
        for (int n = in.array(); n > 0; n--) {
            in.array();
            Object key = read(in, keys);
            map.put(key, read(in, schema.valueSchema()));
        }
        return map;
    }

    private static Struct readStruct(Unpack in, Schema schema) {
        Struct struct = new Struct(schema);
        for (int n = in.map(); n > 0; n--) {
            Field field = schema.field(in.text());
            Object value = read(in, field.schema());
            if (value != null) {
                struct.put(field, value);
            }
        }
        return struct;
    }

    static void write(Pack out, Schema schema, Object value) {
        if (value == null) {
            out.nil();
            return;
        }
        if (schema == null) {
            Free.write(out, value);
            return;
        }
        if (isDate(schema)) {
            out.integer(of(Date.class, value, schema).getTime());
            return;
        }
        if (isDecimal(schema)) {
            out.text(of(BigDecimal.class, value, schema).toString());
            return;
        }
        switch (schema.type()) {
            case INT8:
                out.integer(of(Byte.class, value, schema));
                break;
            case INT16:
                out.integer(of(Short.class, value, schema));
                break;
            case INT32:
                out.integer(of(Integer.class, value, schema));
                break;
            case INT64:
                out.integer(of(Long.class, value, schema));
                break;
            case FLOAT32:
                out.real(of(Float.class, value, schema));
                break;
            case FLOAT64:
                out.real(of(Double.class, value, schema));
                break;
            case BOOLEAN:
                out.bool(of(Boolean.class, value, schema));
                break;
            case STRING:
                out.text(of(CharSequence.class, value, schema).toString());
                break;
            case BYTES:
                out.binary(bytes(value, schema));
                break;
            case ARRAY:
                writeArray(out, schema.valueSchema(), of(Collection.class, value, schema));
                break;
            case MAP:
                writeMap(out, schema, of(Map.class, value, schema));
                break;
            default:
                writeStruct(out, schema, of(Struct.class, value, schema));
                break;
        }
    }

    private static void writeArray(Pack out, Schema items, Collection<?> values) {
        out.array(values.size());
        for (Object value : values) {
            write(out, items, value);
        }
    }

    private static void writeMap(Pack out, Schema schema, Map<?, ?> map) {
        Schema keys = schema.keySchema();
        boolean texts = keys != null && keys.type() == Schema.Type.STRING;
        if (texts) {
            out.map(map.size());
        } else {
            out.array(map.size());
        }
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            if (!texts) {
                out.array(2);
            }
            write(out, keys, entry.getKey());
            write(out, schema.valueSchema(), entry.getValue());
        }
    }

    private static void writeStruct(Pack out, Schema schema, Struct struct) {
        if (!hasSchema(struct, schema)) {
            // with a schema that lacks fields, values would be lost silently
            throw new DataException("a struct has another schema than its place");
        }
        List<Field> fields = schema.fields();
        out.map(fields.size());
        for (Field field : fields) {
            Object value = struct.getWithoutDefault(field.name());
            if (value == null && !field.schema().isOptional()) {
                value = field.schema().defaultValue(); // as in Struct.get, for a required field that has never been set
            }
            out.text(field.name());
            write(out, field.schema(), value);
        }
    }

    /**
     * Returns true if {@code struct} has the schema {@code schema}. The schemas may have to be compared part by part,
     * because a schema that is still a builder does not equal any other object.
     */
    static boolean hasSchema(Struct struct, Schema schema) {
        return struct.schema() == schema
                || schema != null && Schemas.built(struct.schema()).equals(Schemas.built(schema));
    }

    static byte[] bytes(Object value, Schema schema) {
        if (value instanceof byte[]) {
            return (byte[]) value;
        }
        // a duplicate, because reading moves the position of a buffer, and the record still has this buffer
        ByteBuffer buffer = of(ByteBuffer.class, value, schema).duplicate();
        byte[] copy = new byte[buffer.remaining()];
        buffer.get(copy);
        return copy;
    }

    /**
     * Returns a value as the class that its schema requires. As in Connect's converters, other classes are rejected.
     */
    private static <T> T of(Class<T> type, Object value, Schema schema) {
        if (!type.isInstance(value)) {
            throw new DataException("the schema is " + schema.type() + ", but the value is a "
                    + value.getClass().getName());
        }
        return type.cast(value);
    }
}
