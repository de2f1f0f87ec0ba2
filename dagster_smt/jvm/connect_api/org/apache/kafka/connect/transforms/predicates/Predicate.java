package org.apache.kafka.connect.transforms.predicates;

import org.apache.kafka.common.Configurable;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;

public interface Predicate<R extends ConnectRecord<R>> extends Configurable, AutoCloseable {
    ConfigDef config();

    boolean test(R record);

    @Override
    void close();
}
