package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;

/** Moves the fields of nested objects to the top level. The new name joins the names on the path of the field. */
final class Flatten implements Effect {
  private final boolean onKey;
  private final byte[] delimiter;
  private final int entry;

  Flatten(JsonNode effect, boolean onKey) {
    this.onKey = onKey;
    delimiter = effect.get("delimiter").asText().getBytes(StandardCharsets.UTF_8);
    entry = effect.get("entry").asInt();
  }

  @Override
  public void apply(Row row) {
    Side side = onKey ? row.key : row.value;
    Members top = side.object();
    if (!hasObject(top)) {
      return;
    }
    Members flat = Members.empty(1);
    collect(top, null, flat);
    side.set(flat);
    row.touched.add(entry);
  }

  private static boolean hasObject(Members members) {
    for (int at = 0; at < members.positions(); at++) {
      if (!members.isGone(at) && members.isObject(at)) {
        return true;
      }
    }
    return false;
  }

  /**
   * Adds the fields of an object to {@code flat}. If two fields have the same name, the first field gets the value of
   * the second, as in Connect's map.
   */
  private void collect(Members members, byte[] prefix, Members flat) {
    for (int at = 0; at < members.positions(); at++) {
      if (members.isGone(at)) {
        continue;
      }
      byte[] name = joined(prefix, members.name(at));
      if (members.isObject(at)) {
        collect(members.child(at), name, flat);
      } else {
        flat.put(new Name(new String(name, StandardCharsets.UTF_8)), members.value(at));
      }
    }
  }

  /**
   * Joins a prefix and a name. As in Kafka, an empty prefix is treated as a missing prefix. So a field inside a field
   * with an empty name gets no delimiter.
   */
  private byte[] joined(byte[] prefix, byte[] name) {
    if (prefix == null || prefix.length == 0) {
      return name;
    }
    Out out = new Out(prefix.length + delimiter.length + name.length);
    out.put(prefix);
    out.put(delimiter);
    out.put(name);
    return out.toBytes();
  }
}
