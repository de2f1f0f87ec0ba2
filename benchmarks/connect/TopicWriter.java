import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

/**
 * A sink connector that writes what Kafka Connect's converters and transforms made of a topic to another topic.
 *
 * <p>One worker measures many rounds, so that its JVM is as warm as Spark's: each line on standard input begins one
 * by rewinding the tasks; the round ends when brokers have acknowledged the last record, and its seconds are printed.
 */
public class TopicWriter extends SinkConnector {
    private static final AtomicLong acknowledged = new AtomicLong();
    private static volatile long round = 0;
    private static volatile long began = 0;
    private Map<String, String> properties;

    static {
        Thread reader = new Thread(TopicWriter::readRounds, "rounds");
        reader.setDaemon(true);
        reader.start();
    }

    private static void readRounds() {
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(System.in))) {
            while (lines.readLine() != null) {
                acknowledged.set(0);
                began = System.nanoTime();
                round++;
            }
        } catch (IOException ended) {
            Runtime.getRuntime().halt(1);
        }
        Runtime.getRuntime().halt(0);
    }

    @Override
    public String version() {
        return "1";
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef();
    }

    @Override
    public Class<? extends Task> taskClass() {
        return WriterTask.class;
    }

    @Override
    public void start(Map<String, String> given) {
        properties = given;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int most) {
        return IntStream.range(0, most).mapToObj(number -> properties).collect(Collectors.toList());
    }

    @Override
    public void stop() {}

    /** Prints values as schemaless JSON and waits for nothing but the end of a round. */
    public static class WriterTask extends SinkTask {
        private static final long POLL_MS = 20;
        private final JsonConverter printer = new JsonConverter();
        private KafkaProducer<byte[], byte[]> producer;
        private long expected;
        private long current = 0;

        @Override
        public String version() {
            return "1";
        }

        @Override
        public void start(Map<String, String> given) {
            printer.configure(Map.of("schemas.enable", "false"), false);
            expected = Long.parseLong(given.get("expected.records"));
            context.timeout(POLL_MS); // a poll without records would wait for the next commit of offsets
            Properties settings = new Properties();
            given.forEach((name, value) -> {
                if (name.startsWith("writer.")) settings.put(name.substring("writer.".length()), value);
            });
            producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        }

        @Override
        public void open(Collection<TopicPartition> partitions) {
            context.pause(partitions.toArray(new TopicPartition[0]));
            System.out.println("open " + partitions.size());
        }

        @Override
        public void put(Collection<SinkRecord> records) {
            context.timeout(POLL_MS); // holds for one poll
            if (current != round) {
                begin();
                return; // these were read before the rewind
            }
            for (SinkRecord each : records) {
                byte[] value = printer.fromConnectData(each.topic(), each.valueSchema(), each.value());
                producer.send(new ProducerRecord<>(each.topic(), (byte[]) each.key(), value), (place, failure) -> {
                    if (failure != null) {
                        System.out.println("failed " + failure.getClass().getName());
                    } else if (acknowledged.incrementAndGet() == expected) {
                        System.out.println("seconds " + (System.nanoTime() - began) / 1e9);
                    }
                });
            }
        }

        private void begin() {
            current = round;
            Map<TopicPartition, Long> starts = new HashMap<>();
            context.assignment().forEach(partition -> starts.put(partition, 0L));
            context.offset(starts);
            context.resume(context.assignment().toArray(new TopicPartition[0]));
        }

        @Override
        public void flush(Map<TopicPartition, org.apache.kafka.clients.consumer.OffsetAndMetadata> offsets) {
            producer.flush();
        }

        @Override
        public void stop() {
            if (producer != null) producer.close();
        }
    }
}
