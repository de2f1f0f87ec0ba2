package dagstersmt.foreign;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.Map;
import org.apache.kafka.connect.data.ConnectSchema;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.storage.Converter;

/**
 * Converts keys and values from bytes and to bytes, in the formats that do not require Python:
 * {@code json, envelope, string, bytes}.
 */
final class Sides {
    private static final Schema STRING =
            new ConnectSchema(Schema.Type.STRING, true, null, null, null, null, null, null, null, null);
    private static final Schema BYTES =
            new ConnectSchema(Schema.Type.BYTES, true, null, null, null, null, null, null, null, null);
    private final Converter envelopes;
    private final Converter payloads;
    private final Json json;
    private final Map<Schema, Boolean> defaults = new IdentityHashMap<>();

    Sides() {
        envelopes = json("true");
        payloads = json("false");
        json = new Json(payloads);
    }

    /** Returns Connect's converter for JSON. */
    static Converter json(String schemas) {
        try {
            // by its name, because the compiler has only stubs of Connect's interface
            Converter json = (Converter) Class.forName("org.apache.kafka.connect.json.JsonConverter")
                    .getDeclaredConstructor().newInstance();
            json.configure(Map.of("schemas.enable", schemas), false);
            return json;
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Returns the schema and the value in a range of bytes. A negative length stands for null. */
    SchemaAndValue read(String format, String topic, byte[] data, int start, int length) {
        if (length < 0) {
            return new SchemaAndValue(null, null);
        }
        switch (format) {
            case "json":
                return new SchemaAndValue(null, json.read(data, start, length));
            case "envelope":
                return envelopes.toConnectData(topic, Arrays.copyOfRange(data, start, start + length));
            case "string":
                return new SchemaAndValue(STRING, text(data, start, length));
            default:
                return new SchemaAndValue(BYTES, Arrays.copyOfRange(data, start, start + length));
        }
    }

    private static String text(byte[] data, int start, int length) {
        String text = new String(data, start, length, StandardCharsets.UTF_8);
        if (text.indexOf('\uFFFD') < 0) {
            return text;
        }
        // Java replaces invalid bytes with this character, but the bytes may also be the valid bytes of the character
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(data, start, length)).toString();
        } catch (java.nio.charset.CharacterCodingException e) {
            throw new DataException("not UTF-8");
        }
    }

    /** Returns a value as bytes in a format. */
    byte[] write(String format, String topic, Schema schema, Object value) {
        if (format.equals("envelope")) {
            return envelopes.fromConnectData(topic, schema, value);
        }
        if (value == null && (schema == null || !format.equals("json"))) {
            return null;
        }
        if (format.equals("string") && value instanceof String) {
            return ((String) value).getBytes(StandardCharsets.UTF_8);
        }
        if (format.equals("bytes") && (value instanceof byte[] || value instanceof ByteBuffer)) {
            return Values.bytes(value, null);
        }
        return schema == null ? json.write(topic, value) : payloads.fromConnectData(topic, schema, value);
    }

    /**
     * Returns true if reading an envelope may have replaced a null with a default. In that case, the key or value is
     * always written.
     */
    boolean hasDefaults(String format, Schema schema) {
        if (schema == null || !format.equals("envelope")) {
            return false;
        }
        Boolean known = defaults.get(schema);
        if (known == null) {
            known = hasDefaults(schema);
            if (defaults.size() > 1000) {
                defaults.clear();
            }
            defaults.put(schema, known);
        }
        return known;
    }

    private static boolean hasDefaults(Schema schema) {
        if (schema.defaultValue() != null) {
            return true;
        }
        switch (schema.type()) {
            case ARRAY:
                return hasDefaults(schema.valueSchema());
            case MAP:
                return hasDefaults(schema.keySchema()) || hasDefaults(schema.valueSchema());
            case STRUCT:
                for (Field field : schema.fields()) {
                    if (hasDefaults(field.schema())) {
                        return true;
                    }
                }
                return false;
            default:
                return false;
        }
    }
}
