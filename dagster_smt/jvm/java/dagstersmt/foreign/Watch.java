package dagstersmt.foreign;

import java.io.IOException;
import java.io.OutputStream;

/**
 * Remembers the record and the stage that are being processed. If a stage takes too long or ends this process, Python
 * is informed about the stage before the process ends.
 */
final class Watch {
    private static final long STEP = 50;
    private static final int STEPS_OF_PARENT = 20;
    /** A watch without effect, for stages that are known to return. */
    static final Watch NONE = new Watch();
    private final OutputStream out;
    private volatile int record = -1;
    private volatile int stage = -1;
    private volatile long since;
    private volatile boolean paused = true;
    private volatile boolean told;
    private volatile long limit = Long.MAX_VALUE;
    private final long parent;

    Watch(OutputStream out, long parent) {
        this.out = out;
        this.parent = parent;
        Runtime.getRuntime().addShutdownHook(new Thread(() -> tell("exit")));
        Thread thread = new Thread(this::look, "stage timeout");
        thread.setDaemon(true);
        thread.start();
    }

    private Watch() {
        out = null;
        parent = 0;
    }

    void limit(long milliseconds) {
        limit = milliseconds <= 0 ? Long.MAX_VALUE : milliseconds;
    }

    /**
     * Notes that a record begins. The clock is read only once for each record, because a system call for each stage
     * would take longer than the stage.
     */
    void record(int number) {
        record = number;
        stage = -1; // the stage of the record before is over
        since = System.currentTimeMillis();
        paused = false;
    }

    void stage(int number) {
        if (out == null) {
            return; // writing to a variable that other threads read takes time
        }
        stage = number;
        if (paused) {
            since = System.currentTimeMillis();
            paused = false;
        }
    }

    /** Notes that no stage is running, so nothing can take too long. */
    void pause() {
        paused = true;
    }

    /** Notes that Python has already been informed about the end of this process. */
    void told() {
        told = true;
    }

    private void look() {
        for (int step = 1;; step++) {
            if (step % STEPS_OF_PARENT == 0 && orphaned()) {
                Runtime.getRuntime().halt(0); // the run was cancelled, and a stage may never return
            }
            try {
                Thread.sleep(STEP);
            } catch (InterruptedException e) {
                continue; // a stage may interrupt all threads, but it must not stop the clock
            }
            if (!paused && System.currentTimeMillis() - since > limit) {
                tell("timeout");
                Runtime.getRuntime().halt(3);
            }
        }
    }

    private boolean orphaned() {
        return ProcessHandle.current().parent().map(ProcessHandle::pid).orElse(-1L) != parent;
    }

    private synchronized void tell(String why) {
        if (told) {
            return;
        }
        told = true;
        Pack frame = new Pack();
        frame.array(4);
        frame.text("died");
        frame.text(why);
        frame.integer(record);
        frame.integer(stage);
        try {
            Host.send(out, frame);
        } catch (IOException e) {
            return; // the Python process has ended
        }
    }
}
