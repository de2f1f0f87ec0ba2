package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;

/** Replaces the whole key or value with one of its fields. */
final class Extract implements Effect {
  private final boolean onKey;
  private final Path path;
  private final int entry;

  Extract(JsonNode effect, boolean onKey) {
    this.onKey = onKey;
    path = new Path(effect.get("path"));
    entry = effect.get("entry").asInt();
  }

  @Override
  public void apply(Row row) {
    Side side = onKey ? row.key : row.value;
    Object content = side.content();
    for (int i = 0; i < path.length() && content != null; i++) {
      content = below(content, path.step(i));
    }
    if (content != null) {
      row.touched.add(entry);
    }
    side.set(content);
  }

  private static Object below(Object content, Step step) {
    if (!(content instanceof Members) || step.name != null && !((Members) content).isObject()) {
      throw Left.LEFT; // Connect raises an error for such a value
    }
    int[] positions = step.positions((Members) content);
    return positions.length == 0 ? null : Values.taken((Members) content, positions[0]);
  }
}
