package org.apache.kafka.common.record;

public enum TimestampType {
    NO_TIMESTAMP_TYPE, CREATE_TIME, LOG_APPEND_TIME
}
