package dagstersmt.foreign;

import java.nio.charset.StandardCharsets;

/** Writes MessagePack, in which records are sent between Python and this process. */
final class Pack {
    private byte[] bytes = new byte[1 << 16];
    private int size;

    void clear() {
        size = 0;
    }

    byte[] array() {
        return bytes;
    }

    int size() {
        return size;
    }

    void nil() {
        one(0xc0);
    }

    void bool(boolean value) {
        one(value ? 0xc3 : 0xc2);
    }

    void integer(long value) {
        if (value >= -32 && value < 128) {
            one((int) value);
        } else if (value >= Integer.MIN_VALUE && value <= Integer.MAX_VALUE) {
            one(0xd2);
            number(value, 4);
        } else {
            one(0xd3);
            number(value, 8);
        }
    }

    void real(double value) {
        one(0xcb);
        number(Double.doubleToRawLongBits(value), 8);
    }

    /** Writes a string, or nil for null. */
    void text(String value) {
        if (value == null) {
            nil();
            return;
        }
        byte[] utf8 = value.getBytes(StandardCharsets.UTF_8);
        if (utf8.length < 32) {
            one(0xa0 | utf8.length);
        } else {
            one(0xdb);
            number(utf8.length, 4);
        }
        raw(utf8, 0, utf8.length);
    }

    /** Writes bytes, or nil for null. */
    void binary(byte[] value) {
        if (value == null) {
            nil();
            return;
        }
        binary(value, value.length);
    }

    void binary(byte[] value, int length) {
        one(0xc6);
        number(length, 4);
        raw(value, 0, length);
    }

    void array(int length) {
        if (length < 16) {
            one(0x90 | length);
        } else {
            one(0xdd);
            number(length, 4);
        }
    }

    void map(int length) {
        if (length < 16) {
            one(0x80 | length);
        } else {
            one(0xdf);
            number(length, 4);
        }
    }

    /** Writes a value with one of this package's extension types ({@link Free}). */
    void extension(int type, byte[] value) {
        one(0xc9);
        number(value.length, 4);
        one(type);
        raw(value, 0, value.length);
    }

    /** Reserves four bytes for a number, and returns their position. */
    int reserve() {
        room(4);
        size += 4;
        return size - 4;
    }

    /** Writes a number into four reserved bytes. */
    void fill(int place, int value) {
        int end = size;
        size = place;
        number(value, 4);
        size = end;
    }

    /** Removes everything that was written after a position. */
    void cut(int place) {
        size = place;
    }

    void number(long value, int width) {
        room(width);
        for (int shift = 8 * (width - 1); shift >= 0; shift -= 8) {
            bytes[size++] = (byte) (value >>> shift);
        }
    }

    void raw(byte[] from, int start, int length) {
        room(length);
        System.arraycopy(from, start, bytes, size, length);
        size += length;
    }

    private void one(int value) {
        room(1);
        bytes[size++] = (byte) value;
    }

    private void room(int more) {
        if (bytes.length - size < more) {
            bytes = java.util.Arrays.copyOf(bytes, Math.max(bytes.length * 2, size + more));
        }
    }
}
