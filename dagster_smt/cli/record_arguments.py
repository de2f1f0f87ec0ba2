"""Reads sample records from a file, from file topics, or from a broker."""

import argparse
from pathlib import Path

from dagster_smt.cli.topic_commands import read_records, topics_at
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.interpret.preview import Sample
from dagster_smt.tables.samples import samples


def records_of(
    arguments: argparse.Namespace, limit: int, topic_of_file: str = "", start: int | None = None
) -> list[Sample]:
    """Reads records from the place ``arguments.records``: a file, a folder of file topics, or a broker.

    Args:
        arguments: The arguments of the command: ``records``, ``command_config``, ``topic`` and ``whole``.
        limit: The number of records.
        topic_of_file: The name of a file's topic if the arguments do not name one.
        start: As in ``of_topic``.

    Raises:
        ConfigError, TableError: See ``of_file`` and ``of_topic``.
    """
    path = Path(arguments.records)
    # host:port, unless a file has this name
    if path.is_dir() or (not path.exists() and ":" in arguments.records):
        return of_topic(arguments.records, arguments.command_config, arguments.topic, limit, start)
    return of_file(path, arguments.topic or topic_of_file, limit, whole=arguments.whole)


def of_file(path: Path, topic: str, limit: int, *, whole: bool) -> list[Sample]:
    """Reads records from the first lines of a file.

    Args:
        path: The file.
        topic: The name of the topic.
        limit: The number of lines.
        whole: True if a line is a record with key, value and headers, False if it is a value.

    Raises:
        TableError: SMT540, a line is not a record.
    """
    if whole:
        records = read_records(path)[:limit]
        samples = []
        for n, r in enumerate(records):
            samples.append(Sample(topic, 0, n, r.timestamp or 0, r.key, r.value, tuple(r.headers)))
        return samples
    all_lines = []
    for line in path.read_bytes().splitlines():
        if line.strip():
            all_lines.append(line)
    lines = all_lines[:limit]
    line_samples = []
    for number, line in enumerate(lines):
        line_samples.append(Sample(topic, 0, number, value=line))
    return line_samples


def of_topic(place: str, config: Path | None, topic: str, limit: int, start: int | None) -> list[Sample]:
    """Reads at most ``limit`` records of ``topic``, which is at ``place`` (a broker or a folder). If ``start`` is an
    offset, reads the first records from this offset on. If ``start`` is None, reads the last records.

    Raises:
        ConfigError: SMT042, the command has no topic.
        TableError: SMT501 or SMT515, the topic does not exist; SMT538, the offsets do not exist.
    """
    topics = topics_at(place, config)
    if not topic:
        raise ConfigError(Problem("SMT042", place, "no topic is given", "give a topic with --topic"))
    return samples(topics, topic, limit, start)
