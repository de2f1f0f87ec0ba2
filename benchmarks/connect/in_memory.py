"""Runs Kafka Connect's converters and transforms in a JVM, with two threads and the values in memory."""

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
    """The measurement of one pass over all values.

    Attributes:
        seconds: The elapsed time in seconds.
        cpu: The CPU seconds of the whole JVM.
        passed: The number of records that passed through the chain.
    """

    seconds: float
    cpu: float
    passed: int


class Passes:
    """A running JVM that has all values in memory. Each call of ``round`` runs the chain on all of them once."""

    def __init__(self, running: Jvm):
        self._running = running

    def ready(self) -> int:
        """Waits until the JVM has loaded the values, and returns their number."""
        return int(self._running.line_after("ready"))

    def round(self) -> Pass:
        """Runs the chain on all values once, and returns the measurement."""
        self._running.begin()
        seconds, cpu, rest = self._running.line_after("pass").split()
        return Pass(float(seconds), float(cpu), int(rest))


@contextmanager
def passes(folder: Path, values: Path, chain: Mapping[str, str], schema: Schema | None = None) -> Iterator[Passes]:
    """Starts a JVM that runs ``chain`` on all values, and yields it. Kills the JVM at the end of the block.

    Args:
        folder: The folder for the settings, the log, and the first resulting values (``shown.jsonl``).
        values: A folder of Parquet files with a column ``value``.
        chain: The ``transforms`` properties.
        schema: The schema of the values, which the converter gets as KIP-1054 describes; None for values without a
            schema.
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
    """Writes the values into the file ``lines``, one JSON value per line. The file is in the folder of the Parquet
    files, and its name begins with ``_``, so Spark ignores it.
    """
    result = lines.with_suffix(".new")
    with result.open("wb") as into:
        for file in sorted(values.glob("*.parquet")):
            for batch in pq.ParquetFile(file).iter_batches(columns=["value"]):
                into.writelines(value + b"\n" for value in batch.column(0).to_pylist())
    # only a complete file gets the final name, so an interrupted export is repeated
    result.rename(lines)
