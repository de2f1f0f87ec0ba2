"""A few records to look at: from a file, from file topics, or from a broker."""

from pathlib import Path

from dagster_smt.cli.topics import read_records, topics_at
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.interpret.preview import Sample
from dagster_smt.tables.samples import samples


def of_file(path: Path, topic: str, limit: int, *, whole: bool) -> list[Sample]:
    """The first lines of a file.

    Args:
        path: The file.
        topic: What to call the topic.
        limit: How many.
        whole: Whether a line is a record with key, value and headers, and not a value alone.

    Raises:
        TableError: SMT540, a line is no record.
    """
    if whole:
        found = read_records(path)[:limit]
        return [Sample(topic, 0, n, r.timestamp or 0, r.key, r.value, tuple(r.headers)) for n, r in enumerate(found)]
    lines = [line for line in path.read_bytes().splitlines() if line.strip()][:limit]
    return [Sample(topic, 0, number, value=line) for number, line in enumerate(lines)]


def of_topic(place: str, config: Path | None, topic: str, limit: int, start: int | None) -> list[Sample]:
    """The last records of a topic's partitions, or those from an offset on.

    Raises:
        ConfigError: SMT042, no topic is named.
        TableError: As of ``samples``.
    """
    topics = topics_at(place, config)
    if not topic:
        raise ConfigError(Problem("SMT042", place, "no topic is named", "name one with --topic"))
    return samples(topics, topic, limit, start)
