package org.apache.kafka.connect.sink;

import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.header.Header;

public class SinkRecord extends ConnectRecord<SinkRecord> {
    public SinkRecord(String topic, int partition, Schema keySchema, Object key, Schema valueSchema, Object value,
            long offset, Long timestamp, TimestampType timestampType, Iterable<Header> headers) {
        throw new AssertionError();
    }
}
