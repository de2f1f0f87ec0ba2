package dagstersmt.foreign;

import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * Writes plain values as Connect's {@code JsonConverter} does. Plain values have JSON's types, and Jackson escapes no
 * character of their strings by number. Not safe for several threads.
 */
final class PlainWriter {
    private static final int MOST_DEPTH = 100;
    /** For each character below 128, true if it needs no escape in a string. */
    private static final boolean[] PLAIN = plain();
    private byte[] bytes = new byte[1024];
    private int size;

    /** Returns a value as JSON text; null if only the converter can write it. */
    byte[] write(Object value) {
        size = 0;
        return isWritten(value, 0) ? Arrays.copyOf(bytes, size) : null;
    }

    private boolean isWritten(Object value, int depth) {
        if (value == null) {
            addAscii("null");
        } else if (value instanceof String) {
            return isTextWritten((String) value);
        } else if (value instanceof Long || value instanceof Integer || value instanceof Boolean) {
            addAscii(value.toString());
        } else if (value instanceof Double && Double.isFinite((Double) value)) {
            addAscii(value.toString());
        } else if (value instanceof Map) {
            return depth < MOST_DEPTH && isMapWritten((Map<?, ?>) value, depth + 1);
        } else if (value instanceof List) {
            return depth < MOST_DEPTH && isListWritten((List<?>) value, depth + 1);
        } else {
            return false;
        }
        return true;
    }

    private boolean isMapWritten(Map<?, ?> map, int depth) {
        add('{');
        boolean first = true;
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            if (!first) {
                add(',');
            }
            first = false;
            if (!(entry.getKey() instanceof String) || !isTextWritten((String) entry.getKey())) {
                return false;
            }
            add(':');
            if (!isWritten(entry.getValue(), depth)) {
                return false;
            }
        }
        add('}');
        return true;
    }

    private boolean isListWritten(List<?> list, int depth) {
        add('[');
        boolean first = true;
        for (Object item : list) {
            if (!first) {
                add(',');
            }
            first = false;
            if (!isWritten(item, depth)) {
                return false;
            }
        }
        add(']');
        return true;
    }

    private boolean isTextWritten(String text) {
        int length = text.length();
        reserve(3 * length + 2); // no character needs more than three bytes in UTF-8
        byte[] out = bytes;
        int to = size;
        out[to++] = '"';
        for (int n = 0; n < length; n++) {
            char c = text.charAt(n);
            if (c < 0x80 && PLAIN[c]) {
                out[to++] = (byte) c;
                continue;
            }
            int escape = "\"\\\b\f\n\r\t".indexOf(c);
            if (escape >= 0) {
                out[to++] = '\\';
                out[to++] = (byte) "\"\\bfnrt".charAt(escape);
            } else if (c < ' ' || Character.isSurrogate(c)) {
                return false;
            } else if (c < 0x800) {
                out[to++] = (byte) (0xC0 | c >> 6);
                out[to++] = (byte) (0x80 | c & 0x3F);
            } else {
                out[to++] = (byte) (0xE0 | c >> 12);
                out[to++] = (byte) (0x80 | c >> 6 & 0x3F);
                out[to++] = (byte) (0x80 | c & 0x3F);
            }
        }
        out[to++] = '"';
        size = to;
        return true;
    }

    private static boolean[] plain() {
        boolean[] plain = new boolean[0x80];
        for (char c = ' '; c < plain.length; c++) {
            plain[c] = c != '"' && c != '\\';
        }
        return plain;
    }

    private void addAscii(String text) {
        int length = text.length();
        reserve(length);
        for (int n = 0; n < length; n++) {
            bytes[size + n] = (byte) text.charAt(n);
        }
        size += length;
    }

    private void add(int c) {
        reserve(1);
        bytes[size++] = (byte) c;
    }

    private void reserve(int more) {
        if (size + more > bytes.length) {
            bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, size + more));
        }
    }
}
