import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.HexFormat;

/** Prints what the lane's AES-SIV makes of a key, associated data and a plain text, and what it reads back. */
public class SivVector {
  public static void main(String[] arguments) throws ReflectiveOperationException {
    Class<?> type = Class.forName("dagstersmt.Siv");
    Constructor<?> constructor = type.getDeclaredConstructor(byte[].class);
    constructor.setAccessible(true);
    Object siv = constructor.newInstance((Object) bytes(arguments[0]));
    byte[] sealed = called(type, siv, "seal", bytes(arguments[2]), bytes(arguments[1]));
    byte[] opened = called(type, siv, "open", sealed, bytes(arguments[1]));
    System.out.println(HexFormat.of().formatHex(sealed) + " " + HexFormat.of().formatHex(opened));
  }

  private static byte[] called(Class<?> type, Object siv, String name, byte[] data, byte[] associated)
      throws ReflectiveOperationException {
    Method method = type.getDeclaredMethod(name, byte[].class, byte[].class);
    method.setAccessible(true);
    return (byte[]) method.invoke(siv, data, associated);
  }

  private static byte[] bytes(String digits) {
    return HexFormat.of().parseHex(digits);
  }
}
