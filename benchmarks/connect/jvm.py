"""A JVM with Kafka Connect's classes that works when it is asked to: a line in begins a round, lines out tell of it."""

import contextlib
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from dagster_smt.chain.properties import written_property
from dagster_smt.testing.broker import fetch_jars, java


class Jvm:
    """A running JVM."""

    def __init__(self, process: "subprocess.Popen[str]", log: Path):
        self._process, self._log = process, log

    def begin(self) -> None:
        """Begin a round."""
        into = cast("IO[str]", self._process.stdin)
        into.write("\n")
        into.flush()

    def line_after(self, word: str) -> str:
        """What follows a word in the next line that begins with it."""
        for line in cast("IO[str]", self._process.stdout):
            result, _, rest = line.strip().partition(" ")
            if result == word:
                return rest
            if result == "failed":
                raise RuntimeError(f"Kafka Connect could not write a record: {rest}")
        raise RuntimeError(f"Kafka Connect ended: {self._log.read_text()[-2000:]}")


def class_path() -> str:
    """Kafka Connect's jars."""
    return f"{fetch_jars('connect-runtime', 'connect-json', 'connect-transforms')}/*"


def write_properties(file: Path, settings: Mapping[str, str]) -> None:
    """A file that Java reads as properties."""
    file.write_text("".join(f"{written_property(*item)}\n" for item in settings.items()))


@contextmanager
def started(arguments: Sequence[str], log: Path) -> Iterator[Jvm]:
    """A JVM with these arguments, working beside its log; it is ended by its id."""
    with log.open("ab") as errors:
        process = subprocess.Popen(
            [java(), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=log.parent,
        )
    try:
        yield Jvm(process, log)
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                cast("IO[str]", pipe).close()
