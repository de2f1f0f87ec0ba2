package org.apache.kafka.connect.transforms;

import java.io.Closeable;
import org.apache.kafka.common.Configurable;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;

public interface Transformation<R extends ConnectRecord<R>> extends Configurable, Closeable {
    R apply(R record);

    ConfigDef config();

    @Override
    void close();
}
