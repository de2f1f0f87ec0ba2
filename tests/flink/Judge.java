import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;

/**
 * Runs statements of Flink SQL out of a file and prints what comes of them, one line each.
 *
 * <p>Blocks of the file end with a line "----"; their first line is "create", "insert" or "read" and the table. Printed
 * are "row TABLE JSON", "failed TABLE why", and in the end "done".
 */
public class Judge {
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    public static void main(String[] arguments) throws Exception {
        Configuration settings = new Configuration();
        settings.setString("parallelism.default", "1");
        settings.setString("table.local-time-zone", "UTC");
        settings.setString("restart-strategy.type", "none");
        settings.setString("rest.bind-port", "0");
        settings.setString("rest.address", "localhost");
        settings.setString("taskmanager.numberOfTaskSlots", "8");
        settings.setString("taskmanager.memory.network.min", "128mb");
        settings.setString("taskmanager.memory.network.max", "128mb");
        try (MiniCluster cluster = new MiniCluster(
                new MiniClusterConfiguration.Builder().setConfiguration(settings).setNumTaskManagers(1)
                        .setNumSlotsPerTaskManager(8).build())) {
            cluster.start();
            settings.setString("rest.port", String.valueOf(cluster.getRestAddress().get().getPort()));
            settings.setString("execution.target", "remote");
            List<String[]> blocks = new ArrayList<>();
            for (String block : Files.readString(Path.of(arguments[0])).split("\n----\n")) {
                int end = block.indexOf('\n');
                int space = block.indexOf(' ');
                blocks.add(new String[] {block.substring(0, space), block.substring(space + 1, end), block.substring(end + 1)});
            }
            for (String word : List.of("insert", "read")) {
                ExecutorService threads = Executors.newFixedThreadPool(4);
                for (String[] block : blocks) {
                    if (block[0].equals(word)) {
                        threads.submit(() -> attempt(settings, blocks, block));
                    }
                }
                threads.shutdown();
                threads.awaitTermination(1, TimeUnit.HOURS);
            }
        }
        OUT.println("done");
        System.exit(0);
    }

    private static void attempt(Configuration settings, List<String[]> blocks, String[] block) {
        TableEnvironment flink = TableEnvironment.create(
                EnvironmentSettings.newInstance().inStreamingMode().withConfiguration(settings).build());
        try {
            for (String[] other : blocks) {
                if (other[0].equals("create") && other[1].equals(block[1])) {
                    flink.executeSql(other[2]);
                }
            }
            if (block[0].equals("insert")) {
                flink.executeSql(block[2]).await();
                return;
            }
            try (CloseableIterator<Row> rows = flink.executeSql(block[2]).collect()) {
                while (rows.hasNext()) {
                    StringBuilder found = new StringBuilder();
                    show(found, rows.next());
                    OUT.println("row " + block[1] + " " + found);
                }
            }
        } catch (Throwable error) {
            OUT.println("failed " + block[1] + " " + why(error));
        }
    }

    private static String why(Throwable error) {
        Throwable last = error;
        while (last.getCause() != null && last.getCause() != last) {
            last = last.getCause();
        }
        return String.valueOf(last).replace('\n', ' ');
    }

    private static void show(StringBuilder out, Object value) {
        if (value == null) {
            out.append("null");
        } else if (value instanceof Row) {
            Row row = (Row) value;
            List<Object> parts = new ArrayList<>();
            for (int i = 0; i < row.getArity(); i++) {
                parts.add(row.getField(i));
            }
            list(out, parts);
        } else if (value instanceof Map) {
            map(out, (Map<?, ?>) value);
        } else if (value instanceof byte[]) {
            StringBuilder hex = new StringBuilder("b:");
            for (byte one : (byte[]) value) {
                hex.append(String.format("%02x", one));
            }
            text(out, hex.toString());
        } else if (value.getClass().isArray()) {
            List<Object> parts = new ArrayList<>();
            for (int i = 0; i < java.lang.reflect.Array.getLength(value); i++) {
                parts.add(java.lang.reflect.Array.get(value, i));
            }
            list(out, parts);
        } else {
            text(out, simple(value));
        }
    }

    private static String simple(Object value) {
        if (value instanceof BigDecimal) {
            return "d:" + ((BigDecimal) value).toPlainString();
        } else if (value instanceof Float || value instanceof Double) {
            return "f:" + value;
        } else if (value instanceof LocalDate) {
            return "D:" + ((LocalDate) value).toEpochDay();
        } else if (value instanceof LocalTime) {
            return "T:" + ((LocalTime) value).toNanoOfDay() / 1_000_000;
        } else if (value instanceof LocalDateTime) {
            return "t:" + ((LocalDateTime) value).toInstant(ZoneOffset.UTC).toEpochMilli();
        } else if (value instanceof Instant) {
            return "t:" + ((Instant) value).toEpochMilli();
        } else if (value instanceof String) {
            return "s:" + value;
        }
        return "i:" + value;
    }

    private static void list(StringBuilder out, List<Object> parts) {
        out.append('[');
        for (int i = 0; i < parts.size(); i++) {
            out.append(i == 0 ? "" : ",");
            show(out, parts.get(i));
        }
        out.append(']');
    }

    private static void map(StringBuilder out, Map<?, ?> entries) {
        TreeMap<String, Object> sorted = new TreeMap<>();
        entries.forEach((key, value) -> sorted.put(simple(key), value));
        out.append('{');
        String comma = "";
        for (Map.Entry<String, Object> entry : sorted.entrySet()) {
            out.append(comma);
            text(out, entry.getKey());
            out.append(':');
            show(out, entry.getValue());
            comma = ",";
        }
        out.append('}');
    }

    private static void text(StringBuilder out, String value) {
        out.append('"');
        for (char one : value.toCharArray()) {
            if (one == '"' || one == '\\') {
                out.append('\\').append(one);
            } else if (one < ' ') {
                out.append(String.format("\\u%04x", (int) one));
            } else {
                out.append(one);
            }
        }
        out.append('"');
    }
}
