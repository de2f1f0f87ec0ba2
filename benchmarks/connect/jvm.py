"""Runs a JVM with Kafka Connect's classes. A line to its standard input starts a round. The JVM reports the results as
lines on its standard output.
"""

import contextlib
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from dagster_smt.chain.properties import written_property
from dagster_smt.testing.broker import fetch_jars, java


class Jvm:
    """A running JVM with a pipe to its standard input and one from its standard output."""

    def __init__(self, process: "subprocess.Popen[str]", log: Path):
        self._process, self._log = process, log

    def begin(self) -> None:
        """Tells the JVM to start a round."""
        into = cast("IO[str]", self._process.stdin)
        into.write("\n")
        into.flush()

    def line_after(self, word: str) -> str:
        """Waits for the next output line that begins with ``word``, and returns the rest of this line. For
        ``seconds 1.5`` and the word ``seconds``, returns ``1.5``.
        """
        for line in cast("IO[str]", self._process.stdout):
            result, _, rest = line.strip().partition(" ")
            if result == word:
                return rest
            if result == "failed":
                raise RuntimeError(f"Kafka Connect could not write a record: {rest}")
        raise RuntimeError(f"Kafka Connect ended: {self._log.read_text()[-2000:]}")


def class_path() -> str:
    """Returns the class path with the jars of Kafka Connect."""
    return f"{fetch_jars('connect-runtime', 'connect-json', 'connect-transforms')}/*"


def write_properties(file: Path, settings: Mapping[str, str]) -> None:
    """Writes ``settings`` into ``file``, in the format of Java's properties files."""
    file.write_text("".join(f"{written_property(*item)}\n" for item in settings.items()))


@contextmanager
def started(arguments: Sequence[str], log: Path) -> Iterator[Jvm]:
    """Starts a JVM with the command-line ``arguments``, and yields it. Kills the JVM at the end of the block.

    Args:
        arguments: The arguments after ``java``.
        log: The file for the JVM's error output. Its folder is the JVM's working directory.
    """
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
            # close() first writes what is left in the buffer, which fails because the JVM has ended
            with contextlib.suppress(OSError):
                cast("IO[str]", pipe).close()
