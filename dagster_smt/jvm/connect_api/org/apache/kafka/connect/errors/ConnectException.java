package org.apache.kafka.connect.errors;

public class ConnectException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public ConnectException(String message) {
        super(message);
    }
}
