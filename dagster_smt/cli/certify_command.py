"""Implements the command ``certify``, which runs a chain on the user's records in Kafka Connect's own classes and in
this package, and compares the results.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster_smt.chain import Chain, parse_chain
from dagster_smt.chain.properties import read_properties
from dagster_smt.cli.arguments import add_jars, count
from dagster_smt.cli.schema_arguments import read_schema, read_table
from dagster_smt.cli.terminal import say
from dagster_smt.errors import SmtError
from dagster_smt.model.topics.format import Format

if TYPE_CHECKING:
    from dagster_smt.certify.certificate import Certificate
    from dagster_smt.certify.certify_chain import MoreWays

_KINDS = ("string", "json", "envelope", "bytes")
_FORMS = {".html": "html", ".htm": "html", ".json": "json"}


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command ``certify``."""
    parser = commands.add_parser(
        "certify", help="compare a chain with Kafka Connect's own classes, on records of your own"
    )
    parser.add_argument("chain", type=Path, help="a chain, or a connector with its converters")
    parser.add_argument("records", help="a file of JSON lines, a folder of file topics, or a broker as host:port")
    parser.add_argument(
        "--connector",
        type=Path,
        metavar="FILE",
        help="the connector's own chain, which Connect's classes run (default: the chain)",
    )
    parser.add_argument("--sample", type=count, default=1000, metavar="N", help="how many records (default 1000)")
    parser.add_argument("--topic", default="", help="the topic to read; for a file, a name for its records (records)")
    parser.add_argument("--offset", type=int, help="from this offset on (default: the last records)")
    parser.add_argument("--records", dest="whole", action="store_true", help="lines of a file are records, not values")
    parser.add_argument("--key", choices=_KINDS, help="the format of keys (default: the connector's, else string)")
    parser.add_argument("--value", choices=_KINDS, help="the format of values (default: the connector's, else json)")
    parser.add_argument("--schema", help="as for explain: the declared schema of values in JSON")
    parser.add_argument("--table", type=Path, metavar="FILE", help="as for explain: a statement that names the formats")
    parser.add_argument("--command-config", type=Path, metavar="FILE", help="properties of Kafka's clients")
    parser.add_argument("--no-spark", action="store_true", help="compare the Python evaluator only")
    parser.add_argument(
        "--format", choices=("html", "markdown", "json"), help="(default: by the name of the file, else markdown)"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the certificate here instead of printing it")
    parser.add_argument(
        "--show-values", action="store_true", help="show the values that differ: they may be personal data"
    )
    add_jars(parser)
    parser.set_defaults(run=_certify)


def _certify(arguments: argparse.Namespace) -> int:
    """Runs the command. Returns 0 if the results are equal, 1 if they differ, 2 if they cannot be compared."""
    try:
        certificate = _certificate(arguments)
        _give(certificate, arguments)
    # not left to main, which returns 1: here, 1 means that results differ
    except SmtError as error:
        say(str(error), sys.stderr)
        return 2
    except OSError as error:
        say(f"{error.filename or ''}: {error.strerror}", sys.stderr)
        return 2
    return certificate.exit_code


def _certificate(arguments: argparse.Namespace) -> "Certificate":
    from dagster_smt.certify import certify
    from dagster_smt.cli.record_arguments import records_of

    chain = parse_chain(arguments.chain, smt_jars=arguments.smt_jars, connect_version=arguments.connect_version)
    options: dict[str, Any] = {"name": arguments.chain.name, "show_values": arguments.show_values}
    if arguments.connector is not None:
        options["name"] += f", compared with {arguments.connector.name}"
        options["original"] = parse_chain(
            arguments.connector, smt_jars=arguments.smt_jars, connect_version=arguments.connect_version
        )
    # after the chains, whose parser reports what is wrong with their files
    key, value = _formats(arguments)
    samples = records_of(arguments, arguments.sample, "records", arguments.offset)
    with _more_ways(chain, no_spark=arguments.no_spark) as more_ways:
        return certify(chain, samples, key, value, more_ways=more_ways, **options)


def _formats(arguments: argparse.Namespace) -> tuple[Format, Format]:
    """Returns the formats of keys and values that ``arguments`` name. If ``arguments`` name no format, and the chain's
    file is a connector, the converters of the connector determine the format.
    """
    table, schema = read_table(arguments.table, arguments.schema), read_schema(arguments.schema)
    if table is not None:
        return table.key, table.value
    properties = _properties(arguments.connector or arguments.chain)
    key = _format("key", arguments.key, properties, "string")
    value = _format("value", arguments.value, properties, "json")
    if schema is not None:
        value = replace(value, kind="json_schema", schema=schema)
    return key, value


def _properties(path: Path) -> Mapping[str, Any]:
    """Returns the properties in the chain's file ``path``; empty if the file contains a list of stages."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        data = json.loads(text)
        data = data.get("config", data) if isinstance(data, dict) else {}
        return data if isinstance(data, dict) else {}
    return {} if path.suffix in (".yaml", ".yml") else read_properties(text)


def _format(side: str, kind: str | None, properties: Mapping[str, Any], default: str) -> Format:
    if kind is not None:
        return Format(kind)  # type: ignore[arg-type]
    if f"{side}.converter" not in properties:
        return Format(default)  # type: ignore[arg-type]
    from dagster_smt.connect.connectors import Connector
    from dagster_smt.connect.converters import converter_format

    config = {}
    for name, text in properties.items():
        config[str(name)] = str(text)
    return Format(**converter_format(Connector("", config), side).format)


@contextmanager
def _more_ways(chain: Chain, *, no_spark: bool) -> "Iterator[MoreWays | None]":
    """Yields a function that lists the execution paths on Spark. Yields None if PySpark is not installed, or if
    ``no_spark`` is set.

    The paths run in the active Spark session. If there is none, a session is started, and stopped at the end of the
    block.
    """
    if no_spark or find_spec("pyspark") is None:
        yield None
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # Spark's workers need this environment
    from dagster_smt.certify.spark_ways import local_session, spark_ways

    with local_session() as session:
        yield spark_ways(session)


def _give(certificate: "Certificate", arguments: argparse.Namespace) -> None:
    """Prints ``certificate``. If the arguments name a file, writes the certificate to this file and prints only the
    verdict.
    """
    form = arguments.format
    if form is None:
        form = _FORMS.get(arguments.out.suffix.lower(), "markdown") if arguments.out else "markdown"
    text = _text(certificate, form)
    if arguments.out is None:
        say(text.removesuffix("\n"))
        return
    arguments.out.write_text(text, encoding="utf-8")
    say(f"{certificate.verdict}: {certificate.statement}")
    for line in certificate.lines:
        say(f"  {line}")
    say(f"written: {arguments.out}")


def _text(certificate: "Certificate", form: str) -> str:
    if form == "json":
        return json.dumps(certificate.to_json(), indent=2) + "\n"
    if form == "html":
        from dagster_smt.cli.certificate_page import certificate_page

        return certificate_page(certificate)
    from dagster_smt.cli.certificate_text import certificate_text

    return certificate_text(certificate)
