package dagstersmt.foreign;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.storage.Converter;

/** Holds the plain reader and the plain writer of JSON to Connect's own converter, on random texts and values. */
public final class PlainJsonJudge {
    private static final String[] SCALARS = {"0", "-0", "1", "-12", "9223372036854775807", "9223372036854775808",
        "123456789012345678", "1234567890123456789", "00", "01", "-", "+1", "1.", ".5", "0.0", "-0.0", "1.5", "-2.25",
        "1e5", "1E+2", "1e-400", "-1e-400", "1e400", "0e5", "1e", "0.7579544029403025", "123456789.123456",
        "123456789012345.6", "0.000000000000001", "9007199254740993.0", "4.35", "0.1", "2.675", "1.7976931348623157e308",
        "true", "false", "null", "tru", "nul", "NaN", "Infinity", "\"\"", "\"a\"", "\"a?b\"", "\"\\n\\t\\\"\\\\\\/\\b\\f\\r\"",
        "\"\\u00e9\\u0000\\ud83d\\ude00\"", "\"\\ud83d\"", "\"\\u12\"", "\"\\x\"", "\"é\"", "\"中文 text\"", "\"😀\"",
        "\"\u007f\u2028\uFFFD\"", "\"a\nb\"", "'a'", "\"open", "\"a long text that has more than eight bytes\""};
    private static final String[] NAMES = {"\"a\"", "\"b\"", "\"a\"", "\"é\"", "\"a.b\"", "\"\"", "\"\\u0061\"", "a", "\"x y\""};
    private static final String[] BLANKS = {"", "", "", " ", "\n", "\t", "\r", "\u00a0"};
    private static final Object[] VALUES = {null, true, false, 1L, -5L, Long.MIN_VALUE, Long.MAX_VALUE, 7, (short) 3,
        (byte) 2, 0.5, -0.0, 1e300, 1e-7, 100.0, 1.0E10, Double.NaN, Double.POSITIVE_INFINITY, 2.5f, "", "a", "a?b",
        "\ud83d", "\ude00\ud83d", "😀", "é", "中", "\u007f", "\u2028", "\"\\/\b\f\n\r\t", "\u0001", "\u001f",
        "a long text that has more than eight bytes, and an é", new byte[] {1, 2}, new java.math.BigDecimal("1.50")};
    private final Random random;
    private final Converter converter = Sides.json("false");
    private final PlainReader reader = new PlainReader();
    private final PlainWriter writer = new PlainWriter();
    private int read;
    private int refused;
    private int written;

    private PlainJsonJudge(long seed) {
        random = new Random(seed);
    }

    /** Arguments: a seed, and how many texts. Prints how many were read, refused by both, and written. */
    public static void main(String[] arguments) {
        PlainJsonJudge judge = new PlainJsonJudge(Long.parseLong(arguments[0]));
        for (int n = Integer.parseInt(arguments[1]); n > 0; n--) {
            judge.reads(judge.text());
            judge.writes(judge.value(0));
        }
        System.out.println(judge.read + " " + judge.refused + " " + judge.written);
    }

    private void reads(byte[] text) {
        Object plain;
        byte[] around = new byte[text.length + 5]; // a text may lie anywhere in some bytes
        Arrays.fill(around, (byte) '1');
        System.arraycopy(text, 0, around, 3, text.length);
        try {
            plain = reader.read(around, 3, text.length);
        } catch (PlainReader.NotPlain e) {
            refused++;
            return; // Jackson reads it
        }
        SchemaAndValue original = converter.toConnectData("t", text);
        if (!shown(plain).equals(shown(original.value()))) {
            throw new AssertionError(new String(text, StandardCharsets.UTF_8) + " is read as " + shown(plain));
        }
        read++;
        writes(plain);
    }

    private void writes(Object value) {
        if (value == null) {
            return; // Sides knows what a missing value is
        }
        byte[] plain = writer.write(value);
        if (plain == null) {
            return; // the converter writes it
        }
        if (!Arrays.equals(plain, converter.fromConnectData("t", null, value))) {
            throw new AssertionError(value + " is written as " + new String(plain, StandardCharsets.UTF_8));
        }
        written++;
    }

    /** Returns a value with its classes, and with the order of a map's entries. */
    private static String shown(Object value) {
        StringBuilder out = new StringBuilder();
        if (value instanceof Map) {
            ((Map<?, ?>) value).forEach((key, child) -> out.append(shown(key)).append(':').append(shown(child)).append(','));
        } else if (value instanceof List) {
            ((List<?>) value).forEach(child -> out.append(shown(child)).append(','));
        }
        boolean whole = value instanceof Map || value instanceof List;
        return (value == null ? "null" : value.getClass().getSimpleName()) + "(" + (whole ? out : value) + ")";
    }

    private byte[] text() {
        StringBuilder out = new StringBuilder();
        text(out, 0);
        byte[] bytes = out.toString().getBytes(StandardCharsets.UTF_8);
        if (bytes.length > 0 && random.nextInt(4) == 0) {
            bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
        }
        return bytes;
    }

    private void text(StringBuilder out, int depth) {
        blank(out);
        int kind = random.nextInt(depth > 4 ? 2 : 6);
        if (kind < 2) {
            out.append(SCALARS[random.nextInt(SCALARS.length)]);
        } else {
            boolean object = kind < 5;
            out.append(object ? '{' : '[');
            for (int n = random.nextInt(4); n > 0; n--) {
                if (object) {
                    blank(out);
                    out.append(NAMES[random.nextInt(NAMES.length)]);
                    blank(out);
                    out.append(':');
                }
                text(out, depth + 1);
                out.append(n > 1 || random.nextInt(40) == 0 ? "," : "");
            }
            out.append(object ? '}' : ']');
        }
        blank(out);
    }

    private void blank(StringBuilder out) {
        out.append(BLANKS[random.nextInt(random.nextInt(10) == 0 ? BLANKS.length : 3)]);
    }

    private Object value(int depth) {
        int kind = random.nextInt(depth > 3 ? 1 : 4);
        if (kind < 2) {
            return VALUES[random.nextInt(VALUES.length)];
        }
        List<Object> list = new ArrayList<>();
        Map<Object, Object> map = new HashMap<>();
        for (int n = random.nextInt(4); n > 0; n--) {
            list.add(value(depth + 1));
            map.put(random.nextInt(30) == 0 ? (Object) 5L : "k" + n + VALUES[random.nextInt(VALUES.length)], value(depth + 1));
        }
        return kind == 2 ? list : map;
    }
}
