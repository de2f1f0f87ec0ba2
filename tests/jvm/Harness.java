import dagstersmt.Records;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.unsafe.types.UTF8String;

/** Runs records that it reads from its input through programs, without Spark: see harness.py. */
public class Harness {
  public static void main(String[] arguments) throws IOException {
    DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
    DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out));
    while (true) {
      byte[] program = bytes(in);
      if (program == null) {
        return;
      }
      UTF8String text = UTF8String.fromBytes(program);
      int count = in.readInt();
      for (int i = 0; i < count; i++) {
        run(in, out, text);
      }
      out.flush();
    }
  }

  private static void run(DataInputStream in, DataOutputStream out, UTF8String program) throws IOException {
    byte[] key = bytes(in);
    byte[] value = bytes(in);
    byte[] topic = bytes(in);
    UTF8String name = topic == null ? null : UTF8String.fromBytes(topic);
    InternalRow row = Records.invoke(key, value, name, in.readLong(), in.readLong(), in.readLong(), program);
    out.writeByte(row.getByte(0));
    out.writeInt(row.getInt(1));
    out.writeLong(row.getLong(2));
    write(out, row.isNullAt(3) ? null : row.getBinary(3));
    write(out, row.isNullAt(4) ? null : row.getBinary(4));
    write(out, row.isNullAt(5) ? null : row.getUTF8String(5).getBytes());
  }

  private static byte[] bytes(DataInputStream in) throws IOException {
    int length = in.readInt();
    return length < 0 ? null : in.readNBytes(length);
  }

  private static void write(DataOutputStream out, byte[] bytes) throws IOException {
    out.writeInt(bytes == null ? -1 : bytes.length);
    if (bytes != null) {
      out.write(bytes);
    }
  }
}
