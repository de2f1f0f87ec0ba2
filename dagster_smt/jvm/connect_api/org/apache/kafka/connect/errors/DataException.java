package org.apache.kafka.connect.errors;

public class DataException extends ConnectException {
    private static final long serialVersionUID = 1L;

    public DataException(String message) {
        super(message);
    }
}
