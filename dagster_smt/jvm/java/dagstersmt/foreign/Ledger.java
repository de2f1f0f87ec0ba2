package dagstersmt.foreign;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.header.Headers;

/**
 * Finds what a stage changed in a record: fields that are new, gone, of another type, or of another value, at any depth.
 * A change gets a number, and so does each set of changes, because most records of a topic are changed alike.
 */
final class Ledger {
    private static final int MOST = 5000;
    private static final int CHANGE = 0;
    private static final int SET = 1;
    private final Map<Change, Integer> changes = new HashMap<>();
    private final Map<List<Integer>, Integer> sets = new HashMap<>();
    private final List<Object> fresh = new ArrayList<>();
    private final List<Change> numbered = new ArrayList<>();
    private final List<List<Integer>> numberedSets = new ArrayList<>();
    private final List<Integer> current = new ArrayList<>();
    private int stage;
    private String side = "";
    private boolean key;
    private boolean value;
    private boolean found;

    /** A copy of what a stage may change in place. */
    static final class Before {
        final ConnectRecord<?> record;
        final Object key;
        final Object value;
        final List<Header> headers;

        Before(ConnectRecord<?> record, boolean deep) {
            this.record = record;
            key = deep ? copy(record.key()) : record.key();
            value = deep ? copy(record.value()) : record.value();
            headers = list(record.headers());
        }
    }

    private static final class Change {
        final int stage;
        final String action;
        final String side;
        final String path;

        Change(int stage, String action, String side, String path) {
            this.stage = stage;
            this.action = action;
            this.side = side;
            this.path = path;
        }

        @Override
        public boolean equals(Object other) {
            if (!(other instanceof Change)) {
                return false;
            }
            Change that = (Change) other;
            return stage == that.stage && action.equals(that.action) && side.equals(that.side)
                    && path.equals(that.path);
        }

        @Override
        public int hashCode() {
            return Objects.hash(stage, action, side, path);
        }
    }

    void begin() {
        current.clear();
        key = false;
        value = false;
    }

    /** Returns whether a stage changed the key since {@code begin}. */
    boolean changesKey() {
        return key;
    }

    /** Returns whether a stage changed the value since {@code begin}. */
    boolean changesValue() {
        return value;
    }

    /** Returns the number of the set of changes since {@code begin}; 0 for none. */
    int end() {
        if (current.isEmpty()) {
            return 0;
        }
        Integer known = sets.get(current);
        if (known == null) {
            known = sets.size() + 1;
            List<Integer> set = new ArrayList<>(current);
            sets.put(set, known);
            fresh.add(set);
        }
        return known;
    }

    /** Writes the changes and sets that got a number since the last answer: they are numbered in this order. */
    void writeFresh(Pack out) {
        out.array(fresh.size());
        for (Object one : fresh) {
            if (one instanceof Change) {
                Change change = (Change) one;
                out.array(5);
                out.integer(CHANGE);
                out.integer(change.stage);
                out.text(change.action);
                out.text(change.side);
                out.text(change.path);
            } else {
                List<?> set = (List<?>) one;
                out.array(set.size() + 1);
                out.integer(SET);
                set.forEach(number -> out.integer((Integer) number));
            }
        }
        fresh.clear();
    }

    /** Returns the changes of a set that {@code end} has numbered, each as stage, action, side and path. */
    List<Object[]> changesOf(int set) {
        List<Object[]> parts = new ArrayList<>();
        for (Object one : fresh) {
            if (one instanceof Change) {
                numbered.add((Change) one);
            } else {
                List<Integer> numbers = new ArrayList<>();
                ((List<?>) one).forEach(number -> numbers.add((Integer) number));
                numberedSets.add(numbers);
            }
        }
        fresh.clear();
        for (int number : set == 0 ? List.<Integer>of() : numberedSets.get(set - 1)) {
            Change change = numbered.get(number);
            parts.add(new Object[] {change.stage, change.action, change.side, change.path});
        }
        return parts;
    }

    private void add(String action, String path) {
        found = true;
        Change change = new Change(stage, action, side, path);
        Integer known = changes.get(change);
        if (known == null) {
            if (changes.size() >= MOST) {
                change = new Change(stage, action, side, "(more fields)");
                known = changes.get(change);
            }
            if (known == null) {
                known = changes.size();
                changes.put(change, known);
                fresh.add(change);
            }
        }
        if (!current.contains(known)) {
            current.add(known);
        }
    }

    void compare(int of, Before before, ConnectRecord<?> after) {
        stage = of;
        ConnectRecord<?> record = before.record;
        side = "key";
        found = false;
        root(record.keySchema(), before.key, after.keySchema(), after.key());
        key |= found || record.keySchema() != after.keySchema();
        found = false;
        side = "value";
        root(record.valueSchema(), before.value, after.valueSchema(), after.value());
        value |= found || record.valueSchema() != after.valueSchema();
        side = "topic";
        if (!Objects.equals(record.topic(), after.topic())) {
            add("routed", "topic");
        }
        side = "record";
        if (!Objects.equals(record.kafkaPartition(), after.kafkaPartition())) {
            add("changed", "partition");
        }
        if (!Objects.equals(record.timestamp(), after.timestamp())) {
            add("changed", "timestamp");
        }
        side = "headers";
        headers(before.headers, after.headers());
    }

    private void headers(List<Header> before, Headers after) {
        if (before.isEmpty() && after.size() == 0) {
            return;
        }
        Map<String, List<Object>> old = byName(before);
        Map<String, List<Object>> now = byName(list(after));
        Set<String> names = new HashSet<>(old.keySet());
        names.addAll(now.keySet());
        for (String name : names) {
            if (!old.containsKey(name)) {
                add("added", name);
            } else if (!now.containsKey(name)) {
                add("dropped", name);
            } else if (!Objects.deepEquals(old.get(name).toArray(), now.get(name).toArray())) {
                add("changed", name);
            }
        }
    }

    private static Map<String, List<Object>> byName(List<Header> headers) {
        Map<String, List<Object>> byName = new LinkedHashMap<>();
        for (Header header : headers) {
            byName.computeIfAbsent(header.key(), name -> new ArrayList<>()).add(header.value());
        }
        return byName;
    }

    private void root(Schema oldSchema, Object old, Schema newSchema, Object now) {
        if (old == now && oldSchema == newSchema) {
            return;
        }
        if (old == null || now == null) {
            if (old != now) {
                add(now == null ? "dropped" : "added", "(whole)");
            }
            return;
        }
        value("", old, now, oldSchema, newSchema);
    }

    private void value(String path, Object old, Object now, Schema oldSchema, Schema newSchema) {
        if (old == now && (oldSchema == newSchema || Objects.equals(oldSchema, newSchema))) {
            return;
        }
        if (old == null && now == null) {
            types(path, oldSchema, newSchema);
        } else if (old instanceof Struct && now instanceof Struct) {
            structs(path, (Struct) old, (Struct) now);
        } else if (old instanceof Map && now instanceof Map) {
            maps(path, (Map<?, ?>) old, (Map<?, ?>) now, oldSchema, newSchema);
        } else if (old instanceof List && now instanceof List) {
            lists(path, (List<?>) old, (List<?>) now, oldSchema, newSchema);
        } else if (old != null && now != null && old.getClass() != now.getClass()
                || types(path, oldSchema, newSchema)) {
            add("cast", place(path));
        } else if (!Objects.deepEquals(old, now)) {
            add("changed", place(path));
        }
    }

    /** Returns whether the type of a field changed, apart from optional, defaults and documentation. */
    private static boolean types(String path, Schema old, Schema now) {
        if (old == now || old == null || now == null) {
            return false;
        }
        return old.type() != now.type() || !Objects.equals(old.name(), now.name());
    }

    private static String place(String path) {
        return path.isEmpty() ? "(whole)" : path;
    }

    private static String below(String path, String name) {
        return path.isEmpty() ? name : path + "." + name;
    }

    private void structs(String path, Struct old, Struct now) {
        Schema before = old.schema();
        Schema after = now.schema();
        for (Field field : after.fields()) {
            Field same = before == after ? field : before.field(field.name());
            Object value = now.getWithoutDefault(field.name());
            if (same == null) {
                add("added", below(path, field.name()));
                continue;
            }
            Object was = old.getWithoutDefault(field.name());
            if (was != value || same.schema() != field.schema()) {
                value(below(path, field.name()), was, value, same.schema(), field.schema());
            }
        }
        if (before == after) {
            return;
        }
        for (Field field : before.fields()) {
            if (after.field(field.name()) == null) {
                add("dropped", below(path, field.name()));
            }
        }
    }

    private void maps(String path, Map<?, ?> old, Map<?, ?> now, Schema oldSchema, Schema newSchema) {
        Schema before = oldSchema == null ? null : oldSchema.valueSchema();
        Schema after = newSchema == null ? null : newSchema.valueSchema();
        if (before == after && old.size() == now.size() && sameKeys(path, old, now, newSchema)) {
            return;
        }
        int same = 0;
        for (Map.Entry<?, ?> entry : now.entrySet()) {
            Object was = old.get(entry.getKey());
            if (was == null && !old.containsKey(entry.getKey())) {
                add("added", key(path, entry.getKey(), newSchema));
                continue;
            }
            same++;
            if (was != entry.getValue() || before != after) {
                value(key(path, entry.getKey(), newSchema), was, entry.getValue(), before, after);
            }
        }
        if (same == old.size()) {
            return;
        }
        for (Object key : old.keySet()) {
            if (!now.containsKey(key)) {
                add("dropped", key(path, key, oldSchema));
            }
        }
    }

    /**
     * Compares a map with a copy of it, entry by entry. Most stages copy a map before they change it, and a copy has its
     * entries in the same order, so nothing has to be looked up. Returns false at the first key that is another one.
     */
    private boolean sameKeys(String path, Map<?, ?> old, Map<?, ?> now, Schema schema) {
        Iterator<? extends Map.Entry<?, ?>> others = old.entrySet().iterator();
        for (Map.Entry<?, ?> entry : now.entrySet()) {
            if (others.next().getKey() != entry.getKey()) {
                return false;
            }
        }
        Schema values = schema == null ? null : schema.valueSchema();
        others = old.entrySet().iterator();
        for (Map.Entry<?, ?> entry : now.entrySet()) {
            Object was = others.next().getValue();
            if (was != entry.getValue()) {
                value(key(path, entry.getKey(), schema), was, entry.getValue(), values, values);
            }
        }
        return true;
    }

    /** Returns the path of an entry. The keys of a map with a schema are data, so no report may show them. */
    private static String key(String path, Object key, Schema schema) {
        return schema == null && key instanceof String ? below(path, (String) key) : path + "[*]";
    }

    private void lists(String path, List<?> old, List<?> now, Schema oldSchema, Schema newSchema) {
        if (old.size() != now.size()) {
            add("changed", place(path));
            return;
        }
        Schema before = oldSchema == null ? null : oldSchema.valueSchema();
        Schema after = newSchema == null ? null : newSchema.valueSchema();
        for (int n = 0; n < old.size(); n++) {
            value(path + "[]", old.get(n), now.get(n), before, after);
        }
    }

    private static List<Header> list(Headers headers) {
        if (headers.size() == 0) {
            return List.of();
        }
        List<Header> list = new ArrayList<>(headers.size());
        headers.forEach(list::add);
        return list;
    }

    private static Object copy(Object value) {
        if (value instanceof Map) {
            Map<Object, Object> copy = new HashMap<>();
            ((Map<?, ?>) value).forEach((key, child) -> copy.put(key, copy(child)));
            return copy;
        }
        if (value instanceof List) {
            List<Object> copy = new ArrayList<>(((List<?>) value).size());
            ((List<?>) value).forEach(child -> copy.add(copy(child)));
            return copy;
        }
        if (value instanceof Struct) {
            Struct struct = (Struct) value;
            Struct copy = new Struct(struct.schema());
            for (Field field : struct.schema().fields()) {
                Object child = struct.getWithoutDefault(field.name());
                if (child != null) {
                    copy.put(field, copy(child));
                }
            }
            return copy;
        }
        if (value instanceof byte[]) {
            return Arrays.copyOf((byte[]) value, ((byte[]) value).length);
        }
        if (value instanceof java.util.Date) {
            return new java.util.Date(((java.util.Date) value).getTime());
        }
        return value;
    }
}
