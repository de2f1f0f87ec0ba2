package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;

/** Inserts a field with the joined texts of other fields. */
final class Join implements Effect {
  private final boolean onKey;
  private final Name target;
  private final List<Name> names = new ArrayList<>();
  private final String delimiter;
  private final String missing;
  private final int entry;

  Join(JsonNode effect, boolean onKey) {
    this.onKey = onKey;
    target = new Name(effect.get("target").asText());
    effect.get("names").forEach(name -> names.add(new Name(name.asText())));
    delimiter = effect.get("delimiter").asText();
    missing = effect.get("missing").asText();
    entry = effect.get("entry").asInt();
  }

  @Override
  public void apply(Row row) {
    Members top = (onKey ? row.key : row.value).object();
    List<String> texts = new ArrayList<>();
    for (Name name : names) {
      int at = top.find(name);
      String text = at < 0 ? null : Scalar.text(Values.taken(top, at));
      texts.add(text == null ? missing : text);
    }
    top.put(target, Text.string(String.join(delimiter, texts)));
    row.touched.add(entry);
  }
}
