package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;

/** Replaces the key with an object that consists of fields of the value. */
final class MakeKey implements Effect {
  private final List<Path> paths = new ArrayList<>();
  private final List<Name> names = new ArrayList<>();
  private final int firstEntry;

  MakeKey(JsonNode effect) {
    for (JsonNode field : effect.get("fields")) {
      paths.add(new Path(field.get("path")));
      names.add(new Name(field.get("name").asText()));
    }
    firstEntry = effect.get("entry").asInt();
  }

  @Override
  public void apply(Row row) {
    Members top = row.value.object();
    Members key = Members.empty(1);
    for (int i = 0; i < paths.size(); i++) {
      key.put(names.get(i), copied(paths.get(i).valueAt(top)));
      row.touched.add(firstEntry + i);
    }
    row.key.set(key);
  }

  /** Returns a copy for the key. It shares nothing with the value, because later stages may change the value. */
  private static Object copied(Object content) {
    if (content == null) {
      return Text.NULL;
    }
    if (content instanceof Text) {
      return content;
    }
    Members container = (Members) content;
    if (container.hasBoxed()) {
      throw Left.LEFT;
    }
    return container.copy(2);
  }
}
