package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Drops the given fields, then drops all fields except the listed ones, and finally renames fields. */
final class Restructure implements PathEffect {
  private final boolean onKey;
  private final List<Drop> drops = new ArrayList<>();
  private final List<Path> dropPaths = new ArrayList<>();
  private final boolean dropsArePlain;
  private final List<Keep> keeps = new ArrayList<>();
  private final List<Rename> renames = new ArrayList<>();

  private static final class Drop {
    final Path path;
    final int entry;

    Drop(JsonNode drop) {
      path = new Path(drop.get("path"));
      entry = drop.get("entry").asInt();
    }
  }

  private static final class Keep {
    final List<Path> paths = new ArrayList<>();
    final int entry;

    Keep(JsonNode keep) {
      keep.get("paths").forEach(path -> paths.add(new Path(path)));
      entry = keep.get("entry").asInt();
    }
  }

  private static final class Rename {
    final Path path;
    final Name name;
    final int entry;

    Rename(JsonNode rename) {
      path = new Path(rename.get("path"));
      name = new Name(rename.get("name").asText());
      entry = rename.get("entry").asInt();
    }
  }

  Restructure(JsonNode effect, boolean onKey) {
    this.onKey = onKey;
    effect.get("drops").forEach(drop -> drops.add(new Drop(drop)));
    dropsArePlain = drops.stream().allMatch(drop -> drop.path.isPlain());
    if (dropsArePlain) {
      drops.sort(Comparator.comparingInt((Drop drop) -> -drop.path.length()));
    }
    drops.forEach(drop -> dropPaths.add(drop.path));
    effect.get("keeps").forEach(keep -> keeps.add(new Keep(keep)));
    effect.get("renames").forEach(rename -> renames.add(new Rename(rename)));
    renames.sort(Comparator.comparingInt((Rename rename) -> -rename.path.length()));
  }

  @Override
  public void apply(Row row) {
    Members top = (onKey ? row.key : row.value).object();
    if (dropsArePlain) {
      dropInTurn(top, row);
    } else {
      for (Places.Numbered each : Places.of(dropPaths, top, true)) {
        each.place.container.drop(each.place.position);
        row.touched.add(drops.get(each.number).entry);
      }
    }
    for (Keep keep : keeps) {
      if (new Pruner(keep.paths, top).prune(top)) {
        row.touched.add(keep.entry);
      }
    }
    if (!renames.isEmpty()) {
      rename(top, row);
    }
  }

  @Override
  public List<PathAction> actions() {
    if (drops.isEmpty() || !keeps.isEmpty() || !renames.isEmpty()) {
      return null;
    }
    List<PathAction> actions = new ArrayList<>();
    drops.forEach(drop -> actions.add(PathAction.drop(drop.path, drop.entry)));
    return actions;
  }

  @Override
  public boolean firstDropCounts() {
    return dropsArePlain;
  }

  @Override
  public List<Name> fills() {
    return List.of();
  }

  private void dropInTurn(Members top, Row row) {
    for (Drop drop : drops) {
      Members parent = drop.path.parent(top);
      int at = parent == null ? -1 : parent.find(drop.path.leaf());
      if (at >= 0) {
        parent.drop(at);
        row.touched.add(drop.entry);
      }
    }
  }

  /** Renames fields. All fields are removed before any is inserted again, so two fields can exchange their names. */
  private void rename(Members top, Row row) {
    Members[] parents = new Members[renames.size()];
    int[] positions = new int[parents.length];
    for (int i = 0; i < parents.length; i++) {
      Path path = renames.get(i).path;
      parents[i] = path.parent(top);
      positions[i] = parents[i] == null ? -1 : parents[i].find(path.leaf());
    }
    Object[] values = new Object[parents.length];
    for (int i = 0; i < parents.length; i++) {
      if (positions[i] >= 0) {
        values[i] = parents[i].value(positions[i]);
        parents[i].drop(positions[i]);
      }
    }
    for (int i = 0; i < parents.length; i++) {
      if (values[i] != null) {
        parents[i].put(renames.get(i).name, values[i]);
        row.touched.add(renames.get(i).entry);
      }
    }
  }
}
