package dagstersmt.foreign;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.storage.Converter;

/**
 * JSON without a schema, as Connect's {@code JsonConverter} with {@code schemas.enable=false} reads and writes it, but
 * without the tree of nodes that it builds in between. What is not plain JSON goes to the converter itself.
 */
final class Json {
    private static final JsonFactory FACTORY = new JsonFactory();
    private final Converter converter;
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream(1024);

    Json(Converter converter) {
        this.converter = converter;
    }

    /** Returns the value of a text. */
    Object read(byte[] data, int start, int length) {
        if (length == 0) {
            return null; // as Kafka's JsonDeserializer
        }
        try (JsonParser parser = FACTORY.createParser(data, start, length)) {
            JsonToken token = parser.nextToken();
            if (token == null) {
                throw new DataException("an empty text");
            }
            Object value = value(parser, token);
            if (parser.nextToken() != null) {
                throw new DataException("text after the value");
            }
            return value;
        } catch (IOException e) {
            throw new DataException("not JSON"); // the parser's own message quotes the text
        }
    }

    private static Object value(JsonParser parser, JsonToken token) throws IOException {
        switch (token) {
            case START_OBJECT:
                Map<String, Object> map = new HashMap<>();
                while (parser.nextToken() != JsonToken.END_OBJECT) {
                    String name = parser.currentName();
                    map.put(name, value(parser, parser.nextToken()));
                }
                return map;
            case START_ARRAY:
                List<Object> list = new ArrayList<>();
                for (JsonToken next = parser.nextToken(); next != JsonToken.END_ARRAY; next = parser.nextToken()) {
                    list.add(value(parser, next));
                }
                return list;
            case VALUE_STRING:
                return parser.getText();
            case VALUE_NUMBER_INT:
                // JsonConverter cuts integers of more than 64 bits
                return parser.getNumberType() == JsonParser.NumberType.BIG_INTEGER
                        ? parser.getBigIntegerValue().longValue() : parser.getLongValue();
            case VALUE_NUMBER_FLOAT:
                double number = parser.getDoubleValue();
                // JsonConverter reads a BigDecimal first, which has no negative zero
                return number == 0 ? parser.getDecimalValue().doubleValue() : number;
            case VALUE_TRUE:
                return Boolean.TRUE;
            case VALUE_FALSE:
                return Boolean.FALSE;
            default:
                return null;
        }
    }

    /** Returns the text of a value without a schema. */
    byte[] write(String topic, Object value) {
        bytes.reset();
        try (JsonGenerator generator = FACTORY.createGenerator(bytes)) {
            if (!write(generator, value)) {
                return converter.fromConnectData(topic, null, value);
            }
        } catch (IOException e) {
            return converter.fromConnectData(topic, null, value);
        }
        return bytes.toByteArray();
    }

    /** Writes a value; returns false at a type that JSON does not have, whose spelling only the converter knows. */
    private static boolean write(JsonGenerator out, Object value) throws IOException {
        if (value == null) {
            out.writeNull();
        } else if (value instanceof String) {
            out.writeString((String) value);
        } else if (value instanceof Long) {
            out.writeNumber((Long) value);
        } else if (value instanceof Double && Double.isFinite((Double) value)) {
            out.writeNumber((Double) value);
        } else if (value instanceof Integer) {
            out.writeNumber((Integer) value);
        } else if (value instanceof Boolean) {
            out.writeBoolean((Boolean) value);
        } else if (value instanceof Map) {
            return writeMap(out, (Map<?, ?>) value);
        } else if (value instanceof List) {
            out.writeStartArray();
            for (Object item : (List<?>) value) {
                if (!write(out, item)) {
                    return false;
                }
            }
            out.writeEndArray();
        } else {
            return false;
        }
        return true;
    }

    private static boolean writeMap(JsonGenerator out, Map<?, ?> map) throws IOException {
        out.writeStartObject();
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            if (!(entry.getKey() instanceof String)) {
                return false;
            }
            out.writeFieldName((String) entry.getKey());
            if (!write(out, entry.getValue())) {
                return false;
            }
        }
        out.writeEndObject();
        return true;
    }
}
