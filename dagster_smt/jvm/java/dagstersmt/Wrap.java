package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;

/** Replaces a value with an object whose only field is the value. */
final class Wrap implements Effect {
  private final boolean onKey;
  private final Path path;
  private final Name name;
  private final int entry;

  Wrap(JsonNode effect, boolean onKey) {
    this.onKey = onKey;
    path = new Path(effect.get("path"));
    name = new Name(effect.get("name").asText());
    entry = effect.get("entry").asInt();
  }

  @Override
  public void apply(Row row) {
    Side side = onKey ? row.key : row.value;
    if (path.length() > 0) {
      wrapInside(side.object(), row);
      return;
    }
    Object content = side.content();
    if (content == null) {
      throw Left.LEFT;
    }
    Members wrapper = Members.empty(0);
    wrapper.put(name, content);
    side.set(wrapper);
    row.touched.add(entry);
  }

  private void wrapInside(Members top, Row row) {
    Members parent = path.parent(top);
    int at = parent == null ? -1 : parent.find(path.leaf());
    if (at < 0) {
      return;
    }
    Members wrapper = Members.empty(parent.depth() + 1);
    wrapper.put(path.leaf(), parent.value(at));
    parent.drop(at);
    parent.put(name, wrapper);
    row.touched.add(entry);
  }
}
