import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.transforms.Transformation;

/**
 * Kafka Connect's converters and transforms on values in memory: parse, transform, print. Nothing is read or written.
 *
 * <p>Arguments: a file of values (a line each), how many threads, a file of properties ({@code transforms},
 * {@code schema.content} for values with a schema, {@code topic}), a file for the values of the first pass.
 * Each line on standard input begins a pass over all of them; its seconds, CPU seconds and records are printed.
 */
public class Chains {
    private static final int FIRST = 1000;

    public static void main(String[] arguments) throws Exception {
        List<byte[]> values = new ArrayList<>();
        try (BufferedReader lines = Files.newBufferedReader(Path.of(arguments[0]))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                values.add(line.getBytes(StandardCharsets.UTF_8));
            }
        }
        int threads = Integer.parseInt(arguments[1]);
        Properties properties = new Properties();
        try (BufferedReader from = Files.newBufferedReader(Path.of(arguments[2]))) {
            properties.load(from);
        }
        Map<String, String> settings = new HashMap<>();
        properties.stringPropertyNames().forEach(name -> settings.put(name, properties.getProperty(name)));
        List<Worker> workers = new ArrayList<>();
        for (int n = 0; n < threads; n++) {
            int size = values.size();
            int from = (int) ((long) size * n / threads);
            workers.add(new Worker(settings, values.subList(from, (int) ((long) size * (n + 1) / threads)), from));
        }
        show(workers.get(0), Path.of(arguments[3]));
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        System.out.println("ready " + values.size());
        try (BufferedReader passes = new BufferedReader(new InputStreamReader(System.in))) {
            while (passes.readLine() != null) {
                pass(pool, workers);
            }
        }
        pool.shutdownNow();
    }

    private static void show(Worker worker, Path into) throws IOException {
        List<String> lines = new ArrayList<>();
        for (int n = 0; n < Math.min(FIRST, worker.values.size()); n++) {
            byte[] value = worker.through(worker.values.get(n), n);
            lines.add(value == null ? "" : new String(value, StandardCharsets.UTF_8));
        }
        Files.write(into, lines);
    }

    private static void pass(ExecutorService pool, List<Worker> workers) throws Exception {
        var system = (com.sun.management.OperatingSystemMXBean) java.lang.management.ManagementFactory
                .getOperatingSystemMXBean();
        long began = System.nanoTime();
        long spent = system.getProcessCpuTime();
        long kept = 0;
        for (Future<Long> done : pool.invokeAll(workers)) {
            kept += done.get();
        }
        double seconds = (System.nanoTime() - began) / 1e9;
        double cpu = (system.getProcessCpuTime() - spent) / 1e9;
        System.out.println("pass " + seconds + " " + cpu + " " + kept);
    }

    /** One thread's share of the values, with converters and transforms of its own, as a task has them. */
    private static final class Worker implements Callable<Long> {
        private final List<byte[]> values;
        private final int first;
        private final String topic;
        private final JsonConverter reader = new JsonConverter();
        private final JsonConverter writer = new JsonConverter();
        private final List<Transformation<SourceRecord>> chain = new ArrayList<>();
        private long bytes = 0; // so that no value is computed for nothing

        Worker(Map<String, String> settings, List<byte[]> values, int first) throws Exception {
            this.values = values;
            this.first = first;
            topic = settings.get("topic");
            String schema = settings.getOrDefault("schema.content", "");
            Map<String, String> reading = new HashMap<>(Map.of("schemas.enable", String.valueOf(!schema.isEmpty())));
            if (!schema.isEmpty()) reading.put("schema.content", schema);
            reader.configure(reading, false);
            writer.configure(Map.of("schemas.enable", "false"), false);
            for (String alias : settings.getOrDefault("transforms", "").split(",")) {
                if (!alias.isBlank()) chain.add(transformation(settings, "transforms." + alias.trim() + "."));
            }
        }

        @SuppressWarnings("unchecked")
        private static Transformation<SourceRecord> transformation(Map<String, String> settings, String prefix)
                throws Exception {
            Map<String, String> own = new HashMap<>();
            settings.forEach((name, value) -> {
                if (name.startsWith(prefix)) own.put(name.substring(prefix.length()), value);
            });
            var made = (Transformation<SourceRecord>)
                    Class.forName(own.remove("type")).getDeclaredConstructor().newInstance();
            made.configure(own);
            return made;
        }

        @Override
        public Long call() {
            long kept = 0;
            int number = first;
            for (byte[] value : values) {
                byte[] written = through(value, number++);
                if (written != null) {
                    kept++;
                    bytes += written.length;
                }
            }
            return kept;
        }

        private byte[] through(byte[] value, int offset) {
            SchemaAndValue read = reader.toConnectData(topic, value);
            SourceRecord record = new SourceRecord(
                    null, null, topic, 0, Schema.BYTES_SCHEMA, null, read.schema(), read.value(), (long) offset);
            for (Transformation<SourceRecord> each : chain) {
                record = each.apply(record);
                if (record == null) return null;
            }
            return writer.fromConnectData(record.topic(), record.valueSchema(), record.value());
        }
    }
}
