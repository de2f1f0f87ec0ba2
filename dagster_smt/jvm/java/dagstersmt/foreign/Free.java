package dagstersmt.foreign;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Map.Entry;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.storage.Converter;

/**
 * Values without a schema. They are sent as JSON text, which Connect's own converter reads and writes. Values of types
 * that JSON lacks are sent as MessagePack extensions.
 */
final class Free {
    static final int JSON = 1;
    static final int INT8 = 2;
    static final int INT16 = 3;
    static final int INT32 = 4;
    static final int FLOAT32 = 5;
    static final int DECIMAL = 6;
    static final int DATE = 7;
    static final int PAIRS = 8;
    static final int NOT_FINITE = 9;
    private static Converter json;

    private Free() {}

    /** Sets Connect's converter for JSON. Call it once. */
    static void use(Converter converter) {
        json = converter;
    }

    static Object read(Unpack in) {
        // The first byte of a value in MessagePack: c0 nil, c2 and c3 boolean, cb double, a0 to bf and d9 to db string,
        // c4 to c6 bytes, 90 to 9f, dc and dd array, 80 to 8f, de and df map, c7 to c9 and d4 to d8 extension. All
        // others begin an integer.
        int head = in.peek();
        if (head == 0xc0) {
            in.nil();
            return null;
        }
        if (head == 0xc2 || head == 0xc3) {
            return in.bool();
        }
        if (head == 0xcb) {
            return in.real();
        }
        if ((head & 0xe0) == 0xa0 || head >= 0xd9 && head <= 0xdb) {
            return in.text();
        }
        if (head >= 0xc4 && head <= 0xc6) {
            return in.binary();
        }
        if ((head & 0xf0) == 0x90 || head == 0xdc || head == 0xdd) {
            return readList(in);
        }
        if ((head & 0xf0) == 0x80 || head == 0xde || head == 0xdf) {
            return readMap(in);
        }
        if (head >= 0xc7 && head <= 0xc9 || head >= 0xd4 && head <= 0xd8) {
            return readExtension(in);
        }
        return in.integer();
    }

    private static List<Object> readList(Unpack in) {
        int count = in.array();
        List<Object> list = new ArrayList<>(count);
        for (int n = 0; n < count; n++) {
            list.add(read(in));
        }
        return list;
    }

    private static Map<Object, Object> readMap(Unpack in) {
        Map<Object, Object> map = new HashMap<>();
        for (int n = in.map(); n > 0; n--) {
            String key = in.text();
            map.put(key, read(in));
        }
        return map;
    }

    private static Object readExtension(Unpack in) {
        int length = in.extension();
        int type = in.type();
        switch (type) {
            case JSON:
                return json.toConnectData("", in.raw(length)).value();
            case INT8:
                return (byte) in.number(length);
            case INT16:
                return (short) in.number(length);
            case INT32:
                return (int) in.number(length);
            case FLOAT32:
                return (float) Double.longBitsToDouble(in.number(length));
            case DECIMAL:
                return new BigDecimal(new String(in.raw(length), StandardCharsets.US_ASCII));
            case DATE:
                return new Date(in.number(length));
            case PAIRS:
                return readPairs(new Unpack(in.raw(length)));
            default:
                throw new IllegalStateException("unexpected extension " + type);
        }
    }

    private static Map<Object, Object> readPairs(Unpack in) {
        Map<Object, Object> map = new HashMap<>();
        for (int n = in.array(); n > 0; n--) {
            in.array();
            Object key = read(in);
            map.put(key, read(in));
        }
        return map;
    }

    /** Writes a value. The value is written as JSON if JSON has all of its types, otherwise with extensions. */
    static void write(Pack out, Object value) {
        if (isJson(value)) {
            out.extension(JSON, json.fromConnectData("", null, value));
        } else {
            writeTagged(out, value);
        }
    }

    private static boolean isJson(Object value) {
        if (value == null || value instanceof String || value instanceof Long || value instanceof Boolean) {
            return true;
        }
        if (value instanceof Double) {
            return Double.isFinite((Double) value);
        }
        if (value instanceof Map) {
            for (Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                if (!(entry.getKey() instanceof String) || !isJson(entry.getValue())) {
                    return false;
                }
            }
            return true;
        }
        if (value instanceof List) {
            for (Object item : (List<?>) value) {
                if (!isJson(item)) {
                    return false;
                }
            }
            return true;
        }
        return false;
    }

    private static void writeTagged(Pack out, Object value) {
        if (value == null) {
            out.nil();
        } else if (value instanceof CharSequence) {
            out.text(value.toString());
        } else if (value instanceof Boolean) {
            out.bool((Boolean) value);
        } else if (value instanceof Long) {
            out.integer((Long) value);
        } else if (value instanceof Double && Double.isFinite((Double) value)) {
            out.real((Double) value);
        } else if (value instanceof byte[] || value instanceof ByteBuffer) {
            out.binary(Values.bytes(value, null));
        } else if (value instanceof Collection) {
            out.array(((Collection<?>) value).size());
            for (Object item : (Collection<?>) value) {
                writeTagged(out, item);
            }
        } else if (value instanceof Map) {
            writeMap(out, (Map<?, ?>) value);
        } else {
            writeExtension(out, value);
        }
    }

    private static void writeMap(Pack out, Map<?, ?> map) {
        boolean texts = true;
        for (Object key : map.keySet()) {
            texts &= key instanceof String;
        }
        if (texts) {
            out.map(map.size());
            for (Entry<?, ?> entry : map.entrySet()) {
                out.text((String) entry.getKey());
                writeTagged(out, entry.getValue());
            }
            return;
        }
        Pack pairs = new Pack();
        pairs.array(map.size());
        for (Entry<?, ?> entry : map.entrySet()) {
            pairs.array(2);
            writeTagged(pairs, entry.getKey());
            writeTagged(pairs, entry.getValue());
        }
        out.extension(PAIRS, java.util.Arrays.copyOf(pairs.array(), pairs.size()));
    }

    private static void writeExtension(Pack out, Object value) {
        if (value instanceof Byte) {
            number(out, INT8, (Byte) value, 1);
        } else if (value instanceof Short) {
            number(out, INT16, (Short) value, 2);
        } else if (value instanceof Integer) {
            number(out, INT32, (Integer) value, 4);
        } else if (value instanceof Float) {
            number(out, FLOAT32, Double.doubleToRawLongBits((Float) value), 8);
        } else if (value instanceof Double) {
            // JSON would represent the value as a string
            number(out, NOT_FINITE, Double.doubleToRawLongBits((Double) value), 8);
        } else if (value instanceof BigDecimal) {
            out.extension(DECIMAL, value.toString().getBytes(StandardCharsets.US_ASCII));
        } else if (value instanceof Date) {
            number(out, DATE, ((Date) value).getTime(), 8);
        } else {
            throw new DataException("the value is a " + value.getClass().getName() + ", which Connect's data does not have");
        }
    }

    private static void number(Pack out, int type, long value, int width) {
        Pack bytes = new Pack();
        bytes.number(value, width);
        out.extension(type, java.util.Arrays.copyOf(bytes.array(), bytes.size()));
    }
}
