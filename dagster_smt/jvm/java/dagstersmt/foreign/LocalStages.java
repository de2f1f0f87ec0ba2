package dagstersmt.foreign;

import dagstersmt.ConnectRow;
import java.io.File;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.storage.SimpleHeaderConverter;

/**
 * Runs stages in the JVM of the caller, one record at a time. Use this class only for classes that are known to return,
 * because nothing can stop a stage here. Classes from jars that may end the JVM are not loaded.
 */
public final class LocalStages implements ConnectRow.Stages {
    private final String keyFormat;
    private final String valueFormat;
    private final Segment segment;
    private final Sides sides = new Sides();
    private final SimpleHeaderConverter headers = new SimpleHeaderConverter();
    /** For each set of changes, by its number: the changes, and a result that the caller may store. */
    private final List<Object[]> changes = new ArrayList<>();

    /**
     * The class loaders by their jars and the times of the jars' last changes. Loaders are kept, so that Java compiles
     * the classes only once.
     */
    private static final Map<List<String>, ClassLoader> LOADERS = new ConcurrentHashMap<>();

    /**
     * Opens the stages of a setup. A setup is MessagePack in base64. It contains both formats, the jars of each
     * plug-in, the time for retries, the longest delay, and the stages.
     */
    public LocalStages(String setup) {
        Unpack in = new Unpack(Base64.getDecoder().decode(setup));
        in.array();
        keyFormat = in.text();
        valueFormat = in.text();
        List<ClassLoader> plugins = plugins(in);
        long retryTimeout = in.integer();
        long retryDelay = in.integer();
        List<Operation> operations = new ArrayList<>();
        Check check = new Check();
        for (int n = in.array(); n > 0; n--) {
            Operation operation = Operation.read(in, plugins);
            check.create(operation);
            operation.tryTopics();
            operations.add(operation);
        }
        for (Check.Problem problem : check.problems) {
            if (!problem.kind.equals("unknown")) {
                throw new IllegalStateException("a class refuses its options");
            }
        }
        segment = new Segment(operations, Watch.NONE, retryTimeout, retryDelay, false);
    }

    private static List<ClassLoader> plugins(Unpack in) {
        List<ClassLoader> plugins = new ArrayList<>();
        for (int n = in.array(); n > 0; n--) {
            List<String> jars = new ArrayList<>();
            List<String> versions = new ArrayList<>();
            for (int m = in.array(); m > 0; m--) {
                String jar = in.text();
                jars.add(jar);
                versions.add(jar + " " + new File(jar).lastModified());
            }
            ClassLoader parent = LocalStages.class.getClassLoader();
            plugins.add(LOADERS.computeIfAbsent(versions, of -> PluginLoader.of(jars, parent, true)));
        }
        return plugins;
    }

    @Override
    public boolean run(ConnectRow row) {
        ClassLoader outer = Thread.currentThread().getContextClassLoader();
        try {
            return runs(row);
        } catch (RuntimeException | StackOverflowError | LinkageError e) {
            return false; // the host runs the record again, and reports the problem
        } finally {
            Thread.currentThread().setContextClassLoader(outer);
        }
    }

    @Override
    public void close() {
        ClassLoader outer = Thread.currentThread().getContextClassLoader();
        try {
            segment.close();
        } finally {
            Thread.currentThread().setContextClassLoader(outer);
        }
    }

    private boolean runs(ConnectRow row) {
        SinkRecord before = read(row);
        List<Header> read = Segment.list(before.headers());
        row.status = segment.run(before);
        row.stage = row.status == Segment.KEPT ? -1 : segment.stage();
        row.thrown = null;
        if (row.status == Segment.KEPT) {
            write(row, before, read, segment.result());
        } else if (row.status == Segment.DROPPED) {
            lose(row);
        } else if (row.status == Segment.FAILED && isPlain(segment.error())) {
            lose(row);
            row.thrown = segment.error().getClass().getName();
        } else {
            return false;
        }
        row.changes = changes();
        return true;
    }

    /** Returns true if an exception concerns the record, and not this JVM. */
    private static boolean isPlain(Throwable error) {
        if (error instanceof InterruptedException) {
            Thread.currentThread().interrupt(); // Spark ends the task
            return false;
        }
        return !(error instanceof VirtualMachineError) && !(error instanceof LinkageError)
                && !(error instanceof Operation.EndlessPattern);
    }

    private SinkRecord read(ConnectRow row) {
        SchemaAndValue key = sides.read(keyFormat, row.topic, row.key, 0, length(row.key));
        SchemaAndValue value = sides.read(valueFormat, row.topic, row.value, 0, length(row.value));
        ConnectHeaders all = new ConnectHeaders();
        for (int n = 0; row.headers != null && n < row.headers.length; n += 2) {
            String name = (String) row.headers[n];
            SchemaAndValue header = headers.toConnectHeader(row.topic, name, (byte[]) row.headers[n + 1]);
            all.add(name, header.value(), header.schema());
        }
        return new SinkRecord(row.topic, row.partition, key.schema(), key.value(), value.schema(), value.value(),
                row.offset, row.timestamp, TimestampType.values()[row.timestampType], all);
    }

    private static int length(byte[] bytes) {
        return bytes == null ? -1 : bytes.length;
    }

    private void write(ConnectRow row, SinkRecord before, List<Header> read, SinkRecord after) {
        String topic = after.topic();
        if (segment.ledger.changesKey() || sides.hasDefaults(keyFormat, before.keySchema())) {
            row.key = sides.write(keyFormat, topic, after.keySchema(), after.key());
        }
        if (segment.ledger.changesValue() || sides.hasDefaults(valueFormat, before.valueSchema())) {
            row.value = sides.write(valueFormat, topic, after.valueSchema(), after.value());
        }
        boolean moved = !Objects.equals(before.kafkaPartition(), after.kafkaPartition());
        row.partition = moved ? after.kafkaPartition() : null;
        row.topic = topic;
        row.timestamp = after.timestamp();
        row.headers = headers(row.headers, read, after);
    }

    private static void lose(ConnectRow row) {
        row.key = null;
        row.value = null;
        row.topic = null;
        row.partition = null;
        row.timestamp = null;
        row.headers = null;
    }

    private Object[] changes() {
        int set = segment.ledger.end();
        while (changes.size() <= set) {
            changes.add(new Object[] {segment.ledger.changesOf(changes.size()), null});
        }
        return changes.get(set);
    }

    /** Returns all headers if a stage has changed any of them, else null. Unchanged headers keep their bytes. */
    private Object[] headers(Object[] bytes, List<Header> read, SinkRecord after) {
        if (!Segment.changes(read, after.headers())) {
            return null;
        }
        List<Object> parts = new ArrayList<>();
        for (Header header : after.headers()) {
            int number = Segment.number(header, read);
            parts.add(header.key());
            parts.add(number >= 0 ? bytes[2 * number + 1]
                    : headers.fromConnectHeader(after.topic(), header.key(), header.schema(), header.value()));
        }
        return parts.toArray();
    }
}
