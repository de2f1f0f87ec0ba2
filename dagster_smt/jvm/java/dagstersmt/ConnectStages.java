package dagstersmt;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The stages from jars, for one thread. Connect's jars, and the part of this jar that calls them, have a separate class
 * loader. It finds Spark's logging, but neither Spark's classes nor Spark's versions of Jackson and Kafka.
 *
 * <p>A setup is a text of lines. The first line contains the stages, as {@code foreign.LocalStages} reads them. The
 * second line contains the number of bits in a word, the number of words, and the bit of the ledger for each stage,
 * separated by commas. The third line contains the names for {@link TopicNames}, as JSON; it is null if the records
 * are not written to topics. The other lines are Connect's jars.
 */
final class ConnectStages {
  private static final String SHARED = "dagstersmt.ConnectRow";
  private static final String MAIN = "dagstersmt.foreign.LocalStages";
  /** The class loaders by their jars. Loaders are kept, so that Java compiles the classes only once. */
  private static final Map<List<String>, ClassLoader> LOADERS = new ConcurrentHashMap<>();
  private final ConnectRow.Stages connect;
  private final ConnectRow row = new ConnectRow();
  private final int bitsOfWord;
  private final int words;
  private final int[] bits;

  /** The topics to which records can be written. Null if records are not written to topics. */
  private final TopicNames topicNames;

  private UTF8String topic;
  private String topicText;
  private String lastTopic;
  private UTF8String lastTopicBytes;

  ConnectStages(String setup) {
    List<String> lines = List.of(setup.split("\n"));
    String[] numbers = lines.get(1).split(",");
    bitsOfWord = Integer.parseInt(numbers[0]);
    words = Integer.parseInt(numbers[1]);
    bits = new int[numbers.length - 2];
    for (int n = 0; n < bits.length; n++) {
      bits[n] = Integer.parseInt(numbers[n + 2]);
    }
    topicNames = topicNames(lines.get(2));
    connect = opened(lines.get(0), lines.subList(3, lines.size()));
  }

  private static TopicNames topicNames(String json) {
    try {
      JsonNode names = new ObjectMapper().readTree(json);
      return names.isNull() ? null : new TopicNames(names);
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException(e);
    }
  }

  /** Returns the record for {@link #run}. The caller fills it in. */
  ConnectRow row() {
    return row;
  }

  /** Runs the record. Returns false if the record is left to Python. */
  boolean run(ArrayData headers) {
    if (connect == null) {
      return false; // the stages cannot be opened here
    }
    row.headers = null;
    if (headers != null && headers.numElements() > 0) {
      row.headers = parts(headers);
      if (row.headers == null) {
        return false;
      }
    }
    return connect.run(row) && (topicNames == null || row.status != ConnectRow.KEPT || topicNames.takes(row.topic));
  }

  /** Closes the stages. */
  void close() {
    if (connect != null) {
      connect.close();
    }
  }

  /** Returns the names and values of headers, alternating; null if a header has no name. */
  private static Object[] parts(ArrayData headers) {
    Object[] parts = new Object[2 * headers.numElements()];
    for (int n = 0; n < headers.numElements(); n++) {
      InternalRow header = headers.isNullAt(n) ? null : headers.getStruct(n, 2);
      if (header == null || header.isNullAt(0)) {
        return null;
      }
      parts[2 * n] = header.getUTF8String(0).toString();
      parts[2 * n + 1] = header.isNullAt(1) ? null : header.getBinary(1);
    }
    return parts;
  }

  private static ConnectRow.Stages opened(String stages, List<String> jars) {
    ClassLoader outer = Thread.currentThread().getContextClassLoader();
    try {
      Class<?> type = Class.forName(MAIN, true, LOADERS.computeIfAbsent(jars, ConnectStages::loader));
      return (ConnectRow.Stages) type.getConstructor(String.class).newInstance(stages);
    } catch (ReflectiveOperationException | LinkageError | RuntimeException e) {
      return null;
    } finally {
      Thread.currentThread().setContextClassLoader(outer);
    }
  }

  private static ClassLoader loader(List<String> jars) {
    List<URL> urls = new ArrayList<>();
    urls.add(ConnectStages.class.getProtectionDomain().getCodeSource().getLocation());
    for (String jar : jars) {
      try {
        urls.add(new File(jar).toURI().toURL());
      } catch (MalformedURLException e) {
        throw new IllegalStateException(e);
      }
    }
    return new URLClassLoader(urls.toArray(new URL[0]), new JavaAndShared());
  }

  /**
   * A class loader that finds Java's own classes, the shared class of the record, and Spark's logging. So Kafka's log
   * lines appear among Spark's log lines.
   */
  private static final class JavaAndShared extends ClassLoader {
    JavaAndShared() {
      super(ClassLoader.getPlatformClassLoader());
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
      if (name.startsWith("org.slf4j.") || name.equals(SHARED) || name.startsWith(SHARED + "$")) {
        return Class.forName(name, false, ConnectStages.class.getClassLoader());
      }
      throw new ClassNotFoundException(name);
    }
  }

  /** Returns a topic as a Java string. Consecutive records mostly have the same topic, so the last result is kept. */
  String text(UTF8String name) {
    if (!name.equals(topic)) {
      topic = name.clone();
      topicText = name.toString();
    }
    return topicText;
  }

  /** Returns the topic after the stages. */
  UTF8String bytes(UTF8String read) {
    String after = row.topic;
    if (after == null) {
      return null;
    }
    if (after.equals(topicText)) {
      return read;
    }
    if (!after.equals(lastTopic)) {
      lastTopic = after;
      lastTopicBytes = UTF8String.fromString(after);
    }
    return lastTopicBytes;
  }

  /** Returns the changes of the record. They are stored, so that later records with the same changes use them again. */
  ConnectChanges changes() {
    Object[] of = row.changes;
    if (of[1] == null) {
      of[1] = new ConnectChanges((List<?>) of[0], bits, bitsOfWord, words);
    }
    return (ConnectChanges) of[1];
  }
}
