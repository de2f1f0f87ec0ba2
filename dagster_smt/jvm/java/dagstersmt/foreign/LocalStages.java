package dagstersmt.foreign;

import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.function.Function;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.storage.SimpleHeaderConverter;

/**
 * Kafka's own stages in the JVM of the caller, one record at a time. Only for classes that are known to return and to
 * leave the process alone.
 *
 * <p>The caller has none of Kafka's classes, and a loader of its own loads this one. So both share types of Java alone:
 * a record is an array of key, value, topic, partition, offset, timestamp (milliseconds or null) and the number of the
 * timestamp's type; the result is an array of status, stage, changes, key, value, topic, timestamp, headers (names and
 * bytes, or null). The result is null for a record that the caller has to run elsewhere.
 */
public final class LocalStages implements Function<Object[], Object[]> {
    private final String keyFormat;
    private final String valueFormat;
    private final Segment segment;
    private final Sides sides = new Sides();
    private final SimpleHeaderConverter headers = new SimpleHeaderConverter();
    /** By number of a set of changes: its changes, and room for what the caller makes of them. */
    private final List<Object[]> changes = new ArrayList<>();

    /** Opens the stages of a setup: MessagePack of both formats and the stages, in base64. */
    public LocalStages(String setup) {
        Unpack in = new Unpack(Base64.getDecoder().decode(setup));
        in.array();
        keyFormat = in.text();
        valueFormat = in.text();
        List<Operation> operations = new ArrayList<>();
        Check check = new Check();
        for (int n = in.array(); n > 0; n--) {
            Operation operation = Operation.read(in, List.of());
            check.create(operation);
            operations.add(operation);
        }
        for (Check.Problem problem : check.problems) {
            if (!problem.kind.equals("unknown")) {
                throw new IllegalStateException("a class refuses its options");
            }
        }
        segment = new Segment(operations, new Watch(), 0, 0, false);
    }

    @Override
    public Object[] apply(Object[] record) {
        ClassLoader outer = Thread.currentThread().getContextClassLoader();
        try {
            return run(record);
        } catch (RuntimeException | StackOverflowError | LinkageError e) {
            return null; // the host runs the record again, and says what is wrong with it
        } finally {
            Thread.currentThread().setContextClassLoader(outer);
        }
    }

    private Object[] run(Object[] record) {
        byte[] key = (byte[]) record[0];
        byte[] value = (byte[]) record[1];
        String topic = (String) record[2];
        SchemaAndValue readKey = sides.read(keyFormat, topic, key, 0, key == null ? -1 : key.length);
        SchemaAndValue readValue = sides.read(valueFormat, topic, value, 0, value == null ? -1 : value.length);
        SinkRecord before = new SinkRecord(topic, (Integer) record[3], readKey.schema(), readKey.value(),
                readValue.schema(), readValue.value(), (Long) record[4], (Long) record[5],
                TimestampType.values()[(Integer) record[6]], new ConnectHeaders());
        int status = segment.run(before);
        if (status == Segment.DROPPED) {
            return new Object[] {status, segment.stage(), changes(), null, null, null, null, null};
        }
        if (status != Segment.KEPT) {
            return null;
        }
        SinkRecord after = segment.result();
        if (!java.util.Objects.equals(before.kafkaPartition(), after.kafkaPartition())) {
            return null;
        }
        if (segment.ledger.changesKey() || sides.hasDefaults(keyFormat, before.keySchema())) {
            key = sides.write(keyFormat, after.topic(), after.keySchema(), after.key());
        }
        if (segment.ledger.changesValue() || sides.hasDefaults(valueFormat, before.valueSchema())) {
            value = sides.write(valueFormat, after.topic(), after.valueSchema(), after.value());
        }
        return new Object[] {
            status, -1, changes(), key, value, after.topic(), after.timestamp(), headers(after)
        };
    }

    private Object[] changes() {
        int set = segment.ledger.end();
        while (changes.size() <= set) {
            changes.add(new Object[] {segment.ledger.changesOf(changes.size()), null});
        }
        return changes.get(set);
    }

    private Object[] headers(SinkRecord after) {
        if (after.headers().size() == 0) {
            return null;
        }
        List<Object> parts = new ArrayList<>();
        for (Header header : after.headers()) {
            parts.add(header.key());
            parts.add(headers.fromConnectHeader(after.topic(), header.key(), header.schema(), header.value()));
        }
        return parts.toArray();
    }
}
