package dagstersmt.foreign;

import dagstersmt.ConnectRow;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Runs records of a file through stages, each list of records through its own, as Spark's JVM does, without Spark. */
public final class LocalHarness {
    private LocalHarness() {}

    /** Arguments: the file of the records, and the file of the results. */
    public static void main(String[] arguments) throws IOException {
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(Files.newInputStream(Path.of(arguments[0]))));
                DataOutputStream out = new DataOutputStream(
                        new BufferedOutputStream(Files.newOutputStream(Path.of(arguments[1]))))) {
            for (int cases = in.readInt(); cases > 0; cases--) {
                runCase(in, out);
            }
        }
    }

    private static void runCase(DataInputStream in, DataOutputStream out) throws IOException {
        String setup = text(in);
        LocalStages stages;
        try {
            stages = new LocalStages(setup);
        } catch (RuntimeException | LinkageError e) {
            stages = null;
        }
        for (int records = in.readInt(); records > 0; records--) {
            ConnectRow row = read(in);
            boolean ran = stages != null && stages.run(row);
            out.writeBoolean(ran);
            if (ran) {
                write(out, row);
            }
        }
        if (stages != null) {
            stages.close();
        }
    }

    private static ConnectRow read(DataInputStream in) throws IOException {
        ConnectRow row = new ConnectRow();
        row.key = bytes(in);
        row.value = bytes(in);
        row.topic = text(in);
        row.partition = in.readInt();
        row.offset = in.readLong();
        row.timestamp = in.readBoolean() ? in.readLong() : null;
        row.timestampType = in.readInt();
        row.headers = new Object[2 * in.readInt()];
        for (int n = 0; n < row.headers.length; n += 2) {
            row.headers[n] = text(in);
            row.headers[n + 1] = bytes(in);
        }
        return row;
    }

    private static void write(DataOutputStream out, ConnectRow row) throws IOException {
        out.writeInt(row.status);
        out.writeInt(row.stage);
        write(out, row.thrown);
        write(out, row.key);
        write(out, row.value);
        write(out, row.topic);
        write(out, row.partition == null ? null : row.partition.toString());
        write(out, row.timestamp == null ? null : row.timestamp.toString());
        int headers = row.headers == null ? -1 : row.headers.length / 2;
        out.writeInt(headers);
        for (int n = 0; n < headers; n++) {
            write(out, (String) row.headers[2 * n]);
            write(out, (byte[]) row.headers[2 * n + 1]);
        }
    }

    private static String text(DataInputStream in) throws IOException {
        byte[] bytes = bytes(in);
        return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
    }

    private static byte[] bytes(DataInputStream in) throws IOException {
        int length = in.readInt();
        return length < 0 ? null : in.readNBytes(length);
    }

    private static void write(DataOutputStream out, String text) throws IOException {
        write(out, text == null ? null : text.getBytes(StandardCharsets.UTF_8));
    }

    private static void write(DataOutputStream out, byte[] bytes) throws IOException {
        out.writeInt(bytes == null ? -1 : bytes.length);
        if (bytes != null) {
            out.write(bytes);
        }
    }
}
