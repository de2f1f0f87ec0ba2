package dagstersmt.foreign;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.kafka.connect.errors.RetriableException;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.header.Headers;
import org.apache.kafka.connect.sink.SinkRecord;

/** Adjacent stages from jars. The segment runs records through the stages, and reports the outcome of each record. */
final class Segment {
    static final int KEPT = 0;
    static final int DROPPED = 1;
    static final int FAILED = 2;
    static final int UNTESTED = 3;
    // RetryWithToleranceOperator.RETRIES_DELAY_MIN_MS
    private static final long FIRST_DELAY = 300;
    final Ledger ledger = new Ledger();
    private final List<Operation> operations;
    private final Watch watch;
    private final long retryTimeout;
    private final long retryDelay;
    private final boolean messages;
    private int stage;
    private SinkRecord result;
    private Throwable error;

    /**
     * Creates a segment. With {@code messages}, the caller gets the messages of all exceptions, although these messages
     * may quote the record.
     */
    Segment(List<Operation> operations, Watch watch, long retryTimeout, long retryDelay, boolean messages) {
        this.operations = operations;
        this.watch = watch;
        this.retryTimeout = retryTimeout;
        this.retryDelay = retryDelay;
        this.messages = messages;
    }

    /**
     * Returns the message of an exception. Returns null if the message may quote the record. The message of a linkage
     * error names only a class.
     */
    String message(Throwable error) {
        return messages || error instanceof LinkageError ? error.getMessage() : null;
    }

    int stage() {
        return stage;
    }

    SinkRecord result() {
        return result;
    }

    Throwable error() {
        return error;
    }

    /**
     * Runs a record through the stages, and returns its outcome. Details are in {@code stage}, {@code result} and
     * {@code error}.
     */
    int run(SinkRecord record) {
        ledger.begin();
        result = record;
        for (Operation operation : operations) {
            stage = operation.stage;
            watch.stage(stage);
            try {
                if (!operation.applies(result)) {
                    if (operation.transform == null) {
                        return UNTESTED;
                    }
                    continue;
                }
                if (operation.transform != null && !apply(operation)) {
                    return DROPPED;
                }
            } catch (OutOfMemoryError e) {
                throw e;
            } catch (Throwable e) {
                error = e;
                return FAILED;
            }
        }
        return KEPT;
    }

    private boolean apply(Operation operation) throws InterruptedException {
        Ledger.Before before = new Ledger.Before(result, !operation.transform.isKafkas());
        SinkRecord after = applied(operation);
        if (after == null) {
            return false;
        }
        ledger.compare(operation.stage, operation.touched, before, after);
        result = after;
        return true;
    }

    /**
     * Applies a stage. If the stage throws a RetriableException, it is applied again, within the limits of Connect's
     * options errors.retry.*.
     */
    private SinkRecord applied(Operation operation) throws InterruptedException {
        // the time is read only if retries are permitted, because reading it takes longer than some stages
        long began = retryTimeout > 0 ? System.currentTimeMillis() : 0;
        for (int attempt = 0;; attempt++) {
            try {
                return operation.apply(result);
            } catch (RetriableException e) {
                if (retryTimeout == 0) {
                    throw e;
                }
                long left = retryTimeout < 0 ? Long.MAX_VALUE : began + retryTimeout - System.currentTimeMillis();
                if (left <= 0) {
                    throw e;
                }
                watch.pause();
                Thread.sleep(Math.min(delay(attempt), left));
                watch.stage(operation.stage);
            }
        }
    }

    /**
     * Returns the delay before the next attempt, as {@code RetryWithToleranceOperator.backoff} does. The delay is
     * doubled each time. Above the maximum, it is a random number.
     */
    private long delay(int attempt) {
        // a larger shift could overflow
        long delay = FIRST_DELAY << Math.min(attempt, 20);
        if (delay > retryDelay) {
            delay = ThreadLocalRandom.current().nextLong(Math.max(retryDelay, 1)) + 1;
        }
        return delay;
    }

    /** Returns the current headers of a record as a list. */
    static List<Header> list(Headers headers) {
        if (headers.size() == 0) {
            return List.of();
        }
        List<Header> list = new ArrayList<>(headers.size());
        headers.forEach(list::add);
        return list;
    }

    /**
     * Returns true if the headers differ from {@code before}. Only objects are compared, because a header object is
     * never changed but replaced.
     */
    static boolean changes(List<Header> before, Headers after) {
        if (before.size() != after.size()) {
            return true;
        }
        int n = 0;
        for (Header header : after) {
            if (header != before.get(n++)) {
                return true;
            }
        }
        return false;
    }

    /** Returns the position of a header in {@code others}. Returns -1 if the header is not in the list. */
    static int number(Header header, List<Header> others) {
        for (int n = others.size() - 1; n >= 0; n--) {
            if (others.get(n) == header) {
                return n;
            }
        }
        return -1;
    }

    void close() {
        operations.forEach(Operation::close);
    }
}
