"""Lists the results that the Spark evaluator may return in place of Connect's. There are two intended differences.

- D6: Spark cannot distinguish a null with a schema from a null without a schema.
- D8: Spark cannot store a timestamp outside its range.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from dagster_smt.authoring.stage import Chain
from dagster_smt.errors import DataError
from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.model.schema import JavaDate, Schema
from dagster_smt.tools.parity.datums import Converter, read_record, run_case, run_record
from dagster_smt.transforms.kafka.hoist_field import HoistField
from dagster_smt.values.cast import DAY
from dagster_smt.values.json.lazy import whole

MAX_MILLIS = (2**63 - 1) // 1000
"""The latest timestamp that Spark can store, in milliseconds. Spark stores a 64-bit number of microseconds."""
MAX_DAYS = 2**31 - 1
_CODES = {"SMT414", "SMT422", "SMT426"}
Result = dict[str, Any]


def without_schemas(case: dict[str, Any], chain: Chain, number: int, got: Result) -> Iterator[Result]:
    """D6 (Spark loses the schema of a null): yields the results that Spark may return for a record with a null key or
    value. Spark does not know whether this null has a schema.

    Yields:
        First, the result for a null with the schema of the other records. Second, the result for a null without a
        schema. If ``got`` is the error that a HoistField cannot put the null into a required field, ``got`` follows as
        a third result.
    """
    converter = Converter(case.get("converter") or {})
    for with_schema in (True, False):
        data = case["records"][number]
        try:
            record = read_record(data, converter)
        except DataError:
            return
        for side in ("key", "value"):
            if getattr(record, side) is None:
                schema = _shown(case, side, converter) if with_schema else None
                setattr(record, f"{side}_schema", schema)
        yield run_record(data, record, Interpreter(chain), converter)
    if "error" in got and got["error"]["code"] == "SMT402" and _hoists_null(case, chain, number, got["error"]["stage"]):
        yield got


def _hoists_null(case: dict[str, Any], chain: Chain, number: int, stage: str) -> bool:
    """Returns True if the stage with the alias ``stage`` is a HoistField that gets a null key or value from the record
    ``number``.

    On Spark, this null has the schema that all records of the case share. In Connect, the null may have none.
    """
    place = [s.alias for s in chain.stages].index(stage)
    record = read_record(case["records"][number], Converter(case.get("converter") or {}))
    Interpreter(replace(chain, stages=chain.stages[:place])).run(record)
    hoist = chain.stages[place]
    return isinstance(hoist.transform, HoistField) and getattr(record, hoist.side) is None


def _shown(case: dict[str, Any], side: str, converter: Converter) -> Schema | None:
    """Returns the schema of the first key or value in ``case`` that has a schema. ``side`` is ``key`` or ``value``.
    Returns None if no record has such a schema.
    """
    for record in case["records"]:
        if record[side] is not None and "envelope" in record[side]:
            with suppress(DataError):
                return converter.split(record[side]["envelope"].encode())[0]
    return None


def beyond_range(case: dict[str, Any], chain: Chain, number: int, got: Result) -> Iterator[Result]:
    """D8 (Spark's range of timestamps is smaller): yields the results that Spark may return for a record with a
    timestamp outside Spark's range.

    Yields:
        First, the result without a timestamp, if the record's own timestamp is outside the range. Second, ``got``
        itself, if ``got`` is an error about a timestamp outside the range.
    """
    record = case["records"][number]
    if record["timestamp"] is not None and abs(record["timestamp"]) > MAX_MILLIS:
        shown = {**record, "timestamp": None}
        yield from run_case({**case, "records": [shown]}, chain)["results"]
    if "error" in got and got["error"]["code"] in _CODES and _reaches(case, chain, number, got["error"]["stage"]):
        yield got


def _reaches(case: dict[str, Any], chain: Chain, number: int, stage: str) -> bool:
    """Returns True if the record ``number`` contains a timestamp outside Spark's range after the stage with the alias
    ``stage``. If ``stage`` names a converter, the record is checked before the first stage.
    """
    names = [s.alias for s in chain.stages]
    part = replace(chain, stages=chain.stages[: names.index(stage) + 1] if stage in names else ())
    try:
        record = read_record(case["records"][number], Converter(case.get("converter") or {}))
    except DataError:
        return False
    Interpreter(part).run(record)
    for schema, value in _sides(record):
        if _beyond(schema, whole(value)):
            return True
    return False


def _sides(record: Any) -> list[tuple[Schema | None, Any]]:
    headers = [(h.schema, h.value) for h in record.headers]
    return [(record.key_schema, record.key), (record.value_schema, record.value), *headers]


def _beyond(schema: Schema | None, value: Any) -> bool:
    if isinstance(value, JavaDate):
        days = schema is not None and schema.logical == "Date"
        if days:
            return abs(value) // DAY > MAX_DAYS
        return abs(value) > MAX_MILLIS
    if isinstance(value, list):
        for item in value:
            if _beyond(schema and schema.values, item):
                return True
        return False
    if isinstance(value, dict):
        if schema is not None and schema.fields:
            for name, child in schema.fields:
                if _beyond(child, value.get(name)):
                    return True
            return False
        for item in value.values():
            if _beyond(schema and schema.values, item):
                return True
        return False
    return False
