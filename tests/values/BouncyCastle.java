import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.bouncycastle.crypto.fpe.FPEFF1Engine;
import org.bouncycastle.crypto.params.FPEParameters;
import org.bouncycastle.crypto.params.KeyParameter;
import org.bouncycastle.util.encoders.Hex;

/** Encrypts lines of "key radix tweak numerals" with Bouncy Castle's FF1. */
final class BouncyCastle {
  public static void main(String[] arguments) throws Exception {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] words = line.split(" ");
      byte[] tweak = words[2].equals("-") ? new byte[0] : Hex.decode(words[2]);
      FPEFF1Engine engine = new FPEFF1Engine();
      engine.init(true, new FPEParameters(new KeyParameter(Hex.decode(words[0])), Integer.parseInt(words[1]), tweak));
      byte[] text = Hex.decode(words[3]);
      engine.processBlock(text, 0, text.length, text, 0);
      System.out.println(Hex.toHexString(text));
    }
  }
}
