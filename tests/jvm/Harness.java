import dagstersmt.Records;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
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
    ArrayData headers = headers(in);
    InternalRow row = Records.invoke(key, value, name, in.readLong(), in.readLong(), in.readLong(), headers, program);
    out.writeByte(row.getByte(0));
    out.writeInt(row.getInt(1));
    writeWords(out, row);
    write(out, row.isNullAt(4) ? null : row.getBinary(4));
    write(out, row.isNullAt(5) ? null : row.getBinary(5));
    write(out, row.isNullAt(6) ? null : row.getUTF8String(6).getBytes());
    out.writeLong(row.isNullAt(7) ? Long.MIN_VALUE : row.getLong(7));
    writeHeaders(out, row.isNullAt(8) ? null : row.getArray(8));
  }

  private static void writeWords(DataOutputStream out, InternalRow row) throws IOException {
    long[] words = row.isNullAt(3) ? new long[] {row.getLong(2)} : row.getArray(3).toLongArray();
    out.writeInt(words.length);
    for (long word : words) {
      out.writeLong(word);
    }
  }

  private static ArrayData headers(DataInputStream in) throws IOException {
    int count = in.readInt();
    Object[] headers = new Object[Math.max(count, 0)];
    for (int i = 0; i < count; i++) {
      headers[i] = new GenericInternalRow(new Object[] {UTF8String.fromBytes(bytes(in)), bytes(in)});
    }
    return count < 0 ? null : new GenericArrayData(headers);
  }

  private static void writeHeaders(DataOutputStream out, ArrayData headers) throws IOException {
    out.writeInt(headers == null ? -1 : headers.numElements());
    for (int i = 0; headers != null && i < headers.numElements(); i++) {
      InternalRow header = headers.getStruct(i, 2);
      write(out, header.getUTF8String(0).getBytes());
      write(out, header.isNullAt(1) ? null : header.getBinary(1));
    }
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
