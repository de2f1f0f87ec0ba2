package dagstersmt.foreign;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.storage.Converter;

/**
 * Reads and writes JSON without a schema, as Connect's {@code JsonConverter} does with {@code schemas.enable=false},
 * but without building its tree of nodes. The converter itself writes values that are not plain.
 */
final class Json {
    private static final JsonFactory FACTORY = new JsonFactory();
    private final Converter converter;
    private final PlainReader reader = new PlainReader();
    private final PlainWriter writer = new PlainWriter();

    Json(Converter converter) {
        this.converter = converter;
    }

    /** Returns the value in a JSON text. */
    Object read(byte[] data, int start, int length) {
        if (length == 0) {
            return null; // as in Kafka's JsonDeserializer
        }
        try {
            return reader.read(data, start, length);
        } catch (PlainReader.NotPlain e) {
            return readByJackson(data, start, length);
        }
    }

    private static Object readByJackson(byte[] data, int start, int length) {
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
        } catch (IOException | NumberFormatException e) {
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
                // JsonConverter truncates integers of more than 64 bits
                return parser.getNumberType() == JsonParser.NumberType.BIG_INTEGER
                        ? parser.getBigIntegerValue().longValue() : parser.getLongValue();
            case VALUE_NUMBER_FLOAT:
                // as in JsonConverter, because a BigDecimal has no negative zero and at most ten digits in its exponent
                return parser.getDecimalValue().doubleValue();
            case VALUE_TRUE:
                return Boolean.TRUE;
            case VALUE_FALSE:
                return Boolean.FALSE;
            default:
                return null;
        }
    }

    /** Returns a value without a schema as JSON text. */
    byte[] write(String topic, Object value) {
        byte[] text = writer.write(value);
        return text == null ? converter.fromConnectData(topic, null, value) : text;
    }
}
