package dagstersmt.foreign;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The bytes of many records, stored as in Arrow: first all lengths (-1 for null), and then the bytes of all records.
 */
final class Column {
    private final ByteBuffer lengths;
    private final byte[] data;
    private int at;

    /** Reads a column. Nil stands for a column that contains only nulls. */
    Column(Unpack in) {
        if (in.nil()) {
            lengths = null;
            data = new byte[0];
            return;
        }
        in.array();
        lengths = little(in.binary());
        data = in.binary();
    }

    static ByteBuffer little(byte[] bytes) {
        return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    byte[] data() {
        return data;
    }

    /** Returns the length of a record's bytes; -1 for null. Records must be requested in order. */
    int length(int record) {
        return lengths == null ? -1 : lengths.getInt(4 * record);
    }

    /** Returns the position of the next record's bytes. */
    int next(int length) {
        int start = at;
        at += Math.max(length, 0);
        return start;
    }

    byte[] copy(int start, int length) {
        return java.util.Arrays.copyOfRange(data, start, start + length);
    }
}
