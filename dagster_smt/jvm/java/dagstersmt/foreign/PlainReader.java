package dagstersmt.foreign;

import dagstersmt.Words;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads plain JSON in less than half of the time that Jackson takes. Errors, large numbers, deep nesting, and features
 * that only Jackson supports are left to Jackson. Not safe for several threads.
 */
final class PlainReader {
    private static final int MOST_DEPTH = 100;
    // This many digits always fit into 64 bits.
    private static final int MOST_DIGITS = 18;
    private static final int LONGEST_NUMBER = 100;
    private static final int MOST_OF_EXPONENT = 3;
    private static final int LONGEST_TEXT = 1 << 20;
    private static final int LONGEST_NAME = 100;
    /**
     * The powers of ten that a double represents exactly. The quotient of two exact numbers is rounded in the same way
     * as the decimal number.
     */
    private static final double[] POWERS = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13,
        1e14, 1e15};
    private static final int NAMES = 1024;
    private final String[] names = new String[NAMES];
    private final byte[][] bytesOfNames = new byte[NAMES][];
    private byte[] text;
    private int at;
    private int end;

    /** Thrown for a text that is not plain. */
    static final class NotPlain extends Exception {
        private static final long serialVersionUID = 1L;
        private static final NotPlain ONE = new NotPlain();

        private NotPlain() {
            super("not plain", null, false, false);
        }
    }

    /** Returns the value in a JSON text. */
    Object read(byte[] data, int start, int length) throws NotPlain {
        text = data;
        at = start;
        end = start + length;
        blanks();
        Object value = value(0);
        blanks();
        if (at < end) {
            throw NotPlain.ONE;
        }
        return value;
    }

    /** Returns the next byte. Returns 0 at the end, because 0 never occurs in plain JSON. */
    private int peek() {
        return at < end ? text[at] : 0;
    }

    private void blanks() {
        int c = peek();
        while (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
            at++;
            c = peek();
        }
    }

    private boolean skips(char expected) {
        if (peek() != expected) {
            return false;
        }
        at++;
        return true;
    }

    private void expect(String expected) throws NotPlain {
        for (int n = 0; n < expected.length(); n++) {
            if (!skips(expected.charAt(n))) {
                throw NotPlain.ONE;
            }
        }
    }

    private Object value(int depth) throws NotPlain {
        switch (peek()) {
            case '"':
                at++;
                return string();
            case '{':
                at++;
                return map(depth + 1);
            case '[':
                at++;
                return list(depth + 1);
            case 't':
                expect("true");
                return Boolean.TRUE;
            case 'f':
                expect("false");
                return Boolean.FALSE;
            case 'n':
                expect("null");
                return null;
            default:
                return number();
        }
    }

    private Map<String, Object> map(int depth) throws NotPlain {
        check(depth <= MOST_DEPTH);
        Map<String, Object> map = new HashMap<>();
        blanks();
        if (skips('}')) {
            return map;
        }
        do {
            blanks();
            check(skips('"'));
            String name = name();
            blanks();
            check(skips(':'));
            blanks();
            map.put(name, value(depth));
            blanks();
        } while (skips(','));
        check(skips('}'));
        return map;
    }

    private List<Object> list(int depth) throws NotPlain {
        check(depth <= MOST_DEPTH);
        List<Object> list = new ArrayList<>();
        blanks();
        if (skips(']')) {
            return list;
        }
        do {
            blanks();
            list.add(value(depth));
            blanks();
        } while (skips(','));
        check(skips(']'));
        return list;
    }

    private static void check(boolean plain) throws NotPlain {
        if (!plain) {
            throw NotPlain.ONE;
        }
    }

    /**
     * Returns a name. Equal names are the same object, so that comparisons are fast. This is possible because records
     * have few different names.
     */
    private String name() throws NotPlain {
        int start = at;
        int stop = Words.afterPlain(text, start, end);
        if (stop >= end || text[stop] != '"' || stop - start > LONGEST_NAME) {
            return string();
        }
        at = stop + 1;
        int place = Words.hash(text, start, stop) & NAMES - 1;
        byte[] bytes = bytesOfNames[place];
        if (bytes == null || !Arrays.equals(bytes, 0, bytes.length, text, start, stop)) {
            bytesOfNames[place] = Arrays.copyOfRange(text, start, stop);
            names[place] = new String(text, start, stop - start, StandardCharsets.ISO_8859_1);
        }
        return names[place];
    }

    private String string() throws NotPlain {
        int start = at;
        int stop = Words.afterPlain(text, start, end);
        boolean ascii = true;
        boolean escapes = false;
        while (stop < end && text[stop] != '"') {
            if (text[stop] == '\\') {
                escapes = true;
                stop++;
            } else {
                check(text[stop] < 0); // no control character
                ascii = false;
            }
            stop = Words.afterPlain(text, Math.min(stop + 1, end), end);
        }
        check(stop < end && stop - start <= LONGEST_TEXT);
        at = stop + 1;
        if (ascii && !escapes) {
            return new String(text, start, stop - start, StandardCharsets.ISO_8859_1);
        }
        String string = new String(text, start, stop - start, StandardCharsets.UTF_8);
        check(string.indexOf('\uFFFD') < 0); // Jackson reports the problem of the bytes
        return escapes ? withoutEscapes(string) : string;
    }

    private static String withoutEscapes(String string) throws NotPlain {
        StringBuilder out = new StringBuilder(string.length());
        int from = 0;
        for (int n = string.indexOf('\\'); n >= 0; n = string.indexOf('\\', from)) {
            out.append(string, from, n);
            char escape = string.charAt(n + 1);
            int known = "\"\\/bfnrt".indexOf(escape);
            from = n + 2;
            if (known >= 0) {
                out.append("\"\\/\b\f\n\r\t".charAt(known));
                continue;
            }
            check(escape == 'u' && from + 4 <= string.length());
            out.append(unicode(string, from));
            from += 4;
        }
        return out.append(string, from, string.length()).toString();
    }

    private static char unicode(String string, int from) throws NotPlain {
        int code = 0;
        for (int n = from; n < from + 4; n++) {
            char c = string.charAt(n);
            int digit = c < 128 ? Character.digit(c, 16) : -1;
            check(digit >= 0);
            code = code << 4 | digit;
        }
        return (char) code;
    }

    private Object number() throws NotPlain {
        int start = at;
        boolean negative = skips('-');
        int first = at;
        long digits = digits(0);
        int count = at - first;
        // JSON has no zeros at the beginning of a number
        check(count > 0 && count <= MOST_DIGITS && (count == 1 || text[first] != '0'));
        int next = peek();
        if (next == '.' || next == 'e' || next == 'E') {
            return real(start, negative, digits, count);
        }
        return negative ? -digits : digits;
    }

    /**
     * Reads digits that follow the number {@code before}. If there are more than {@code MOST_DIGITS}, the result has no
     * meaning.
     */
    private long digits(long before) {
        long number = before;
        for (int c = peek(); c >= '0' && c <= '9'; c = peek()) {
            number = 10 * number + (c - '0');
            at++;
        }
        return number;
    }

    private Double real(int start, boolean negative, long whole, int count) throws NotPlain {
        long digits = whole;
        int places = 0;
        if (skips('.')) {
            int first = at;
            digits = digits(whole);
            places = at - first;
            check(places > 0);
        }
        boolean exponent = skips('e') || skips('E');
        if (exponent) {
            if (!skips('-')) {
                skips('+');
            }
            int first = at;
            digits(0);
            check(at > first && at - first <= MOST_OF_EXPONENT);
        }
        check(at - start <= LONGEST_NUMBER);
        if (!exponent && count + places < POWERS.length) {
            double number = digits / POWERS[places];
            return negative && number != 0 ? -number : number; // Connect reads -0.0 as 0.0
        }
        double number = Double.parseDouble(new String(text, start, at - start, StandardCharsets.ISO_8859_1));
        // the number may be -0.0, or too small for a double: Jackson decides
        check(number != 0);
        return number;
    }
}
