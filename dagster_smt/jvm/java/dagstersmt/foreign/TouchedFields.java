package dagstersmt.foreign;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The fields at the top of a value that one of Kafka's own transforms can add, drop or change. The options of such a
 * transform name all of these fields, so the ledger need not compare the other fields.
 */
final class TouchedFields {
    private static final String KAFKA = "org.apache.kafka.connect.transforms.";
    final String[] names;
    /** The form in which reports show each name. */
    final String[] shown;

    private TouchedFields(Collection<String> names) {
        this.names = names.toArray(new String[0]);
        shown = names.stream().map(FieldName::shown).toArray(String[]::new);
    }

    /**
     * Returns the fields that a transform can touch. Returns null if it may touch any field, or has an option that this
     * class does not know.
     */
    static TouchedFields of(String type, Map<String, String> config) {
        if (!type.startsWith(KAFKA)) {
            return null;
        }
        List<String> names = new ArrayList<>();
        Set<String> unknown = new LinkedHashSet<>(config.keySet());
        switch (type.substring(KAFKA.length()).split("\\$")[0]) {
            case "MaskField":
                unknown.removeAll(Set.of("fields", "replacement", "replace.null.with.default"));
                names.addAll(list(config, "fields"));
                break;
            case "Cast":
                unknown.removeAll(Set.of("spec", "replace.null.with.default"));
                list(config, "spec").forEach(pair -> names.add(beforeColon(pair)));
                break;
            case "TimestampConverter":
                unknown.removeAll(
                        Set.of("field", "target.type", "format", "unix.precision", "replace.null.with.default"));
                names.add(config.getOrDefault("field", ""));
                break;
            case "ReplaceField":
                unknown.removeAll(Set.of("exclude", "renames", "replace.null.with.default"));
                names.addAll(list(config, "exclude"));
                list(config, "renames").forEach(pair -> names.addAll(List.of(pair.split(":"))));
                break;
            case "InsertField":
                unknown.removeAll(Set.of("static.value", "replace.null.with.default"));
                for (String what : List.of("topic", "partition", "offset", "timestamp", "static")) {
                    if (unknown.remove(what + ".field")) {
                        names.add(config.get(what + ".field").replaceFirst("[!?]$", ""));
                    }
                }
                break;
            default:
                return null;
        }
        Set<String> both = new LinkedHashSet<>(names);
        names.forEach(name -> both.add(name.trim())); // some of these transforms remove the spaces around a name
        // without a field name, some of these transforms change the whole value
        return unknown.isEmpty() && !both.contains("") ? new TouchedFields(both) : null;
    }

    /** Reads a list as Kafka's {@code ConfigDef} does. */
    private static List<String> list(Map<String, String> config, String option) {
        String text = config.getOrDefault(option, "").trim();
        return text.isEmpty() ? List.of() : List.of(text.split("\\s*,\\s*", -1));
    }

    /**
     * Returns the field in a pair of {@code Cast}'s option. Returns an empty string for a type without a field, which
     * casts the whole value.
     */
    private static String beforeColon(String pair) {
        int colon = pair.indexOf(':');
        return colon < 0 ? "" : pair.substring(0, colon);
    }
}
