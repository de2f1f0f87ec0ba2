package dagstersmt.foreign;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.header.Headers;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.storage.SimpleHeaderConverter;

/**
 * Runs whole batches of bytes. This process reads and writes the keys and values, so Python reads no record. The class
 * is used for chains whose stages are all foreign, on JSON without a schema or on envelopes.
 */
final class Plain {
    private static final long NONE = Long.MIN_VALUE;
    private static final int VALUE_CONVERTER = -3;
    private static final int KEY_CONVERTER = -2;
    private final Segment segment;
    private final Watch watch;
    private final SimpleHeaderConverter headers;
    private final Sides sides;
    private final Map<String, Integer> topicNumbers = new HashMap<>();
    private String keyFormat;
    private String valueFormat;
    private Pack value;
    private Pack valueLengths;
    private Pack key;
    private Pack keyLengths;
    private Pack status;
    private Pack stages;
    private Pack sets;
    private Pack topics;
    private Pack topicNames;
    private Pack timestamps;
    private Pack others;
    private Pack failures;
    private int otherCount;
    private int failureCount;

    Plain(Segment segment, Watch watch, SimpleHeaderConverter headers, Sides sides) {
        this.segment = segment;
        this.watch = watch;
        this.headers = headers;
        this.sides = sides;
    }

    /** Runs a batch. */
    void run(Unpack in, Pack out) {
        begin();
        keyFormat = in.text();
        valueFormat = in.text();
        int count = (int) in.integer();
        String[] names = topics(in, count);
        ByteBuffer partitions = Column.little(in.binary());
        ByteBuffer offsets = Column.little(in.binary());
        ByteBuffer times = Column.little(in.binary());
        byte[] types = in.binary();
        Column keys = new Column(in);
        Column values = new Column(in);
        for (int n = 0; n < count; n++) {
            watch.record(n);
            long time = times.getLong(8 * n);
            one(n, names.length == 1 ? names[0] : names[n], partitions.getInt(4 * n), offsets.getLong(8 * n),
                    time == NONE ? null : time, types[n], keys, values);
        }
        watch.pause();
        answer(out);
    }

    private static String[] topics(Unpack in, int count) {
        int length = in.array();
        String[] names = new String[length];
        for (int n = 0; n < length; n++) {
            names[n] = in.text();
        }
        return names;
    }

    private void begin() {
        value = new Pack();
        valueLengths = new Pack();
        key = new Pack();
        keyLengths = new Pack();
        status = new Pack();
        stages = new Pack();
        sets = new Pack();
        topics = new Pack();
        topicNames = new Pack();
        topicNumbers.clear();
        timestamps = new Pack();
        others = new Pack();
        failures = new Pack();
        otherCount = 0;
        failureCount = 0;
    }

    private void one(int n, String topic, int partition, long offset, Long time, byte type, Column keys,
            Column values) {
        int keyLength = keys.length(n);
        int keyStart = keys.next(keyLength);
        int valueLength = values.length(n);
        int valueStart = values.next(valueLength);
        int where = KEY_CONVERTER;
        SinkRecord record;
        try {
            SchemaAndValue readKey = sides.read(keyFormat, topic, keys.data(), keyStart, keyLength);
            where = VALUE_CONVERTER;
            SchemaAndValue readValue = sides.read(valueFormat, topic, values.data(), valueStart, valueLength);
            record = new SinkRecord(topic, partition, readKey.schema(), readKey.value(), readValue.schema(),
                    readValue.value(), offset, time, TimestampType.values()[type], new ConnectHeaders());
        } catch (RuntimeException e) {
            segment.ledger.begin();
            lost(n, Segment.FAILED, where, e);
            return;
        }
        int result = segment.run(record);
        if (result != Segment.KEPT) {
            lost(n, result, segment.stage(), result == Segment.FAILED ? segment.error() : null);
            return;
        }
        SinkRecord after = segment.result();
        int valuePlace = value.size();
        int keyPlace = key.size();
        where = KEY_CONVERTER;
        try {
            if (segment.ledger.changesKey() || sides.hasDefaults(keyFormat, record.keySchema())) {
                write(key, keyLengths, sides.write(keyFormat, after.topic(), after.keySchema(), after.key()));
            } else {
                copy(key, keyLengths, keys, keyStart, keyLength);
            }
            where = VALUE_CONVERTER;
            if (segment.ledger.changesValue() || sides.hasDefaults(valueFormat, record.valueSchema())) {
                write(value, valueLengths,
                        sides.write(valueFormat, after.topic(), after.valueSchema(), after.value()));
            } else {
                copy(value, valueLengths, values, valueStart, valueLength);
            }
        } catch (RuntimeException e) {
            // the key may have been written before the value failed
            value.cut(valuePlace);
            valueLengths.cut(4 * n);
            key.cut(keyPlace);
            keyLengths.cut(4 * n);
            lost(n, Segment.FAILED, where, e);
            return;
        }
        kept(n, record, after);
    }

    private void kept(int n, SinkRecord before, SinkRecord after) {
        status.number(Segment.KEPT, 1);
        little(stages, -1);
        little(sets, segment.ledger.end());
        topic(after.topic());
        timestamp(after.timestamp());
        boolean moved = !java.util.Objects.equals(before.kafkaPartition(), after.kafkaPartition());
        if (moved || after.headers().size() > 0) {
            otherCount++;
            others.array(3);
            others.integer(n);
            if (moved && after.kafkaPartition() != null) {
                others.integer(after.kafkaPartition());
            } else {
                others.nil();
            }
            headers(after.topic(), after.headers());
        }
    }

    private void headers(String topic, Headers after) {
        others.array(after.size());
        for (Header header : after) {
            others.array(2);
            others.text(header.key());
            others.binary(headers.fromConnectHeader(topic, header.key(), header.schema(), header.value()));
        }
    }

    private void lost(int n, int result, int stage, Throwable error) {
        status.number(result, 1);
        little(stages, stage);
        little(sets, segment.ledger.end());
        little(valueLengths, -1);
        little(keyLengths, -1);
        topic(null);
        timestamp(null);
        if (error != null) {
            failureCount++;
            failures.array(3);
            failures.integer(n);
            failures.text(error.getClass().getName());
            failures.text(segment.message(error));
        }
    }

    private void topic(String name) {
        Integer number = topicNumbers.get(name);
        if (number == null) {
            number = topicNumbers.size();
            topicNumbers.put(name, number);
            topicNames.text(name);
        }
        little(topics, number);
    }

    private void timestamp(Long time) {
        long value = time == null ? NONE : time;
        timestamps.number(Long.reverseBytes(value), 8);
    }

    private static void little(Pack out, int value) {
        // Python reads the columns with NumPy as little-endian numbers; Pack writes big-endian numbers
        out.number(Integer.reverseBytes(value) & 0xffffffffL, 4);
    }

    private static void copy(Pack out, Pack lengths, Column column, int start, int length) {
        little(lengths, length);
        if (length > 0) {
            out.raw(column.data(), start, length);
        }
    }

    private static void write(Pack out, Pack lengths, byte[] bytes) {
        little(lengths, bytes == null ? -1 : bytes.length);
        if (bytes != null) {
            out.raw(bytes, 0, bytes.length);
        }
    }

    private void answer(Pack out) {
        out.array(13);
        out.text("done");
        segment.ledger.writeFresh(out);
        for (Pack column : new Pack[] {status, stages, sets, keyLengths, key, valueLengths, value, topics, timestamps}) {
            out.binary(column.array(), column.size());
        }
        out.array(topicNumbers.size());
        out.raw(topicNames.array(), 0, topicNames.size());
        out.array(2);
        out.array(otherCount);
        out.raw(others.array(), 0, others.size());
        out.array(failureCount);
        out.raw(failures.array(), 0, failures.size());
    }
}
