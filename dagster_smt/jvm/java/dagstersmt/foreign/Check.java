package dagstersmt.foreign;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Configurable;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.ConfigValue;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/**
 * Creates the objects of a chain, and checks their options with their own {@code ConfigDef}. All problems are
 * collected.
 */
final class Check {
    /** One problem: the stage and part, the kind of problem, the option, and the message of the class. */
    static final class Problem {
        final int stage;
        final String part;
        final String kind;
        final String option;
        final String message;

        Problem(int stage, String part, String kind, String option, String message) {
            this.stage = stage;
            this.part = part;
            this.kind = kind;
            this.option = option;
            this.message = message;
        }
    }

    final List<Problem> problems = new ArrayList<>();

    void create(Operation operation) {
        if (operation.transform != null) {
            create(operation.stage, "transform", operation.transform, Transformation.class);
        }
        if (operation.predicate != null) {
            create(operation.stage, "predicate", operation.predicate, Predicate.class);
        }
    }

    @SuppressWarnings("unchecked")
    private <T> void create(int stage, String what, Operation.Part<T> part, Class<?> type) {
        Thread.currentThread().setContextClassLoader(part.loader);
        Object object;
        try {
            Class<?> loaded = Class.forName(part.name, true, part.loader);
            if (!type.isAssignableFrom(loaded)) {
                problems.add(new Problem(stage, what, "class", "", "is no " + type.getName()));
                return;
            }
            object = loaded.getDeclaredConstructor().newInstance();
        } catch (ClassNotFoundException e) {
            problems.add(new Problem(stage, what, "class", "", "is in none of the jars"));
            return;
        } catch (java.lang.reflect.InvocationTargetException e) {
            problems.add(new Problem(stage, what, "class", "", cannot(e.getCause())));
            return;
        } catch (Exception | LinkageError e) {
            problems.add(new Problem(stage, what, "class", "", cannot(e)));
            return;
        }
        part.object = (T) object;
        configure(stage, what, part, (Configurable) object);
    }

    private static String cannot(Throwable error) {
        // the message of a linkage error contains the name of a class, and never a value
        return "cannot be created: " + error.getClass().getName()
                + (error instanceof LinkageError ? " " + error.getMessage() : "");
    }

    private void configure(int stage, String what, Operation.Part<?> part, Configurable object) {
        int before = problems.size();
        try {
            ConfigDef definition = object instanceof Transformation
                    ? cast(object).config()
                    : castPredicate(object).config();
            if (definition != null) {
                validate(stage, what, part.config, definition);
            }
            if (problems.stream().skip(before).allMatch(p -> p.kind.equals("unknown"))) {
                object.configure(new HashMap<>(part.config));
            }
        } catch (Exception | LinkageError e) {
            String message = e instanceof ConfigException ? ": " + e.getMessage() : "";
            problems.add(new Problem(stage, what, "configure", "", e.getClass().getName() + message));
        }
    }

    @SuppressWarnings("unchecked")
    private static Transformation<SinkRecord> cast(Object object) {
        return (Transformation<SinkRecord>) object;
    }

    @SuppressWarnings("unchecked")
    private static Predicate<SinkRecord> castPredicate(Object object) {
        return (Predicate<SinkRecord>) object;
    }

    private void validate(int stage, String what, Map<String, String> config, ConfigDef definition) {
        Map<String, ConfigDef.ConfigKey> keys = definition.configKeys();
        List<String> order = new ArrayList<>(keys.keySet());
        List<ConfigValue> values = new ArrayList<>(definition.validate(config));
        values.sort(java.util.Comparator.comparingInt(value -> order.indexOf(value.name())));
        for (ConfigValue value : values) {
            ConfigDef.ConfigKey key = keys.get(value.name());
            boolean secret = key != null && key.type == ConfigDef.Type.PASSWORD;
            for (String message : value.errorMessages()) {
                String kind = message.startsWith("Missing required") ? "missing" : "value";
                problems.add(new Problem(stage, what, kind, value.name(), secret ? "is wrong" : message));
            }
        }
        for (String name : config.keySet()) {
            if (!keys.containsKey(name)) {
                problems.add(new Problem(stage, what, "unknown", name, String.join(",", keys.keySet())));
            }
        }
    }
}
