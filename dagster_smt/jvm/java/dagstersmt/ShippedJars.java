package dagstersmt;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import org.apache.spark.SparkFiles;

/** The jars of foreign stages on an executor of a cluster: {@code spark/foreign_jars.py} packs and ships them. */
final class ShippedJars {
  /** By archive. The first task of this JVM unpacks it. */
  private static final Map<String, File> FOLDERS = new ConcurrentHashMap<>();

  private ShippedJars() {}

  /** Returns the folder with the jars of an archive. */
  static File folder(String archive) {
    return FOLDERS.computeIfAbsent(archive, ShippedJars::unpacked);
  }

  private static File unpacked(String archive) {
    Path file = Path.of(SparkFiles.get(archive)).toAbsolutePath().normalize();
    try (ZipInputStream in = new ZipInputStream(Files.newInputStream(file))) {
      // a folder of its own: Python workers unpack the archive for the host
      Path folder = Files.createTempDirectory(file.getParent(), archive + "-");
      for (ZipEntry entry = in.getNextEntry(); entry != null; entry = in.getNextEntry()) {
        copy(in, folder, entry);
      }
      return folder.toFile();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void copy(InputStream in, Path folder, ZipEntry entry) throws IOException {
    Path target = folder.resolve(entry.getName()).normalize();
    if (!target.startsWith(folder)) {
      throw new IOException("an entry leaves its archive");
    }
    Files.createDirectories(target.getParent());
    Files.copy(in, target);
  }
}
