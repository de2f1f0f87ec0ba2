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
 * Finds the changes that a stage made to a record: fields that are new, have been dropped, or have a different type or
 * value, at any depth. Each change and each set of changes gets a number, because most records of a topic have the same
 * changes.
 */
final class Ledger {
    private static final int MOST = 5000;
    private static final int CHANGE = 0;
    private static final int SET = 1;
    private final Map<Change, Integer> changes = new HashMap<>();
    private final Map<List<Integer>, Integer> sets = new HashMap<>();
    private final List<Object> fresh = new ArrayList<>();
    private final List<Change> all = new ArrayList<>();
    private final List<List<Integer>> numberedSets = new ArrayList<>();
    private int[] current = new int[16];
    private int count;
    /**
     * The changes of the previous record, and the number of this set of changes. Most records have the same changes as
     * the previous record.
     */
    private int[] last = {};
    private int lastNumber;
    private boolean repeats;
    private int stage;
    private String side = "";
    private boolean key;
    private boolean value;
    private boolean found;
    private TouchedFields touched;

    /** A copy of the parts of a record that a stage may change in place. */
    static final class Before {
        final ConnectRecord<?> record;
        final Object key;
        final Object value;
        final List<Header> headers;

        Before(ConnectRecord<?> record, boolean deep) {
            this.record = record;
            key = deep ? copy(record.key()) : record.key();
            value = deep ? copy(record.value()) : record.value();
            headers = Segment.list(record.headers());
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
            return is(that.stage, that.action, that.side, that.path);
        }

        boolean is(int ofStage, String ofAction, String ofSide, String ofPath) {
            return stage == ofStage && path.equals(ofPath) && action.equals(ofAction) && side.equals(ofSide);
        }

        @Override
        public int hashCode() {
            return Objects.hash(stage, action, side, path);
        }
    }

    void begin() {
        count = 0;
        repeats = true;
        key = false;
        value = false;
    }

    /** Returns true if a stage has changed the key since {@code begin}. */
    boolean changesKey() {
        return key;
    }

    /** Returns true if a stage has changed the value since {@code begin}. */
    boolean changesValue() {
        return value;
    }

    /** Returns the number of the set of changes since {@code begin}; 0 if there are none. */
    int end() {
        if (!Arrays.equals(current, 0, count, last, 0, last.length)) {
            last = Arrays.copyOf(current, count);
            lastNumber = numberOf(last);
        }
        return lastNumber;
    }

    private int numberOf(int[] changed) {
        if (changed.length == 0) {
            return 0;
        }
        List<Integer> set = new ArrayList<>();
        for (int number : changed) {
            set.add(number);
        }
        return sets.computeIfAbsent(set, key -> {
            fresh.add(key);
            return sets.size() + 1;
        });
    }

    /**
     * Writes the changes and the sets of changes that got a number after the last answer, in the order of their
     * numbers.
     */
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

    /**
     * Returns the changes of the set with a number that {@code end} has returned. Each change consists of a stage, an
     * action, a side (key or value) and a path.
     */
    List<Object[]> changesOf(int set) {
        List<Object[]> parts = new ArrayList<>();
        for (Object one : fresh) {
            if (!(one instanceof Change)) {
                List<Integer> numbers = new ArrayList<>();
                ((List<?>) one).forEach(number -> numbers.add((Integer) number));
                numberedSets.add(numbers);
            }
        }
        fresh.clear();
        for (int number : set == 0 ? List.<Integer>of() : numberedSets.get(set - 1)) {
            Change change = all.get(number);
            parts.add(new Object[] {change.stage, change.action, change.side, change.path});
        }
        return parts;
    }

    private void add(String action, String path) {
        found = true;
        // most often, the change is the same as in the previous record, and needs no look-up
        if (repeats && count < last.length && all.get(last[count]).is(stage, action, side, path)) {
            put(last[count]);
            return;
        }
        int number = number(new Change(stage, action, side, path));
        for (int n = 0; n < count; n++) {
            // several elements of an array may have the same path
            if (current[n] == number) {
                return;
            }
        }
        repeats = false;
        put(number);
    }

    private void put(int number) {
        if (count == current.length) {
            current = Arrays.copyOf(current, 2 * count);
        }
        current[count++] = number;
    }

    private int number(Change change) {
        Integer known = changes.get(change);
        // names can be data, so their number is limited
        if (known == null && all.size() >= MOST) {
            change = new Change(stage, change.action, side, "(more fields)");
            known = changes.get(change);
        }
        if (known == null) {
            known = all.size();
            changes.put(change, known);
            all.add(change);
            fresh.add(change);
        }
        return known;
    }

    /**
     * Adds the changes that a stage made.
     *
     * @param fields the fields at the top of a value that the stage can touch; null if it can touch any field
     */
    void compare(int of, TouchedFields fields, Before before, ConnectRecord<?> after) {
        stage = of;
        touched = fields;
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
        Map<String, List<Object>> now = byName(Segment.list(after));
        Set<String> names = new HashSet<>(old.keySet());
        names.addAll(now.keySet());
        for (String name : names) {
            String shown = FieldName.shown(name);
            if (!old.containsKey(name)) {
                add("added", shown);
            } else if (!now.containsKey(name)) {
                add("dropped", shown);
            } else if (!Objects.deepEquals(old.get(name).toArray(), now.get(name).toArray())) {
                add("changed", shown);
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
        boolean free = oldSchema == null && newSchema == null && old instanceof Map && now instanceof Map;
        if (touched == null || !free || !touches((Map<?, ?>) old, (Map<?, ?>) now)) {
            value("", old, now, oldSchema, newSchema);
        }
    }

    /**
     * Compares the fields that the stage can touch. Returns false if the number of fields shows that there are further
     * changes.
     */
    private boolean touches(Map<?, ?> old, Map<?, ?> now) {
        int more = 0;
        for (int n = 0; n < touched.names.length; n++) {
            String name = touched.names[n];
            Object was = old.get(name);
            Object is = now.get(name);
            boolean had = was != null || old.containsKey(name);
            boolean has = is != null || now.containsKey(name);
            if (had && has) {
                value(touched.shown[n], was, is, null, null);
            } else if (had) {
                more--;
                add("dropped", touched.shown[n]);
            } else if (has) {
                more++;
                add("added", touched.shown[n]);
            }
        }
        return old.size() + more == now.size();
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

    /**
     * Returns true if the type of a field changed. Differences in optionality, defaults and documentation are ignored.
     */
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
        String shown = FieldName.shown(name);
        return path.isEmpty() ? shown : path + "." + shown;
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
        // most stages copy a map, and the entries of a copy are in nearly the same order, so few entries have to be
        // looked up
        Iterator<? extends Map.Entry<?, ?>> others = old.entrySet().iterator();
        Map.Entry<?, ?> other = next(others);
        int same = 0;
        for (Map.Entry<?, ?> entry : now.entrySet()) {
            Object key = entry.getKey();
            while (other != null && other.getKey() != key && !now.containsKey(other.getKey())) {
                other = next(others);
            }
            Object was;
            if (other != null && other.getKey() == key) {
                was = other.getValue();
                other = next(others);
            } else if (old.containsKey(key)) {
                was = old.get(key);
            } else {
                add("added", key(path, key, newSchema));
                continue;
            }
            same++;
            if (was != entry.getValue() || before != after) {
                value(key(path, key, newSchema), was, entry.getValue(), before, after);
            }
        }
        if (same < old.size()) {
            drops(path, old, now, oldSchema);
        }
    }

    private static <T> T next(Iterator<T> all) {
        return all.hasNext() ? all.next() : null;
    }

    private void drops(String path, Map<?, ?> old, Map<?, ?> now, Schema schema) {
        for (Object key : old.keySet()) {
            if (!now.containsKey(key)) {
                add("dropped", key(path, key, schema));
            }
        }
    }

    /** Returns the path of a map entry. The keys of a map with a schema are data, so no report may show them. */
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
