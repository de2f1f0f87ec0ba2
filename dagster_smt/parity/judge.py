"""Which differences from Kafka Connect are deliberate: D1 to D6. Rules over what a case shows, never over its name."""

from decimal import Decimal
from typing import Any

from dagster_smt.errors import DataError
from dagster_smt.parity.compare import canonical_record, result_difference
from dagster_smt.parity.datums import Converter
from dagster_smt.spec.options import split_list
from dagster_smt.values.header_literals import parse_simple_header, simple_header_bytes

SPARK = "spark"
"""Key of a result that marks it as the Spark evaluator's."""
BYTES = "bytes"
"""Key of a header that a stage made on Spark: its bytes."""

REASONS = {
    "D1": "Kafka ignores the option: here it is honoured, or refused",
    "D2": "Kafka has a defect here (a crash, a leak): here it is a correct result or a coded problem",
    "D3": "all time zones are UTC",
    "D4": "the result hangs on hash order, or is a value that JSON cannot carry",
    "D5": "Kafka coerces or wraps JSON silently: here it keeps its spelling or is refused",
    "D6": "the Spark evaluator keeps no schema for a null side; headers are bytes, decimals have their schema's scale",
}
_D4_TAGS = {"map-order", "unserialisable", "java-object"}
_SPECIAL_FLOATS = ('"NaN', '"Infinity', '"-Infinity')
_MISLABELLED = (
    'Invalid Java object for schema "org.apache.kafka.connect.data.',
    "Expected Timestamp to be a java.util.Date, but found class java.lang.",
)
_CONVERTER_REFUSALS = {"SMT401", "SMT411", "SMT412", "SMT414", "SMT417"}


def deliberate(case: dict[str, Any], answer: dict[str, Any]) -> str:
    """The id of the deliberate difference that explains an answer that is not equal, or an empty text."""
    tags = set(case["tags"])
    if "kip-821-not-implemented" in tags:
        return "D1"
    if "zone-leak" in tags:
        return "D2"
    if tags & _D4_TAGS:
        return "D4"
    if "results" not in case["expect"]:
        return ""
    if "configError" in answer:
        crashes = [_crash(w) for w in case["expect"]["results"]]
        return "D2" if crashes and all(crashes) else ""
    rows = zip(case["records"], case["expect"]["results"], answer["results"], strict=True)
    found = [_row(case, r, w, g) for r, w, g in rows if result_difference(w, g)]
    return found[0] if found and all(found) else ""


def _row(case: dict[str, Any], record: dict[str, Any], want: dict[str, Any], got: dict[str, Any]) -> str:
    if _crash(want) or _mislabelled(want) or _confused_rename(case["config"], record):
        return "D2"
    if any(text in str(record["value"]) for text in _SPECIAL_FLOATS):
        return "D5"
    if SPARK in got and _spark_limit(case, record, want, got):
        return "D6"
    if "error" not in got:
        return ""
    refused = got["error"]["stage"].endswith(".converter") and got["error"]["code"] in _CONVERTER_REFUSALS
    if refused or got["error"]["code"] == "SMT412":
        return "D5"
    return ""


def _spark_limit(case: dict[str, Any], record: dict[str, Any], want: dict[str, Any], got: dict[str, Any]) -> bool:
    """Whether the difference is what the Spark evaluator cannot tell, or a limit of Spark's types."""
    if "record" not in want:
        return False
    converter = Converter(case.get("converter") or {})
    if "record" in got and _on_spark(want["record"], converter) == _on_spark(got["record"], converter):
        return True
    code = got["error"]["code"] if "error" in got else ""
    if code == "SMT422" or (code == "SMT402" and ":null" in str(want["record"]["key"]) + str(want["record"]["value"])):
        return True  # an instant beyond Spark's; a null side that had kept an optional schema
    # Connect wraps a null without schema in a map without schema: the declared schema of the side is not at hand
    without = [side for side in ("key", "value") if record[side] is None]
    return bool(without) and any("schemaless" in (want["record"][side] or ()) for side in ("key", "value"))


def _on_spark(record: dict[str, Any], converter: Converter) -> Any:
    """A record as the Spark evaluator can tell it: no schema on a null side, headers as bytes, decimals by value."""
    found = _numbers(canonical_record({**record, "headers": []}))
    for side in ("key", "value"):
        if found[side] is not None and found[side][0] == "schema" and found[side][2] is None:
            found[side] = None
    found["headers"] = [(h["key"], _header(h, converter)) for h in record.get("headers", ())]
    return found


def _header(header: dict[str, Any], converter: Converter) -> Any:
    """What the bytes of a header say; maps in them have no order."""
    try:
        data = header[BYTES] if BYTES in header else simple_header_bytes(*converter.read(header["value"]))
    except (DataError, KeyError):  # an unserialisable value has no JSON
        return header["value"]
    return parse_simple_header(data)


def _numbers(value: Any) -> Any:
    """Decimals by value: a Spark column has one scale for all of them."""
    if isinstance(value, tuple) and len(value) == 2 and value[0] in ("decimal", "int"):
        return ("number", Decimal(value[1]).normalize())
    if isinstance(value, dict):
        return {k: _numbers(v) for k, v in value.items()}
    return type(value)(map(_numbers, value)) if isinstance(value, tuple | list) else value


def _confused_rename(config: dict[str, str], record: dict[str, Any]) -> bool:
    """ReplaceField with a schema looks values up by the inverse rename, wrong where the old name is not kept."""
    for key, text in config.items():
        prefix, _, option = key.rpartition(".")
        if option != "renames" or "schemaless" in (record["value"] or {}):
            continue
        excluded = split_list(config.get(f"{prefix}.exclude", ""))
        olds = [pair.split(":")[0] for pair in split_list(text)]
        if any(old in excluded or f'"field":"{old}"' not in str(record["value"]) for old in olds):
            return True
    return False


def _mislabelled(result: dict[str, Any]) -> bool:
    """Whether Kafka failed on its own schema: a Cast of the whole value had left the name of a date on it."""
    return "error" in result and result["error"]["message"].startswith(_MISLABELLED)


def _crash(result: dict[str, Any]) -> bool:
    """Whether Kafka failed with an exception that is none of its own."""
    return "error" in result and not result["error"]["class"].startswith("org.apache.kafka.")
