"""Kafka Connect's converters and transforms in a JVM of their own: two threads, values in memory."""

import contextlib
import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import pyarrow.parquet as pq

from benchmarks.records import TOPIC
from dagster_smt.chain.properties import written_property
from dagster_smt.model.schema import Schema
from dagster_smt.model.schema_json import schema_to_json
from dagster_smt.testing.broker import fetch_jars, java

THREADS = 2
_SOURCE = Path(__file__).with_name("Chains.java")
_ARTIFACTS = ("connect-runtime", "connect-json", "connect-transforms")


@dataclass(frozen=True)
class Pass:
    """One pass over all values: wall and CPU seconds of the whole JVM, and how many records came through."""

    seconds: float
    cpu: float
    kept: int


class Jvm:
    """A running JVM."""

    def __init__(self, process: "subprocess.Popen[str]", log: Path):
        self._process, self._log = process, log

    def ready(self) -> int:
        """Wait until the values are there; gives how many there are."""
        return int(self._line("ready")[0])

    def round(self) -> Pass:
        """One pass."""
        into = cast("IO[str]", self._process.stdin)
        into.write("\n")
        into.flush()
        seconds, cpu, kept = self._line("pass")
        return Pass(float(seconds), float(cpu), int(kept))

    def _line(self, word: str) -> list[str]:
        for line in cast("IO[str]", self._process.stdout):
            found, *rest = line.split()
            if found == word:
                return rest
        raise RuntimeError(f"Kafka Connect ended: {self._log.read_text()[-2000:]}")


@contextmanager
def jvm(folder: Path, values: Path, chain: Mapping[str, str], schema: Schema | None = None) -> Iterator[Jvm]:
    """A JVM that runs a chain on values; it is ended by its id.

    Args:
        folder: Where its settings, its log and ``shown.jsonl``, the first values that it makes, go.
        values: A folder of Parquet files with a column ``value``.
        chain: ``transforms`` properties.
        schema: Of the values, as KIP-1054 gives it to the converter; None without schemas.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lines, properties, log = values / "_values.jsonl", folder / "chain.properties", folder / "jvm.log"
    if not lines.exists():
        _export(values, lines)
    content = {} if schema is None else {"schema.content": json.dumps(schema_to_json(schema))}
    settings = {"topic": TOPIC, **content, **chain}
    properties.write_text("".join(f"{written_property(*item)}\n" for item in settings.items()))
    jars = f"{fetch_jars(*_ARTIFACTS)}/*"
    command = [java(), "-Xms2g", "-Xmx2g", "-cp", jars, str(_SOURCE), str(lines), str(THREADS), str(properties)]
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [*command, str(folder / "shown.jsonl")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    try:
        running = Jvm(process, log)
        running.ready()
        yield running
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                cast("IO[str]", pipe).close()


def _export(values: Path, lines: Path) -> None:
    """The values, a line each: JSON has no line breaks of its own. Spark passes over files that begin with ``_``."""
    made = lines.with_suffix(".new")
    with made.open("wb") as into:
        for file in sorted(values.glob("*.parquet")):
            for batch in pq.ParquetFile(file).iter_batches(columns=["value"]):
                into.writelines(value + b"\n" for value in batch.column(0).to_pylist())
    made.rename(lines)
