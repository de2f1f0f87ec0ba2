package dagstersmt.foreign;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/**
 * One stage: a transform from a jar, a predicate from a jar, or both. A stage without a transform only tests records.
 */
final class Operation {
    final int stage;
    final boolean negate;
    final Part<Transformation<SinkRecord>> transform;
    final Part<Predicate<SinkRecord>> predicate;
    /** The fields that the transform can touch. Null if it can touch any field. */
    final TouchedFields touched;
    private TopicPattern ofTransform;
    private TopicPattern ofPredicate;

    /** Thrown if it is unknown whether the matching of a topic with a pattern ever ends. */
    static final class EndlessPattern extends RuntimeException {
        private static final long serialVersionUID = 1L;
    }

    /** An object from a plug-in, with the class loader of the plug-in. */
    static final class Part<T> {
        final String name;
        final Map<String, String> config;
        final ClassLoader loader;
        private final boolean kafkas;
        T object;

        Part(String name, Map<String, String> config, ClassLoader loader) {
            this.name = name;
            this.config = config;
            this.loader = loader;
            // a jar may contain a different class with this name
            boolean connects = loader == Operation.class.getClassLoader();
            kafkas = connects && name.startsWith("org.apache.kafka.connect.transforms.");
        }

        /** Returns true if the class is Kafka's own. Kafka's transforms never change a record in place. */
        boolean isKafkas() {
            return kafkas;
        }
    }

    Operation(int stage, boolean negate, Part<Transformation<SinkRecord>> transform,
            Part<Predicate<SinkRecord>> predicate) {
        this.stage = stage;
        this.negate = negate;
        this.transform = transform;
        this.predicate = predicate;
        boolean known = transform != null && transform.isKafkas();
        touched = known ? TouchedFields.of(transform.name, transform.config) : null;
    }

    /** Reads an operation. The number of a plug-in is its position in {@code plugins}, or -1 for Connect's own jars. */
    static Operation read(Unpack in, List<ClassLoader> plugins) {
        in.array();
        int stage = (int) in.integer();
        boolean negate = in.bool();
        Part<Transformation<SinkRecord>> transform = part(in, plugins);
        Part<Predicate<SinkRecord>> predicate = part(in, plugins);
        return new Operation(stage, negate, transform, predicate);
    }

    private static <T> Part<T> part(Unpack in, List<ClassLoader> plugins) {
        if (in.nil()) {
            return null;
        }
        in.array();
        int plugin = (int) in.integer();
        String name = in.text();
        Map<String, String> config = new HashMap<>();
        for (int n = in.map(); n > 0; n--) {
            String key = in.text();
            config.put(key, in.text());
        }
        return new Part<>(name, config, plugin < 0 ? Operation.class.getClassLoader() : plugins.get(plugin));
    }

    /**
     * Prepares a test of each new topic with the patterns of Kafka's own classes. This is needed if no clock stops a
     * class.
     */
    void tryTopics() {
        ofTransform = pattern(transform, "RegexRouter", "regex");
        ofPredicate = pattern(predicate, "predicates.TopicNameMatches", "pattern");
    }

    private static TopicPattern pattern(Part<?> part, String name, String option) {
        boolean has = part != null && part.name.equals("org.apache.kafka.connect.transforms." + name);
        return has ? new TopicPattern(part.config.get(option)) : null;
    }

    private static void check(TopicPattern pattern, SinkRecord record) {
        if (pattern != null && !pattern.ends(record.topic())) {
            throw new EndlessPattern();
        }
    }

    boolean applies(SinkRecord record) {
        if (predicate == null) {
            return true;
        }
        check(ofPredicate, record);
        Thread.currentThread().setContextClassLoader(predicate.loader);
        return predicate.object.test(record) != negate;
    }

    SinkRecord apply(SinkRecord record) {
        check(ofTransform, record);
        Thread.currentThread().setContextClassLoader(transform.loader);
        return transform.object.apply(record);
    }

    void close() {
        close(transform);
        close(predicate);
    }

    private static void close(Part<?> part) {
        if (part != null && part.object != null) {
            Thread.currentThread().setContextClassLoader(part.loader);
            try {
                closeObject(part.object);
            } catch (Throwable e) { // a task that has finished must not fail because a stage cannot be closed
                part.object = null;
            }
        }
    }

    private static void closeObject(Object object) throws Exception {
        ((AutoCloseable) object).close();
    }
}
