package dagstersmt.foreign;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.util.Set;

/**
 * Finds calls that end the JVM. The search reads the constants of a class file, so it does not find calls by
 * reflection.
 */
final class EndsJvm {
    private static final Set<String> METHODS = Set.of("java/lang/System.exit", "java/lang/Runtime.exit",
            "java/lang/Runtime.halt", "org/apache/kafka/common/utils/Exit.exit",
            "org/apache/kafka/common/utils/Exit.halt");
    private static final int UTF8 = 1;
    private static final int LONG = 5;
    private static final int DOUBLE = 6;
    private static final int CLASS = 7;
    private static final int METHOD = 10;
    private static final int NAME_AND_TYPE = 12;
    private static final int METHOD_HANDLE = 15;
    private final String[] texts;
    /**
     * For each constant, the numbers of the constants to which it refers. A class refers to its name, and a method
     * refers to its class and to its name.
     */
    private final int[] firsts;
    private final int[] seconds;
    private final int[] kinds;

    private EndsJvm(DataInputStream in) throws IOException {
        in.readLong(); // magic and version
        int count = in.readUnsignedShort();
        texts = new String[count];
        firsts = new int[count];
        seconds = new int[count];
        kinds = new int[count];
        for (int n = 1; n < count; n++) {
            kinds[n] = in.readUnsignedByte();
            read(in, n);
            if (kinds[n] == LONG || kinds[n] == DOUBLE) {
                n++; // these constants take two numbers
            }
        }
    }

    private void read(DataInputStream in, int n) throws IOException {
        switch (kinds[n]) {
            case UTF8:
                texts[n] = in.readUTF();
                break;
            case CLASS:
            case 8: // a text
            case 16: // the type of a method
            case 19: // a module
            case 20: // a package
                firsts[n] = in.readUnsignedShort();
                break;
            case METHOD_HANDLE:
                in.readUnsignedByte();
                firsts[n] = in.readUnsignedShort();
                break;
            case LONG:
            case DOUBLE:
                in.readLong();
                break;
            default: // all other constants take four bytes
                firsts[n] = in.readUnsignedShort();
                seconds[n] = in.readUnsignedShort();
        }
    }

    private boolean isMethod() {
        for (int n = 1; n < kinds.length; n++) {
            if (kinds[n] == METHOD && kinds[seconds[n]] == NAME_AND_TYPE
                    && METHODS.contains(texts[firsts[firsts[n]]] + "." + texts[firsts[seconds[n]]])) {
                return true;
            }
        }
        return false;
    }

    /** Returns true if a class calls, or may call, a method that ends the JVM. */
    static boolean isCalled(byte[] file) {
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(file))) {
            return new EndsJvm(in).isMethod();
        } catch (IOException | ArrayIndexOutOfBoundsException e) {
            return true; // the file is not a class file, so Java does not load it either
        }
    }
}
