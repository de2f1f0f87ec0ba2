"""Kafka Connect's converters and transforms in a JVM of their own: two threads, values in memory."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.connect.jvm import Jvm, class_path, started, write_properties
from benchmarks.records import TOPIC
from dagster_smt.model.schema import Schema
from dagster_smt.model.schema_json import schema_to_json

THREADS = 2
_SOURCE = Path(__file__).with_name("Chains.java")


@dataclass(frozen=True)
class Pass:
    """One pass over all values: wall and CPU seconds of the whole JVM, and how many records came through."""

    seconds: float
    cpu: float
    passed: int


class Passes:
    """A running JVM that has the values in memory."""

    def __init__(self, running: Jvm):
        self._running = running

    def ready(self) -> int:
        """Wait until the values are there; gives how many there are."""
        return int(self._running.line_after("ready"))

    def round(self) -> Pass:
        """One pass."""
        self._running.begin()
        seconds, cpu, rest = self._running.line_after("pass").split()
        return Pass(float(seconds), float(cpu), int(rest))


@contextmanager
def passes(folder: Path, values: Path, chain: Mapping[str, str], schema: Schema | None = None) -> Iterator[Passes]:
    """A JVM that runs a chain on values; it is ended by its id.

    Args:
        folder: Where its settings, its log and ``shown.jsonl``, the first values that it makes, go.
        values: A folder of Parquet files with a column ``value``.
        chain: ``transforms`` properties.
        schema: Of the values, as KIP-1054 gives it to the converter; None without schemas.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lines, properties, shown = values / "_values.jsonl", folder / "chain.properties", folder / "shown.jsonl"
    if not lines.exists():
        _export(values, lines)
    content = {} if schema is None else {"schema.content": json.dumps(schema_to_json(schema))}
    write_properties(properties, {"topic": TOPIC, **content, **chain})
    files = [str(file.resolve()) for file in (lines, properties, shown)]
    arguments = ["-Xms2g", "-Xmx2g", "-cp", class_path(), str(_SOURCE), files[0], str(THREADS), *files[1:]]
    with started(arguments, folder / "jvm.log") as running:
        result = Passes(running)
        result.ready()
        yield result


def _export(values: Path, lines: Path) -> None:
    """The values, a line each: JSON has no line breaks of its own. Spark passes over files that begin with ``_``."""
    result = lines.with_suffix(".new")
    with result.open("wb") as into:
        for file in sorted(values.glob("*.parquet")):
            for batch in pq.ParquetFile(file).iter_batches(columns=["value"]):
                into.writelines(value + b"\n" for value in batch.column(0).to_pylist())
    result.rename(lines)
