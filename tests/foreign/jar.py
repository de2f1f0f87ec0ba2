"""Jars for tests: our own transforms, compiled by ``javac``, and those of vendors from Maven Central."""

import shutil
import subprocess
import zipfile
from functools import cache
from pathlib import Path

from dagster_smt.chain import parse_chain
from dagster_smt.foreign.jars import connect_jars
from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.model.record import Record
from dagster_smt.model.topics.format import Format

SOURCES = Path(__file__).with_name("java")
KAFKA = "org.apache.kafka.connect.transforms."
VENDORS = {
    "debezium": "io.debezium:debezium-connect-plugins:3.6.1.Final",
    "iceberg": "org.apache.iceberg:iceberg-kafka-connect-transforms:1.10.1",
    "jcustenborder": "com.github.jcustenborder.kafka.connect:kafka-connect-transform-common:0.1.0.14",
    "debezium-mysql": "io.debezium:debezium-connector-mysql:3.6.1.Final",
    "debezium-postgres": "io.debezium:debezium-connector-postgres:3.6.1.Final",
    "landoop": "com.landoop:kafka-connect-smt_2.12:2.0.0",
}


def compiled(folder: Path, sources: Path = SOURCES, name: str = "acme.jar") -> Path:
    """Returns a jar of Java sources that are compiled against Kafka Connect."""
    classes, jar = folder / "classes", folder / name
    path = ":".join(map(str, connect_jars("4.3.1")))
    javac = shutil.which("javac")
    assert javac is not None, "tests need a JDK"
    command = [javac, "--release", "17", "-d", str(classes), "-cp", path, *map(str, sorted(sources.rglob("*.java")))]
    subprocess.run(command, check=True, capture_output=True)
    with zipfile.ZipFile(jar, "w") as packed:
        for file in sorted(classes.rglob("*.class")):
            packed.write(file, file.relative_to(classes))
    return jar


@cache
def missing_vendor(name: str) -> str:
    """Returns why a vendor's jars cannot be had; empty if they can."""
    from dagster_smt.errors import UnsupportedError
    from dagster_smt.foreign.jars import plugins_of

    try:
        plugins_of([VENDORS[name]], fetch=True)
    except UnsupportedError as error:
        return error.problems[0].statement
    return ""


def chain_of(jar: Path | str, *stages: str | tuple[str, dict], **more):
    """Returns a chain of classes: ``acme`` classes by their short names."""
    listed = []
    for number, stage in enumerate(stages):
        name, options = stage if isinstance(stage, tuple) else (stage, {})
        type_ = name if "." in name or "$" in name else f"acme.{name}"
        predicate = {key: options[key] for key in ("predicate", "negate") if key in options}
        rest = {key: value for key, value in options.items() if key not in predicate}
        listed.append({"alias": f"s{number}", "type": type_, "options": rest, **predicate})
    settings = {key.replace("_", "."): value for key, value in more.items()}
    return parse_chain({"stages": listed, **settings}, smt_jars=[jar])


def ran(chain, values, key="string", value="json", *, topic="orders", headers=()):
    """Returns outcome, key, value and record of each value that goes through a chain."""
    interpreter = interpreter_of(chain, key, value)
    try:
        return outcomes(interpreter, values, topic=topic, headers=headers)
    finally:
        interpreter.close()


def interpreter_of(chain, key="string", value="json"):
    """Returns an evaluator of the chain, whose stages stay open until it is closed."""
    forms = [form if isinstance(form, Format) else Format(form) for form in (key, value)]
    return Interpreter(chain, *forms)


def outcomes(interpreter, values, *, topic="orders", headers=()):
    """Returns outcome, key, value and record of each value."""
    from dagster_smt.values.headers.fields import header_as_read

    records = []
    for n in range(len(values)):
        read = [header_as_read(*header) for header in headers]
        records.append(Record(topic, 0, n, 1556204536123, "CreateTime", headers=read, number=n))
    done = interpreter.run_all(records, [b"k"] * len(values), list(values))
    return [(done.lost.get(n), done.keys[n], done.values[n], records[n]) for n in range(len(values))]
