package dagstersmt.foreign;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.transforms.Transformation;

/**
 * Runs random options of Kafka's transforms on random values. The ledger must find the same changes, whether it looks at
 * the fields that the options name or at all fields.
 */
public final class LedgerJudge {
    private static final String[] NAMES = {"a", "b", "a.b", " a", "c ", "é", "a:b", "b!", "", "x"};
    private static final Object[] VALUES = {null, 1L, "1", "text", 2.5, true, "2020-01-01", List.of(1L), Map.of("a", 1L)};
    private static final Map<String, String[]> OPTIONS = Map.of(
            "MaskField$Value", new String[] {"fields", "replacement"},
            "Cast$Value", new String[] {"spec"},
            "TimestampConverter$Value", new String[] {"field"},
            "ReplaceField$Value", new String[] {"exclude", "renames", "include"},
            "InsertField$Value", new String[] {"topic.field", "offset.field", "timestamp.field", "static.field"},
            "HoistField$Value", new String[] {"field"},
            "Flatten$Value", new String[] {"delimiter"});
    private final Random random;

    private LedgerJudge(long seed) {
        random = new Random(seed);
    }

    /** Arguments: a seed, and how many transforms. Prints how many changed a record, and how many had known fields. */
    public static void main(String[] arguments) {
        LedgerJudge judge = new LedgerJudge(Long.parseLong(arguments[0]));
        int changed = 0;
        int known = 0;
        for (int n = Integer.parseInt(arguments[1]); n > 0; n--) {
            String type = judge.one(OPTIONS.keySet().stream().sorted().toArray(String[]::new));
            Map<String, String> config = judge.config(type);
            String name = "org.apache.kafka.connect.transforms." + type;
            Transformation<SinkRecord> transform = configured(name, config);
            if (transform == null) {
                continue;
            }
            TouchedFields fields = TouchedFields.of(name, config);
            for (int m = 0; m < 5; m++) {
                SinkRecord before = judge.record();
                SinkRecord after = applied(transform, before);
                if (after == null) {
                    continue;
                }
                Set<String> all = changes(null, before, after);
                if (!all.equals(changes(fields, before, after))) {
                    throw new AssertionError(type + config + before.value() + " becomes " + after.value());
                }
                changed += all.isEmpty() ? 0 : 1;
                known += fields == null ? 0 : 1;
            }
        }
        System.out.println(changed + " " + known);
    }

    private static Set<String> changes(TouchedFields fields, SinkRecord before, SinkRecord after) {
        Ledger ledger = new Ledger();
        ledger.begin();
        ledger.compare(0, fields, new Ledger.Before(before, false), after);
        Set<String> changes = new TreeSet<>();
        for (Object[] change : ledger.changesOf(ledger.end())) {
            changes.add(List.of(change).toString());
        }
        return changes;
    }

    private static SinkRecord applied(Transformation<SinkRecord> transform, SinkRecord record) {
        try {
            return transform.apply(record);
        } catch (RuntimeException e) {
            return null;
        }
    }

    @SuppressWarnings("unchecked")
    private static Transformation<SinkRecord> configured(String name, Map<String, String> config) {
        try {
            var transform = (Transformation<SinkRecord>) Class.forName(name).getDeclaredConstructor().newInstance();
            transform.configure(config);
            return transform;
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        } catch (RuntimeException e) {
            return null; // the class refuses the options
        }
    }

    private Map<String, String> config(String type) {
        Map<String, String> config = new HashMap<>();
        for (String option : OPTIONS.get(type)) {
            if (OPTIONS.get(type).length == 1 || random.nextInt(3) > 0 && !option.equals("include")
                    || random.nextInt(9) == 0) {
                config.put(option, text(option));
            }
        }
        if (type.startsWith("TimestampConverter")) {
            config.putAll(Map.of("target.type", one("string", "unix"), "format", "yyyy-MM-dd"));
        }
        if (type.startsWith("InsertField")) {
            config.put("static.value", "1");
        }
        return config;
    }

    private String text(String option) {
        switch (option) {
            case "replacement":
                return "7";
            case "spec":
                return random.nextInt(8) == 0 ? "string" : pairs("int64", "string", "float64");
            case "renames":
                return pairs(NAMES);
            case "fields":
            case "exclude":
            case "include":
                return String.join(one(",", " , "), names());
            default:
                return one(NAMES) + one("", "", "?");
        }
    }

    private String pairs(String... others) {
        List<String> pairs = new ArrayList<>();
        names().forEach(name -> pairs.add(name + one(":", " : ") + one(others)));
        return String.join(",", pairs);
    }

    private List<String> names() {
        List<String> names = new ArrayList<>();
        for (int n = random.nextInt(3); n >= 0; n--) {
            names.add(one(NAMES));
        }
        return names;
    }

    private SinkRecord record() {
        Map<String, Object> value = new HashMap<>();
        for (int n = random.nextInt(6); n > 0; n--) {
            value.put(one(NAMES), one(VALUES));
        }
        return new SinkRecord("orders", 0, null, null, null, value, 5, 7L, TimestampType.CREATE_TIME);
    }

    @SafeVarargs
    private <T> T one(T... all) {
        return all[random.nextInt(all.length)];
    }
}
