"""Writes the gallery, a page of the reference. It shows chains with their input records, output records and reports."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from dagster_smt.chain import Chain, parse_chain, plan_chain
from dagster_smt.chain.plan import ledger_entries
from dagster_smt.chain.properties import read_properties
from dagster_smt.interpret.interpreter import DROPPED_STATUS, FAILED, NO_STAGE, Interpreter, Outcome
from dagster_smt.model.record import Header, Record
from dagster_smt.model.reports.markdown import code, plain, table
from dagster_smt.model.schema import Schema
from dagster_smt.model.topics.format import Format
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.values.headers.fields import header_as_read, header_bytes

FILE = Path("tests/gallery.yaml")
_HEAD = """# Gallery of chains

This page shows twelve chains. For each chain, it shows input records, output records and the report of the run.
`make docs` runs the chains and writes the page. In a report, the column "records" counts the records that reached the
stage. [Chains](../chains.md) shows how to run a chain of your own; the [glossary](../glossary.md) explains the terms.
"""


@dataclass(frozen=True)
class GalleryChain:
    """A chain of the gallery, with records on which it runs.

    Attributes:
        title: The heading.
        text: The purpose of the chain.
        chain: The properties of the chain.
        records: Records with ``value``, and optionally ``key``, ``topic`` and ``headers``.
        schema: The fields of the values as a DDL string; empty for JSON without a schema.
        envelope: The Connect schema that wraps the values, as JSON; empty if there is none.
    """

    title: str
    text: str
    chain: str
    records: Sequence[Mapping[str, Any]]
    schema: str = ""
    envelope: str = ""

    @property
    def parsed(self) -> Chain:
        """The parsed chain."""
        return parse_chain(read_properties(self.chain))

    @property
    def declared(self) -> Schema | None:
        """The declared schema of the values. None for JSON without a schema, and for values in an envelope."""
        if self.schema:
            return parse_ddl(self.schema)
        return None

    @property
    def value(self) -> Format:
        """The format of the values."""
        if self.envelope:
            return Format("envelope")
        if self.schema:
            return Format("json_schema", self.declared)
        return Format()

    def stored(self, value: str | None) -> bytes | None:
        """Returns the bytes of a record's value as a topic stores them. If the chain has an envelope, ``value`` is
        wrapped in it. None, the value of a tombstone, stays None.
        """
        if value is None:
            return None
        if self.envelope:
            text = f'{{"schema":{self.envelope},"payload":{value}}}'
        else:
            text = value
        return text.encode()

    def shown(self, value: bytes | None) -> str:
        """Returns ``value`` as the page shows it. For an envelope, that is the payload."""
        if value is None:
            return "null"
        if not self.envelope:
            return value.decode()
        return json.dumps(json.loads(value)["payload"], separators=(",", ":"))


@dataclass
class Result:
    """The results of a gallery chain for its records.

    Attributes:
        lines: The output records as JSON; a sentence for a dropped or failed record.
        outcomes: The outcome of each record.
        touched: A number for each record. Bit n of the number is set if the chain's ledger entry n (such as "masked
            ``email``") counts the record.
    """

    lines: list[str] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    touched: list[int] = field(default_factory=list)


def entries(file: Path = FILE) -> list[GalleryChain]:
    """Reads the chains of the gallery from ``file``."""
    chains = []
    for data in yaml.safe_load(file.read_text(encoding="utf-8")):
        chains.append(GalleryChain(**data))
    return chains


def run(entry: GalleryChain) -> Result:
    """Runs the chain of ``entry`` on its records, with the Python evaluator."""
    interpreter, result = Interpreter(entry.parsed, Format("string"), entry.value), Result()
    for offset, data in enumerate(entry.records):
        headers = data.get("headers", {}).items()
        # the timestamp is 2026-01-31T12:00:00Z
        record = Record(data.get("topic", "orders"), 0, offset, 1_769_860_800_000, "CreateTime")
        headers_as_read = []
        for name, text in headers:
            headers_as_read.append(header_as_read(name, text.encode()))
        record.headers = headers_as_read
        key = None if data.get("key") is None else data["key"].encode()
        outcome, key, value = interpreter.process(record, key, entry.stored(data["value"]))
        result.outcomes.append(outcome)
        result.touched.append(record.touched)
        result.lines.append(_line(entry.parsed, outcome) or _written(record, key, entry.shown(value)))
    return result


def _line(chain: Chain, outcome: Outcome) -> str:
    """Returns a sentence such as ``dropped by s1`` for a record that was dropped or failed. Returns an empty string for
    all other records.
    """
    if outcome.status == DROPPED_STATUS:
        return f"dropped by {chain.stages[outcome.stage].alias}"
    if outcome.status == FAILED:
        assert outcome.problem is not None
        return f"dead letter: {outcome.problem.code} {outcome.problem.statement}"
    return ""


def _written(record: Record, key: bytes | None, value: str) -> str:
    # the page shows the topic only if it is not the default
    data: dict[str, str] = {"topic": record.topic or ""} if record.topic != "orders" else {}
    data |= {"key": key.decode()} if key is not None else {}
    sides = []
    for name, text in data.items():
        sides.append(json.dumps(name) + ":" + json.dumps(text))
    sides.append(f'"value":{value}')
    if record.headers:
        sides.append('"headers":' + json.dumps({h.key: _text(h) for h in record.headers}, separators=(",", ":")))
    return "{" + ",".join(sides) + "}"


def _text(header: Header) -> str:
    return (header_bytes(header) or b"").decode()


def page(chains: Sequence[GalleryChain]) -> str:
    """Returns the page that shows ``chains``."""
    parts = [_HEAD, *(part for number, entry in enumerate(chains, 1) for part in _parts(number, entry))]
    return "\n".join(parts)


def _parts(number: int, entry: GalleryChain) -> Iterator[str]:
    result = run(entry)
    yield f"## {number}. {entry.title}\n\n{entry.text}\n"
    if entry.schema:
        yield f"Columns: {code(entry.schema)}\n"
    if entry.envelope:
        name = json.loads(entry.envelope)["name"]
        yield f"Values are envelopes with the schema {code(name)}; their payloads are shown.\n"
    yield f"```properties\n{entry.chain.strip()}\n```\n"
    lines = [_input(data) for data in entry.records]
    yield "Input:\n\n```json\n" + "\n".join(lines) + "\n```\n"
    yield "Output:\n\n```text\n" + "\n".join(result.lines) + "\n```\n"
    yield f"Report: {_counts(result)}\n\n{_stages(entry.parsed, result)}\n"
    if entry.schema:
        yield _columns(entry)


def _input(data: Mapping[str, Any]) -> str:
    sides = []
    for name in ("topic", "key"):
        if name in data:
            sides.append(f'"{name}":{json.dumps(data[name])}')
    sides.append('"value":' + (data["value"] or "null"))
    sides += ['"headers":' + json.dumps(data["headers"], separators=(",", ":"))] if "headers" in data else []
    return "{" + ",".join(sides) + "}"


def _counts(result: Result) -> str:
    statuses = [outcome.status for outcome in result.outcomes]
    dropped, failed = statuses.count(DROPPED_STATUS), statuses.count(FAILED)
    out = len(statuses) - dropped - failed
    return f"{_number(len(statuses))} in, {_number(out)} out; dropped: {dropped}, dead letters: {failed}."


def _stages(chain: Chain, result: Result) -> str:
    rows = [["stage", "transform", "records", "what the stage did"]]
    for index, stage in enumerate(chain.stages):
        reached = []
        for o in result.outcomes:
            # a record that a converter rejected has a stage below NO_STAGE, and reached no stage
            if o.stage == NO_STAGE or o.stage >= index:
                reached.append(o)
        did = "; ".join(_did(chain, result, index)) or "nothing"
        rows.append([code(stage.alias), plain(stage.label), str(len(reached)), did])
    return table(rows)


def _did(chain: Chain, result: Result, index: int) -> Iterator[str]:
    """Yields what the stage with the index ``index`` did to the records, in lines such as ``masked `email` in 3
    records`` or ``dropped 1 record``.
    """
    for number, entry in enumerate(ledger_entries(chain)):
        if entry.stage == index:
            records = 0
            for bits in result.touched:
                records += bits >> number & 1
            arrow = "←" if entry.action == "added" else "→"
            target = f" {arrow} {code(entry.target)}" if entry.target else ""
            yield f"{entry.action} {code(entry.path)}{target} in {_number(records)}"
    lost = []
    for outcome in result.outcomes:
        if outcome.stage == index:
            lost.append(outcome.status)
    if lost.count(DROPPED_STATUS):
        yield f"dropped {_number(lost.count(DROPPED_STATUS))}"
    if lost.count(FAILED):
        yield f"{_number(lost.count(FAILED))} failed"


def _number(records: int) -> str:
    """Returns a number of records in words, such as ``1 record`` or ``2 records``."""
    return f"{records} record{'' if records == 1 else 's'}"


def _columns(entry: GalleryChain) -> str:
    plan = plan_chain(entry.parsed, None, entry.declared, topics=("orders",), typed=True)
    rows = [["column", "comes from"]]
    for column, sources in plan.lineage.items():
        rows.append([code(column), ", ".join(map(code, sources)) or "a constant"])
    return table(rows) + "\n"
