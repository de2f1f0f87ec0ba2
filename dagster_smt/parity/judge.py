"""Which differences from Kafka Connect are deliberate (design: D1 to D6). Rules over what a case shows, never over its name."""

from typing import Any

from dagster_smt.spec.options import split_list
from dagster_smt.parity.compare import result_difference

REASONS = {
    "D1": "Kafka ignores the option: here it is honoured, or refused",
    "D2": "Kafka has a defect here (a crash, a leak): here it is a correct result or a coded problem",
    "D3": "all time zones are UTC",
    "D4": "the result hangs on hash order, or is a value that JSON cannot carry",
    "D5": "Kafka coerces or wraps JSON silently: here it keeps its spelling or is refused",
    "D6": "the Spark evaluator keeps no schema for a null side, and writes untouched headers as read",
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
    if "error" not in got:
        return ""
    refused = got["error"]["stage"].endswith(".converter") and got["error"]["code"] in _CONVERTER_REFUSALS
    if refused or got["error"]["code"] == "SMT412":
        return "D5"
    return ""


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
