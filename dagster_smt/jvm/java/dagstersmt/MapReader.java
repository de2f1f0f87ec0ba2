package dagstersmt;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/** Reads objects into maps with string keys. */
final class MapReader extends ColumnReader {
  private final ColumnReader key;
  private final ColumnReader item;

  MapReader(JsonNode type) {
    key = new Scalars.StringReader();
    item = ColumnReader.of(type.get("values"));
  }

  @Override
  int readValue(byte[] text, int at, int end, int depth) {
    if (text[at] != '{' || depth >= Json.MAX_DEPTH) {
      throw Left.LEFT;
    }
    // if a key occurs twice, the last value applies, at the position of the first
    Map<UTF8String, Object> items = new LinkedHashMap<>();
    at = Json.afterBlanks(text, at + 1, end);
    boolean isEmpty = at < end && text[at] == '}';
    while (!isEmpty) {
      if (at >= end) {
        throw Left.LEFT;
      }
      int colon = key.readValue(text, at, end, depth + 1);
      at = item.read(text, Json.afterColon(text, colon, end), end, depth + 1);
      items.put((UTF8String) key.value, item.value);
      at = Json.afterBlanks(text, at, end);
      if (at < end && text[at] == '}') {
        break;
      }
      at = Json.afterComma(text, at, end);
    }
    Object[] keys = items.keySet().toArray();
    value = new ArrayBasedMapData(new GenericArrayData(keys), new GenericArrayData(items.values().toArray()));
    return at + 1;
  }
}
