package dagstersmt.foreign;

import java.nio.charset.StandardCharsets;

/** Reads MessagePack. The sender is this package's own Python code, so invalid MessagePack is a bug in this package. */
final class Unpack {
    private final byte[] bytes;
    private int at;

    Unpack(byte[] bytes) {
        this.bytes = bytes;
    }

    /** Returns true if the next value is nil. In that case, nil is skipped. */
    boolean nil() {
        if ((bytes[at] & 0xff) != 0xc0) {
            return false;
        }
        at++;
        return true;
    }

    /** Returns the first byte of the next value, which determines its type. */
    int peek() {
        return bytes[at] & 0xff;
    }

    boolean bool() {
        return (bytes[at++] & 0xff) == 0xc3;
    }

    long integer() {
        int head = bytes[at++] & 0xff;
        if (head < 0x80) {
            return head;
        }
        // e0 to ff are the numbers -32 to -1
        if (head >= 0xe0) {
            return (byte) head;
        }
        switch (head) {
            case 0xcc:
                return number(1);
            case 0xcd:
                return number(2);
            case 0xce:
                return number(4);
            case 0xcf:
            case 0xd3:
                return number(8);
            case 0xd0:
                return (byte) number(1);
            case 0xd1:
                return (short) number(2);
            case 0xd2:
                return (int) number(4);
            default:
                throw unexpected(head);
        }
    }

    /** Reads an integer, or null for nil. */
    Long optionalInteger() {
        return nil() ? null : Long.valueOf(integer());
    }

    double real() {
        int head = bytes[at] & 0xff;
        if (head == 0xcb) {
            at++;
            return Double.longBitsToDouble(number(8));
        }
        return integer();
    }

    /** Reads a string, or null for nil. */
    String text() {
        if (nil()) {
            return null;
        }
        int head = bytes[at++] & 0xff;
        int length;
        if ((head & 0xe0) == 0xa0) {
            length = head & 0x1f;
        } else if (head >= 0xd9 && head <= 0xdb) {
            // after d9, da and db, the length takes 1, 2 and 4 bytes
            length = (int) number(1 << (head - 0xd9));
        } else {
            throw unexpected(head);
        }
        at += length;
        return new String(bytes, at - length, length, StandardCharsets.UTF_8);
    }

    /** Reads bytes, or null for nil. */
    byte[] binary() {
        if (nil()) {
            return null;
        }
        int head = bytes[at++] & 0xff;
        if (head < 0xc4 || head > 0xc6) {
            throw unexpected(head);
        }
        // after c4, c5 and c6, the length takes 1, 2 and 4 bytes
        return raw((int) number(1 << (head - 0xc4)));
    }

    int array() {
        int head = bytes[at++] & 0xff;
        if ((head & 0xf0) == 0x90) {
            return head & 0x0f;
        }
        if (head != 0xdc && head != 0xdd) {
            throw unexpected(head);
        }
        return (int) number(head == 0xdc ? 2 : 4);
    }

    int map() {
        int head = bytes[at++] & 0xff;
        if ((head & 0xf0) == 0x80) {
            return head & 0x0f;
        }
        if (head != 0xde && head != 0xdf) {
            throw unexpected(head);
        }
        return (int) number(head == 0xde ? 2 : 4);
    }

    /**
     * Returns the length of a value with one of this package's extension types. The type follows, and is read with
     * {@code type}.
     */
    int extension() {
        int head = bytes[at++] & 0xff;
        if (head >= 0xd4 && head <= 0xd8) {
            return 1 << (head - 0xd4);
        }
        if (head < 0xc7 || head > 0xc9) {
            throw unexpected(head);
        }
        return (int) number(1 << (head - 0xc7));
    }

    int type() {
        return bytes[at++];
    }

    byte[] raw(int length) {
        at += length;
        return java.util.Arrays.copyOfRange(bytes, at - length, at);
    }

    long number(int width) {
        long value = 0;
        for (int n = 0; n < width; n++) {
            value = value << 8 | bytes[at++] & 0xff;
        }
        return value;
    }

    private static IllegalStateException unexpected(int head) {
        return new IllegalStateException("unexpected type " + head);
    }
}
