package org.apache.kafka.connect.header;

import org.apache.kafka.connect.data.Schema;

public interface Header {
    String key();

    Schema schema();

    Object value();
}
