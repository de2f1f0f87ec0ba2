"""Flink SQL on this machine, as a judge of topic tables: its jars, and a program that runs statements.

``python -m tests.flink.flink`` fetches the jars from Maven Central (about 180 MB) through the Ivy that PySpark ships.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from dagster_smt.testing.broker import cache_folder, java

FLINK, CONNECTOR = "2.3.0", "5.0.0-2.2"
_NAMES = (
    *("flink-clients", "flink-table-api-java-bridge", "flink-table-planner-loader", "flink-table-runtime"),
    *("flink-connector-base", "flink-json", "flink-csv", "flink-sql-avro", "flink-sql-avro-confluent-registry"),
)
_DEPENDENCY = '<dependency org="org.apache.flink" name="{}" rev="{}" conf="default->default"/>'
_IVY_FILE = """<ivy-module version="2.0"><info organisation="local" module="flink"/>
<configurations><conf name="default"/></configurations><dependencies>{}</dependencies></ivy-module>"""
_PROGRAM = Path(__file__).parent / "Judge.java"
_OPENED = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in ("java.util", "java.lang", "java.nio")]


def jars() -> Path:
    """The folder of Flink's jars; it may not be there."""
    return cache_folder() / f"flink-{FLINK}"


def fetch() -> None:
    """Fetch the jars, unless they are there."""
    import pyspark

    if jars().is_dir():
        return
    result = jars().with_name(f"{jars().name}.part")
    result.mkdir(parents=True, exist_ok=True)
    dependencies = [_DEPENDENCY.format(name, FLINK) for name in _NAMES]
    dependencies.append(_DEPENDENCY.format("flink-sql-connector-kafka", CONNECTOR))
    file = result / "ivy.xml"
    file.write_text(_IVY_FILE.format("".join(dependencies)))
    ships = Path(pyspark.__file__).parent / "jars" / "*"
    command = [java(), "-cp", str(ships), "org.apache.ivy.Main", "-ivy", str(file), "-cache", str(result / "ivy")]
    pattern = f"{result}/jars/[artifact]-[revision](-[classifier]).[ext]"
    subprocess.run([*command, "-types", "jar", "bundle", "-retrieve", pattern], check=True)
    (result / "jars").rename(jars())


def answers(statements: Iterable[tuple[str, str]], folder: Path) -> tuple[dict[str, list[object]], dict[str, str]]:
    """What Flink makes of statements.

    Args:
        statements: What to do (see ``Judge.java``), and the statement.
        folder: Where the statements, and what Flink logs, are written.

    Returns:
        By table the rows that it reads, and why it could not.
    """
    file = folder / "statements.sql"
    file.write_text("\n----\n".join(f"{head}\n{text}" for head, text in statements))
    environment = {name: value for name, value in os.environ.items() if name != "JDK_JAVA_OPTIONS"}
    command = [java(), "-Xmx1g", *_OPENED, "-cp", f"{jars()}/*", str(_PROGRAM), str(file)]
    with (folder / "flink.log").open("wb") as log:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=log, env=environment, check=False)
    lines = done.stdout.decode().splitlines()
    assert lines and lines[-1] == "done", (folder / "flink.log").read_text()[-3000:]
    rows: dict[str, list[object]] = {}
    failed: dict[str, str] = {}
    for line in lines[:-1]:
        word, name, rest = line.split(" ", 2)
        if word == "row":
            rows.setdefault(name, []).append(json.loads(rest))
        else:
            failed[name] = rest
    return rows, failed


if __name__ == "__main__":
    fetch()
    sys.stdout.write(f"{jars()}\n")
