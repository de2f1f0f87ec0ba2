"""Runs one transform or predicate on one record, written as JSON text, on the Python evaluator."""

import json
from dataclasses import dataclass
from typing import Any

from dagster_smt.authoring.transform import Example
from dagster_smt.chain import parse_chain
from dagster_smt.chain.plan import ledger_entries
from dagster_smt.errors import ConfigError
from dagster_smt.interpret.interpreter import DROPPED_STATUS, FAILED, Interpreter
from dagster_smt.model.record import Header, Record
from dagster_smt.tools.parity.compare import canonical_datum
from dagster_smt.tools.parity.datums import Converter

MARK = "predicate-was-true"
LOGICAL = {"Decimal": "bytes", "Date": "int32", "Time": "int32", "Timestamp": "int64"}


@dataclass(frozen=True)
class Case(Example):
    """A row of a test table: an example, or (``problem``: the first line) something that is refused."""

    problem: str = ""
    side: str = "Value"
    touches: tuple[str, ...] | None = None
    """Paths of the ledger entries that the record touches, if the row says so."""


def refusal(title: str, options: dict[str, Any], before: str, problem: str, **more: Any) -> Case:
    """A row whose record or configuration is refused."""
    return Case(title, options, before, None, problem=problem, **more)


def chain_of(cls: type, options: dict[str, Any], side: str = "Value") -> Any:
    """A chain of one stage ``t``; a predicate gets a stage that leaves a mark in the topic."""
    if cls.plugin == "predicate":
        router = {"regex": ".*", "replacement": MARK}
        properties = {"transforms": "t", "transforms.t.type": "org.apache.kafka.connect.transforms.RegexRouter"}
        properties |= {f"transforms.t.{k}": v for k, v in router.items()}
        properties |= {"transforms.t.predicate": "p", "predicates": "p", "predicates.p.type": cls.connect_class}
        return parse_chain(properties | {f"predicates.p.{k}": v for k, v in options.items()})
    properties = {"transforms": "t", "transforms.t.type": cls.connect_class + (f"${side}" if cls.sided else "")}
    return parse_chain(properties | {f"transforms.t.{k}": v for k, v in options.items()})


def record_of(text: str, part: str = "value") -> Record:
    """The record that ``Example`` describes, with one part of it given."""
    record = Record("orders", 0, 42, 1556204536123, "CreateTime")
    if part == "topic":
        record.topic = text
    elif part == "headers":
        record.headers = [
            Header(h["key"], None, h["value"], h["value"].encode(), from_stage=False) for h in json.loads(text)
        ]
    else:
        schema, value = Converter({"replace.null.with.default": "false"}).read(datum(text))
        setattr(record, f"{part}_schema", schema)
        setattr(record, part, value)
    return record


def datum(text: str) -> dict[str, str]:
    """JSON text in the form of the parity cases."""
    data = json.loads(text)
    enveloped = isinstance(data, dict) and set(data) == {"schema", "payload"}
    return {"envelope" if enveloped else "schemaless": text}


def shown(record: Record, part: str) -> Any:
    """One part of a record, comparable with ``expectation``."""
    if part == "topic":
        return record.topic
    converter = Converter({"replace.null.with.default": "false"})
    if part == "headers":
        values = [converter.write(h.schema, h.value) for h in record.headers]
        return [(h.key, _payload(v)) for h, v in zip(record.headers, values, strict=True)]
    return canonical_datum(converter.write(getattr(record, f"{part}_schema"), getattr(record, part)))


def _payload(written: dict[str, str] | None) -> Any:
    if written is None:
        return None
    return json.loads(written["envelope"])["payload"] if "envelope" in written else json.loads(written["schemaless"])


def expectation(text: str, part: str) -> Any:
    """What an example promises, comparable with ``shown``."""
    if part == "topic":
        return text
    if part == "headers":
        return [(h["key"], h["value"]) for h in json.loads(text)]
    return canonical_datum(datum(text))


def check(cls: type, case: Example) -> None:
    """Assert that what a row says is true."""
    problem = getattr(case, "problem", "")
    try:
        chain = chain_of(cls, case.options, getattr(case, "side", "Value"))
    except ConfigError as error:
        assert str(error).splitlines()[0] == problem
        return
    record = record_of(case.before, case.input_part or case.shows)
    outcome = Interpreter(chain).run(record)
    if outcome.status == FAILED:
        assert str(outcome.problem).splitlines()[0] == problem
        return
    assert not problem, f"it was not refused: {shown(record, case.shows)}"
    if cls.plugin == "predicate":
        assert (record.topic == MARK) is {"true": True, "false": False}[case.after or ""]
    elif case.after is None:
        assert outcome.status == DROPPED_STATUS
    else:
        assert (outcome.status, shown(record, case.shows)) == (0, expectation(case.after, case.shows))
    check_touches(chain, record, case)


def check_touches(chain: Any, record: Record, case: Example) -> None:
    """Assert that a record touched the ledger entries that a row names."""
    if getattr(case, "touches", None) is not None:
        entries = ledger_entries(chain)
        assert tuple(e.path for number, e in enumerate(entries) if record.touched >> number & 1) == case.touches


def envelope(fields: str, payload: str, **top: Any) -> str:
    """An envelope text. ``fields``: ``name:type`` with ``?`` for optional and ``=default``, separated by blanks.

    Decimals have the scale 2.
    """
    schema = {"type": "struct", "optional": False, "fields": [_field(f) for f in fields.split()], **top}
    return f'{{"schema":{json.dumps(schema)},"payload":{payload}}}'


def _field(text: str) -> dict[str, Any]:
    name, _, rest = text.partition(":")
    return {"field": name, **_type(rest)}


def _type(text: str) -> dict[str, Any]:
    """A primitive or logical type, ``map<type>``, ``array<type>`` or ``{field:type;field:type}``."""
    optional = text.endswith("?")
    if text.startswith("{"):
        fields = [_field(f) for f in text.rstrip("?")[1:-1].split(";")]
        return {"type": "struct", "optional": optional, "fields": fields}
    if text.startswith("map<"):
        inner = {"keys": {"type": "string"}, "values": _type(text.rstrip("?")[4:-1])}
        return {"type": "map", "optional": optional, **inner}
    if text.startswith("array<"):
        return {"type": "array", "optional": optional, "items": _type(text.rstrip("?")[6:-1])}
    kind, _, default = text.partition("=")
    result: dict[str, Any] = {"type": kind.rstrip("?"), "optional": kind.endswith("?")}
    if result["type"] in LOGICAL:
        result |= {
            "type": LOGICAL[result["type"]],
            "name": f"org.apache.kafka.connect.data.{result['type']}",
            "version": 1,
        }
    if result["type"] == "bytes" and "name" in result:
        result["parameters"] = {"scale": "2"}
    return result | ({"default": json.loads(default)} if default else {})
