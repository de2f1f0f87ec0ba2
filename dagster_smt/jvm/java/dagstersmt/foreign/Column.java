package dagstersmt.foreign;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** The bytes of many records, as in Arrow: the lengths (-1 for null), and the bytes one after the other. */
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
