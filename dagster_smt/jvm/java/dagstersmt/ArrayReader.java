package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.util.GenericArrayData;

/** Reads arrays whose elements all have the same type. */
final class ArrayReader extends ColumnReader {
  private final ColumnReader element;

  ArrayReader(JsonNode type) {
    element = ColumnReader.of(type.get("values"));
  }

  @Override
  int readValue(byte[] text, int at, int end, int depth) {
    if (text[at] != '[' || depth >= Json.MAX_DEPTH) {
      throw Left.LEFT;
    }
    List<Object> elements = new ArrayList<>();
    at = Json.afterBlanks(text, at + 1, end);
    boolean isEmpty = at < end && text[at] == ']';
    while (!isEmpty) {
      at = element.read(text, at, end, depth + 1);
      elements.add(element.value);
      at = Json.afterBlanks(text, at, end);
      if (at < end && text[at] == ']') {
        break;
      }
      at = Json.afterComma(text, at, end);
    }
    value = new GenericArrayData(elements.toArray());
    return at + 1;
  }
}
