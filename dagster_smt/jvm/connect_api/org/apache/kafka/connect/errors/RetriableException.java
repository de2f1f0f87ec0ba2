package org.apache.kafka.connect.errors;

public class RetriableException extends ConnectException {
    private static final long serialVersionUID = 1L;

    public RetriableException(String message) {
        super(message);
    }
}
