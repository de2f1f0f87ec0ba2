"""Compiles and runs the judges in Java that compare our classes with Connect's own."""

import shutil
import subprocess
from pathlib import Path

from dagster_smt.foreign.host import JAR
from dagster_smt.foreign.jars import connect_jars

SOURCES = Path(__file__).with_name("judge")


def command_of(judge: str, folder: Path, *options: str) -> list[str]:
    """The command that runs a judge, which is compiled into the folder; ``options`` are Java's."""
    path = ":".join(map(str, (JAR, *connect_jars("4.3.1"))))
    javac, java = shutil.which("javac"), shutil.which("java")
    assert javac is not None and java is not None, "tests need a JDK"
    source = SOURCES / f"{judge}.java"
    subprocess.run([javac, "-encoding", "UTF-8", "-d", folder, "-cp", path, source], check=True)
    return [java, *options, "-cp", f"{folder}:{path}", f"dagstersmt.foreign.{judge}"]


def counts_of(judge: str, rounds: int, folder: Path) -> list[int]:
    """The counts that a judge prints after so many random rounds; an error if it finds a difference."""
    command = command_of(judge, folder, "-Dfile.encoding=UTF-8")
    done = subprocess.run([*command, "7", str(rounds)], check=True, capture_output=True, text=True)
    return list(map(int, done.stdout.split()))
