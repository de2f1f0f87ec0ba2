"""Compares the results of chains with golden files. A golden file contains the expected results for some records. It is
stored next to a user's tests.
"""

import difflib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dagster_smt.chain import Chain, parse_chain
from dagster_smt.interpret.leaves import parsed
from dagster_smt.interpret.preview import Sample, StageResult, preview
from dagster_smt.model.topics.format import Format

UPDATE = "SMT_UPDATE_GOLDEN"
"""The name of an environment variable. If it is set, tests write golden files instead of comparing results with
them.
"""

Records = Path | Iterable[Any]


def assert_chain(
    chain: Path | Mapping[str, Any] | Sequence[Mapping[str, Any]] | Chain,
    records: Records,
    golden: Path,
    *,
    key: Format | None = None,
    value: Format | None = None,
    topic: str = "records",
) -> None:
    """Compares the results of a chain with a golden file, which has one line per record. Spark is not required.

    If a record passed through the chain, its line contains the result: an object with ``topic``, ``key``, ``value`` and
    ``headers``. For other records, the line is ``{"dropped": stage}`` or ``{"failed": stage, "problem": ...}``. To
    write the golden file, run the tests with ``SMT_UPDATE_GOLDEN=1``. Then check the file.

    Args:
        chain: A chain file, properties, stages, or a parsed chain.
        records: The records, in one of three forms. A path is a file of JSON lines. A list of values contains bytes,
            strings or JSON; None is a tombstone. A list of ``Sample`` objects also contains keys, headers, timestamps
            and topics.
        golden: The golden file.
        key, value: The formats of keys (strings by default) and values (JSON by default).
        topic: The topic of records that are only values.

    Raises:
        AssertionError: The results differ from the file, or the file does not exist.
        ConfigError: The chain has problems. The error contains all of them.
    """
    parsed_chain = chain if isinstance(chain, Chain) else parse_chain(chain)
    shown = preview(parsed_chain, samples_of(records, topic), key or Format("string"), value or Format())
    lines = [_line(steps) for _, steps in shown]
    if os.environ.get(UPDATE, "") not in ("", "0", "false"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return
    if not golden.exists():
        raise AssertionError(f"there is no file {golden}: run with {UPDATE}=1 to write it, and check it")
    golden_lines = (
        golden.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    )  # other line ends are parts of strings
    if lines != golden_lines:
        diff = difflib.unified_diff(golden_lines, lines, str(golden), "the present results", lineterm="", n=1)
        raise AssertionError("\n".join([*diff, f"run with {UPDATE}=1 if the present results are right"]))


def samples_of(records: Records, topic: str) -> Iterator[Sample]:
    """Yields the records of a test as samples. ``records`` is either a file with one record per line, or an iterable.
    The items of the iterable are values or samples.
    """
    if isinstance(records, Path):
        records = [line for line in records.read_bytes().splitlines() if line.strip()]
    for number, record in enumerate(records):
        if isinstance(record, Sample):
            yield record
            continue
        yield Sample(topic, 0, number, value=_bytes(record))


def _bytes(value: Any) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).encode()


def _line(steps: Sequence[StageResult]) -> str:
    last = steps[-1]
    if last.failed:
        return json.dumps({"failed": last.stage, "problem": last.note.split("\n")[0]}, ensure_ascii=False)
    if last.note == "dropped":
        return json.dumps({"dropped": last.stage}, ensure_ascii=False)
    record = next(step.record for step in reversed(steps) if step.record is not None)
    parts = {"topic": json.dumps(record.topic, ensure_ascii=False), "key": _printed(record.key)}
    parts["value"] = _printed(record.value)
    if record.headers:
        parts["headers"] = json.dumps(record.headers, ensure_ascii=False)
    # Not json.dumps of the whole record: key and value are JSON text already, and 1.50 has to stay 1.50.
    members = []
    for name, text in parts.items():
        members.append(f'"{name}": {text}')
    return "{" + ", ".join(members) + "}"


def _printed(side: str | None) -> str:
    """Returns ``side``, a key or value, as text for the golden file. JSON stays unchanged, and any other string becomes
    a JSON string.
    """
    if side is None:
        return "null"
    # A line break in the JSON would end the line of the golden file. And a JSON string, such as "abc" with its quotes,
    # must not look like the text abc.
    is_json = not isinstance(parsed(side), str) and "\n" not in side
    if is_json:
        return side
    return json.dumps(side, ensure_ascii=False)
