"""Implements the command ``schema``, which proposes a topic table, based on the last records of a topic."""

import argparse
from dataclasses import replace
from pathlib import Path

from dagster_smt.chain import parse_chain
from dagster_smt.cli.arguments import count
from dagster_smt.cli.terminal import say
from dagster_smt.cli.topic_commands import topics_at
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.topics.format import REGISTERED

_SECONDS = 10.0
"""The time limit in seconds of one request to a broker. The limit is low, because somebody is waiting."""


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command ``schema``."""
    parser = commands.add_parser("schema", help="propose a CREATE TABLE for a topic, from its last records")
    parser.add_argument("place", help="the folder of file topics, or a broker as host:port")
    parser.add_argument("topic")
    parser.add_argument("--sample", type=count, default=100, metavar="N", help="how many records (default 100)")
    parser.add_argument(
        "--chain", type=Path, metavar="FILE", help="the chain that reads it: fields that it changes stay JSON's types"
    )
    parser.add_argument(
        "--schema-registry", default="", metavar="URL", help="where values and keys name their schema: its columns"
    )
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the statement into a new file")
    parser.add_argument(
        "--command-config",
        type=Path,
        metavar="FILE",
        help="properties of Kafka's clients, in the format of Kafka's tools; secrets as plain text or as ${env:NAME}",
    )
    parser.set_defaults(run=_schema)


def _schema(arguments: argparse.Namespace) -> int:
    from dagster_smt.tables.kafka.spec import KafkaTopics
    from dagster_smt.tables.proposal.beside_chain import propose_beside
    from dagster_smt.tables.proposal.column_proposal import propose
    from dagster_smt.tables.proposal.registry_columns import with_registered_columns
    from dagster_smt.tables.samples import samples

    topics = topics_at(arguments.place, arguments.command_config)
    if isinstance(topics, KafkaTopics):
        topics = replace(topics, timeout=_SECONDS)
    records = samples(topics, arguments.topic, arguments.sample)
    if arguments.chain is not None:
        proposal = propose_beside(parse_chain(arguments.chain), records, with_key=True)
    else:
        proposal = propose(records)
    if arguments.schema_registry and proposal.value.kind in REGISTERED:
        proposal = with_registered_columns(proposal, records, arguments.schema_registry)
    if not proposal.columns and not proposal.options:
        for line in (f"From {proposal.origin}.", f"Values: {proposal.value.text}.", *proposal.remarks):
            say(f"-- {line}")
        return 0
    place = {"topic": arguments.topic}
    if isinstance(topics, KafkaTopics) and arguments.command_config is None:
        place["properties.bootstrap.servers"] = arguments.place
    text = proposal.statement(arguments.topic, place)
    if arguments.write is None:
        say(text.rstrip("\n"))
        return 0
    try:
        # a field name in JSON may contain half of a surrogate pair, which UTF-8 cannot encode
        with arguments.write.open("x", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except FileExistsError:
        hint = "name another file, or remove it"
        raise ConfigError(Problem("SMT019", str(arguments.write), "the file exists already", hint)) from None
    say(f"{arguments.write}: {len(proposal.columns)} columns, from {proposal.origin}")
    for note in proposal.notes:
        say(f"  {note.path} {note.text}")
    return 0
