package dagstersmt.foreign;

import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.header.Headers;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.storage.SimpleHeaderConverter;

/**
 * Reads and writes records in the form in which the Python evaluator sends them between two stages: with schemas,
 * values and headers, and without loss.
 */
final class Wire {
    private static final int KEY = 1;
    private static final int VALUE = 2;
    private static final int TOPIC = 4;
    private static final int PARTITION = 8;
    private static final int TIMESTAMP = 16;
    private static final int HEADERS = 32;
    private final Segment segment;
    private final Watch watch;
    private final Schemas schemas = new Schemas();
    private final SimpleHeaderConverter headerConverter;

    Wire(Segment segment, Watch watch, SimpleHeaderConverter headerConverter) {
        this.segment = segment;
        this.watch = watch;
        this.headerConverter = headerConverter;
    }

    /** Runs a batch: reads new schemas and records, and writes the answer. */
    void run(Unpack in, Pack out) {
        schemas.read(in);
        int count = in.array();
        out.array(4);
        out.text("done");
        Pack records = new Pack();
        records.array(count);
        for (int n = 0; n < count; n++) {
            watch.record(n);
            int place = records.size();
            try {
                one(in, records);
            } catch (OutOfMemoryError e) {
                throw e;
            } catch (Throwable e) {
                records.cut(place);
                failed(records, segment.stage(), e);
            }
        }
        watch.pause();
        schemas.writeFresh(out);
        segment.ledger.writeFresh(out);
        out.raw(records.array(), 0, records.size());
    }

    private void one(Unpack in, Pack out) {
        Unpack record = new Unpack(in.binary());
        SinkRecord before = read(record);
        List<Header> given = Segment.list(before.headers());
        int status = segment.run(before);
        if (status == Segment.FAILED) {
            failed(out, segment.stage(), segment.error());
        } else if (status == Segment.KEPT) {
            kept(out, before, given, segment.result());
        } else {
            out.array(3);
            out.integer(status);
            out.integer(segment.stage());
            out.integer(segment.ledger.end());
        }
    }

    private void failed(Pack out, int stage, Throwable error) {
        out.array(5);
        out.integer(Segment.FAILED);
        out.integer(stage);
        out.integer(segment.ledger.end());
        out.text(error.getClass().getName());
        out.text(segment.message(error));
    }

    private SinkRecord read(Unpack in) {
        in.array();
        String topic = in.text();
        Long partition = in.optionalInteger();
        Long offset = in.optionalInteger();
        Long timestamp = in.optionalInteger();
        TimestampType type = TimestampType.values()[(int) in.integer()];
        Schema keySchema = schemas.get(in.optionalInteger());
        Object key = Values.read(in, keySchema);
        Schema valueSchema = schemas.get(in.optionalInteger());
        Object value = Values.read(in, valueSchema);
        Headers headers = new ConnectHeaders();
        for (int n = in.array(); n > 0; n--) {
            header(in, topic, headers);
        }
        return new SinkRecord(topic, partition == null ? 0 : partition.intValue(), keySchema, key, valueSchema, value,
                offset == null ? 0 : offset, timestamp, type, headers);
    }

    /**
     * Reads a header. An unchanged header consists of its name and its original bytes. A header that a stage created
     * consists of its name, schema and value. If the schema of a struct differs from the schema of its header, the
     * struct is sent with its own schema.
     */
    private void header(Unpack in, String topic, Headers headers) {
        int length = in.array();
        String name = in.text();
        if (length == 2) {
            SchemaAndValue value = headerConverter.toConnectHeader(topic, name, in.binary());
            headers.add(name, value.value(), value.schema());
            return;
        }
        Schema schema = schemas.get(in.optionalInteger());
        Schema own = length == 4 ? schemas.get(in.optionalInteger()) : schema;
        headers.add(name, Values.read(in, own), schema);
    }

    private void kept(Pack out, SinkRecord before, List<Header> given, SinkRecord after) {
        boolean headers = Segment.changes(given, after.headers());
        int flags = (segment.ledger.changesKey() ? KEY : 0)
                | (segment.ledger.changesValue() ? VALUE : 0)
                | (same(before.topic(), after.topic()) ? 0 : TOPIC)
                | (same(before.kafkaPartition(), after.kafkaPartition()) ? 0 : PARTITION)
                | (same(before.timestamp(), after.timestamp()) ? 0 : TIMESTAMP)
                | (headers ? HEADERS : 0);
        // a key or value takes two items: the number of its schema, and the data
        out.array(3 + Integer.bitCount(flags) + Integer.bitCount(flags & (KEY | VALUE)));
        out.integer(Segment.KEPT);
        out.integer(segment.ledger.end());
        out.integer(flags);
        if ((flags & KEY) != 0) {
            datum(out, after.keySchema(), after.key());
        }
        if ((flags & VALUE) != 0) {
            datum(out, after.valueSchema(), after.value());
        }
        if ((flags & TOPIC) != 0) {
            out.text(after.topic());
        }
        if ((flags & PARTITION) != 0) {
            number(out, after.kafkaPartition());
        }
        if ((flags & TIMESTAMP) != 0) {
            number(out, after.timestamp());
        }
        if (headers) {
            headers(out, given, after);
        }
    }

    private static boolean same(Object one, Object other) {
        return java.util.Objects.equals(one, other);
    }

    private static void number(Pack out, Number value) {
        if (value == null) {
            out.nil();
        } else {
            out.integer(value.longValue());
        }
    }

    private void datum(Pack out, Schema schema, Object value) {
        if (schema == null) {
            out.nil();
        } else {
            out.integer(schemas.number(schema));
        }
        Values.write(out, schema, value);
    }

    /**
     * Writes the headers of a record. A header that existed before the stages is written as its number. Any other
     * header is written as its name, schema and value.
     */
    private void headers(Pack out, List<Header> given, SinkRecord after) {
        out.array(after.headers().size());
        for (Header header : after.headers()) {
            int number = Segment.number(header, given);
            if (number >= 0) {
                out.integer(number);
                continue;
            }
            header(out, after.topic(), header);
        }
    }

    /**
     * Writes a header. Connect writes the value of a header even if the value does not fit the schema, so no value may
     * be lost or fail here.
     */
    private void header(Pack out, String topic, Header header) {
        Schema schema = header.schema();
        Object value = header.value();
        int place = out.size();
        try {
            if (value instanceof Struct && !Values.hasSchema((Struct) value, schema)) {
                out.array(4);
                out.text(header.key());
                number(out, schema == null ? null : schemas.number(schema));
                datum(out, ((Struct) value).schema(), value);
            } else {
                out.array(3);
                out.text(header.key());
                datum(out, schema, value);
            }
        } catch (DataException e) {
            // an inner value does not fit its schema, so the header is written as the bytes that Connect would write
            out.cut(place);
            out.array(2);
            out.text(header.key());
            out.binary(headerConverter.fromConnectHeader(topic, header.key(), schema, value));
        }
    }
}
