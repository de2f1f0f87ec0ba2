package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;

/** Inserts fields whose values are constants or come from the record. */
final class Inserts implements Effect {
  private static final class Insert {
    final List<Name> above = new ArrayList<>();
    final Name name;
    final String source;
    final Text text;
    final boolean makesParents;
    final boolean overwrites;
    final int entry;

    Insert(JsonNode insert) {
      List<Name> names = new ArrayList<>();
      insert.get("path").forEach(step -> names.add(new Name(step.asText())));
      name = names.remove(names.size() - 1);
      above.addAll(names);
      source = insert.get("source").asText();
      text = "static".equals(source) ? Text.of(insert.get("text").asText()) : null;
      makesParents = insert.get("parents").asBoolean();
      overwrites = insert.get("overwrites").asBoolean();
      entry = insert.get("entry").asInt();
    }
  }

  private final boolean onKey;
  private final List<Insert> inserts = new ArrayList<>();

  /** The topic of the last record, and its JSON text. */
  private String topic;
  private Text topicText;

  Inserts(JsonNode effect, boolean onKey) {
    this.onKey = onKey;
    effect.get("inserts").forEach(insert -> inserts.add(new Insert(insert)));
  }

  @Override
  public void apply(Row row) {
    Members top = (onKey ? row.key : row.value).object();
    for (Insert insert : inserts) {
      Text text = text(insert, row);
      if (text == null) {
        continue;
      }
      Members fields = parent(top, insert);
      if (fields != null && (insert.overwrites || fields.find(insert.name) < 0)) {
        fields.put(insert.name, text);
        row.touched.add(insert.entry);
      }
    }
  }

  /** Returns the value to insert. Returns null if the record has no such value, so that the field is left out. */
  private Text text(Insert insert, Row row) {
    switch (insert.source) {
      case "static":
        return insert.text;
      case "topic":
        if (!row.topic().equals(topic)) {
          topic = row.topic();
          topicText = Text.string(topic);
        }
        return topicText;
      case "partition":
        return row.partition == Row.NONE ? null : Text.boxed(Long.toString(row.partition));
      case "offset":
        if (row.offset == Row.NONE) {
          throw Left.LEFT;
        }
        return Text.of(Long.toString(row.offset));
      default:
        return row.timestamp == Row.NONE ? null : Text.of(Long.toString(Math.floorDiv(row.timestamp, 1000L)));
    }
  }

  private static Members parent(Members top, Insert insert) {
    Members at = top;
    for (Name name : insert.above) {
      int position = at.find(name);
      if (position < 0) {
        if (!insert.makesParents) {
          return null;
        }
        at.put(name, Text.of("{}"));
        position = at.find(name);
      }
      at = at.child(position);
      if (at == null || !at.isObject()) {
        return null;
      }
    }
    return at;
  }
}
