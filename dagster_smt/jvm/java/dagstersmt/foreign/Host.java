package dagstersmt.foreign;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.storage.SimpleHeaderConverter;

/**
 * A process that runs foreign stages for one Python process. It reads requests from standard input, and writes answers
 * to the file that the first argument names. The output of stages is written to standard error, and their standard
 * input is empty.
 *
 * <p>Requests: {@code ["open", segment, setup]}, {@code ["run", segment, schemas, records]},
 * {@code ["plain", segment, columns]}, {@code ["close", segment]}. The process ends at the end of its input, and when
 * the Python process ends.
 */
public final class Host {
    /** The time that stages may take to load their classes and to read their options, in milliseconds. */
    private static final long OPENING = 60_000;
    private final DataInputStream in;
    private final OutputStream out;
    private final Watch watch;
    private final Map<List<String>, ClassLoader> loaders = new HashMap<>();
    private final Map<Long, Segment> segments = new HashMap<>();
    private final Map<Long, Wire> wires = new HashMap<>();
    private final Map<Long, Plain> plains = new HashMap<>();
    /** The limit of each segment in milliseconds, because the chains of one process may have different limits. */
    private final Map<Long, Long> limits = new HashMap<>();

    private Host(DataInputStream in, OutputStream out, long parent) {
        this.in = in;
        this.out = out;
        watch = new Watch(out, parent);
    }

    /** Runs until the input ends. */
    public static void main(String[] arguments) throws IOException {
        DataInputStream in = new DataInputStream(
                new java.io.BufferedInputStream(new FileInputStream(FileDescriptor.in), 1 << 16));
        System.setIn(new ByteArrayInputStream(new byte[0]));
        System.setOut(System.err);
        new Host(in, new FileOutputStream(arguments[0]), Long.parseLong(arguments[1])).serve();
    }

    static void send(OutputStream out, Pack frame) throws IOException {
        byte[] length = new byte[4];
        for (int n = 0; n < 4; n++) {
            length[n] = (byte) (frame.size() >>> 24 - 8 * n);
        }
        // the thread of Watch also sends, if a stage takes too long
        synchronized (out) {
            out.write(length);
            out.write(frame.array(), 0, frame.size());
            out.flush();
        }
    }

    private void serve() throws IOException {
        Pack answer = new Pack();
        while (true) {
            byte[] request = request();
            if (request == null) {
                segments.values().forEach(Segment::close);
                watch.told();
                Runtime.getRuntime().halt(0);
            }
            answer.clear();
            answer(new Unpack(request), answer);
            send(out, answer);
        }
    }

    private byte[] request() throws IOException {
        try {
            byte[] request = new byte[in.readInt()];
            in.readFully(request);
            return request;
        } catch (EOFException e) {
            return null;
        }
    }

    private void answer(Unpack request, Pack answer) {
        request.array();
        String what = request.text();
        long number = request.integer();
        switch (what) {
            case "open":
                open(number, request, answer);
                break;
            case "run":
                watch.limit(limits.get(number));
                wires.get(number).run(request, answer);
                break;
            case "plain":
                watch.limit(limits.get(number));
                plains.get(number).run(request, answer);
                break;
            case "close":
                segments.remove(number).close();
                wires.remove(number);
                plains.remove(number);
                limits.remove(number);
                answer.array(1);
                answer.text("closed");
                break;
            default:
                throw new IllegalStateException("unexpected request " + what);
        }
    }

    private void open(long number, Unpack in, Pack answer) {
        in.array();
        long limit = in.integer();
        watch.limit(limit <= 0 ? limit : Math.max(limit, OPENING)); // the limit of a record may be short
        long retryTimeout = in.integer();
        long retryDelay = in.integer();
        List<ClassLoader> plugins = plugins(in);
        List<Operation> operations = new ArrayList<>();
        Check check = new Check();
        watch.record(-1);
        for (int n = in.array(); n > 0; n--) {
            Operation operation = Operation.read(in, plugins);
            watch.stage(operation.stage);
            check.create(operation);
            operations.add(operation);
        }
        watch.pause();
        limits.put(number, limit);
        boolean messages = in.bool();
        Segment segment = new Segment(operations, watch, retryTimeout, retryDelay, messages);
        segments.put(number, segment);
        Free.use(Sides.json("false"));
        SimpleHeaderConverter headers = new SimpleHeaderConverter();
        wires.put(number, new Wire(segment, watch, headers));
        plains.put(number, new Plain(segment, watch, headers, new Sides()));
        answer.array(2);
        answer.text("opened");
        answer.array(check.problems.size());
        for (Check.Problem problem : check.problems) {
            answer.array(5);
            answer.integer(problem.stage);
            answer.text(problem.part);
            answer.text(problem.kind);
            answer.text(problem.option);
            answer.text(problem.message);
        }
    }

    private List<ClassLoader> plugins(Unpack in) {
        List<ClassLoader> plugins = new ArrayList<>();
        for (int n = in.array(); n > 0; n--) {
            List<String> jars = new ArrayList<>();
            for (int m = in.array(); m > 0; m--) {
                jars.add(in.text());
            }
            plugins.add(loaders.computeIfAbsent(jars, Host::loader));
        }
        return plugins;
    }

    private static ClassLoader loader(List<String> jars) {
        return PluginLoader.of(jars, Host.class.getClassLoader(), false);
    }
}
