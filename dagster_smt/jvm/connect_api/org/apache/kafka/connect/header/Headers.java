package org.apache.kafka.connect.header;

import org.apache.kafka.connect.data.Schema;

public interface Headers extends Iterable<Header> {
    Headers add(String key, Object value, Schema schema);

    Headers add(Header header);

    int size();
}
