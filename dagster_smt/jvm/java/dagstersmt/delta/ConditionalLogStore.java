package dagstersmt.delta;

import io.delta.storage.S3SingleDriverLogStore;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.util.Arrays;
import java.util.Iterator;
import java.util.function.Consumer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * A store for Delta's log in S3 that several drivers can use at the same time. A commit is a conditional write
 * ({@code If-None-Match: *}).
 *
 * <p>Delta's own store checks whether the file of a commit exists, and then writes it. Its lock protects only one JVM,
 * so if two drivers commit at the same time, the later one overwrites the commit of the other. With this store, S3
 * itself rejects the later commit. Delta then checks for conflicts, and tries the next version.
 *
 * <p>The classes of Hadoop's {@code s3a} and of the AWS SDK are called by reflection, because the compiler does not
 * have them. The names are those of Hadoop 3.4.
 */
public final class ConditionalLogStore extends S3SingleDriverLogStore {
  private static final String INTERNALS = "org.apache.hadoop.fs.s3a.S3AInternals";
  private static final String SDK = "software.amazon.awssdk.";
  private static final int REFUSED = 412;
  // S3's status while another conditional write of the same object is under way. The write is then tried again.
  private static final int CONFLICT = 409;
  private static final int TRIES = 5;

  /** Creates the store, as Delta does. */
  public ConditionalLogStore(Configuration hadoopConf) {
    super(hadoopConf);
  }

  @Override
  public void write(Path path, Iterator<String> actions, Boolean overwrite, Configuration hadoopConf)
      throws IOException {
    if (overwrite) {
      super.write(path, actions, overwrite, hadoopConf);
      return;
    }
    StringBuilder lines = new StringBuilder();
    while (actions.hasNext()) {
      lines.append(actions.next()).append('\n');
    }
    byte[] content = lines.toString().getBytes(StandardCharsets.UTF_8);
    FileSystem files = path.getFileSystem(hadoopConf);
    for (int left = TRIES; ; left--) {
      int status = put(files, files.makeQualified(path), content);
      if (status == 0) {
        return;
      }
      // If the answer to a request is lost, the SDK sends the request again. The existing object may then be the one
      // that this request has written.
      if (status == REFUSED && isThere(files, path, content)) {
        return;
      }
      if (status == REFUSED || left == 1) {
        throw new FileAlreadyExistsException(path.toString());
      }
    }
  }

  /**
   * Writes an object that must not exist yet. Returns 0 for success, or S3's status if S3 rejects the write because of
   * another write.
   */
  private static int put(FileSystem files, Path path, byte[] content) throws IOException {
    try {
      ClassLoader loader = files.getClass().getClassLoader();
      String key = (String) call(files.getClass(), files, "pathToKey", new Class<?>[] {Path.class}, path);
      Class<?>[] sized = {String.class, long.class, boolean.class};
      Object builder =
          call(files.getClass(), files, "newPutObjectRequestBuilder", sized, key, (long) content.length, false);
      Class<?> builderClass = loader.loadClass(SDK + "services.s3.model.PutObjectRequest$Builder");
      Consumer<Object> condition = ConditionalLogStore::addCondition;
      call(builderClass, builder, "overrideConfiguration", new Class<?>[] {Consumer.class}, condition);
      Object request = call(builderClass, builder, "build", new Class<?>[0]);

      Object internals = call(files.getClass(), files, "getS3AInternals", new Class<?>[0]);
      Class<?>[] reason = {String.class};
      Object client =
          call(loader.loadClass(INTERNALS), internals, "getAmazonS3Client", reason, "a commit of Delta");
      Class<?> body = loader.loadClass(SDK + "core.sync.RequestBody");
      Object bytes = body.getMethod("fromBytes", byte[].class).invoke(null, (Object) content);
      Class<?>[] types = {loader.loadClass(SDK + "services.s3.model.PutObjectRequest"), body};
      call(loader.loadClass(SDK + "services.s3.S3Client"), client, "putObject", types, request, bytes);
      return 0;
    } catch (InvocationTargetException failure) {
      int status = statusOf(failure.getCause());
      if (status == REFUSED || status == CONFLICT) {
        return status;
      }
      throw new IOException("S3 does not take the commit " + path, failure.getCause());
    } catch (ReflectiveOperationException other) {
      throw new IOException("ConditionalLogStore needs the s3a file system of Hadoop 3.4", other);
    }
  }

  private static void addCondition(Object configuration) {
    try {
      ClassLoader loader = configuration.getClass().getClassLoader();
      Class<?> type = loader.loadClass(SDK + "core.RequestOverrideConfiguration$Builder");
      call(type, configuration, "putHeader", new Class<?>[] {String.class, String.class}, "If-None-Match", "*");
    } catch (ReflectiveOperationException other) {
      throw new IllegalStateException("the AWS SDK has no headers of requests", other);
    }
  }

  private static Object call(Class<?> type, Object target, String name, Class<?>[] types, Object... arguments)
      throws ReflectiveOperationException {
    return type.getMethod(name, types).invoke(target, arguments);
  }

  private static int statusOf(Throwable failure) {
    try {
      return (Integer) failure.getClass().getMethod("statusCode").invoke(failure);
    } catch (ReflectiveOperationException noService) {
      return -1;
    }
  }

  private static boolean isThere(FileSystem files, Path path, byte[] content) throws IOException {
    try (InputStream there = files.open(path)) {
      // one byte more, to notice a longer object
      return Arrays.equals(there.readNBytes(content.length + 1), content);
    }
  }
}
