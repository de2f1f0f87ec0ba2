"""Implements the commands for topics of a broker or of files: ``topics`` lists them, and ``append`` adds records to
them.
"""

import argparse
import base64
import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster_smt.cli.arguments import file_text
from dagster_smt.cli.grid import grid
from dagster_smt.cli.terminal import say
from dagster_smt.errors import ConfigError, Problem, TableError, needs_extras
from dagster_smt.model.properties import logical_lines, read_properties

if TYPE_CHECKING:
    from dagster_smt.tables.kafka.spec import KafkaTopics
    from dagster_smt.tables.sources.file_writer import NewRecord
    from dagster_smt.tables.topic_table import FileTopics

# host:port, several of them with commas, or one IPv6 address: [::1]:9092
_SERVERS = re.compile(r"[\w.-]+:\d+(,[\w.-]+:\d+)*|\[[0-9a-fA-F:]+\]:\d+")
_SEPARATOR = re.compile(r"[=:]")
_FIELDS = ("key", "value", "timestamp", "headers")
_COORDINATES = ("topic", "partition", "offset", "timestampType")
"""The fields that the topic sets when it stores a record. The values of these fields in the input are ignored."""
_MOST_PROBLEMS = 10
_HEAD = ("topic", "partition", "earliest", "end", "records", "committed", "lag")


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the commands ``topics`` and ``append``."""
    topics = commands.add_parser("topics", help="list topics with their partitions, offsets and lag")
    _add_place(topics)
    topics.add_argument("--pattern", default="", help="only topics whose whole name matches this regular expression")
    topics.add_argument("--group", default="", help="a consumer group: its committed offsets and its lag")
    topics.add_argument("--json", action="store_true", help="one JSON object per partition")
    topics.add_argument("--create", metavar="TOPIC", help="create this topic of a broker first, unless it exists")
    topics.add_argument("--partitions", type=_partitions, default=1, metavar="N", help="of a topic that is made")
    topics.set_defaults(run=_topics)
    append = commands.add_parser("append", help="append records to a topic")
    _add_place(append)
    append.add_argument("topic")
    append.add_argument("records", type=Path, help="JSON lines with key, value, timestamp, headers")
    append.add_argument("--partition", type=int, help="(default: 0 of a file topic; by the key of a broker's)")
    append.add_argument(
        "--create", type=_partitions, metavar="N", help="create the topic with N partitions, unless it exists"
    )
    append.add_argument("--values", action="store_true", help="each line is a value as it is, without key")
    append.set_defaults(run=_append)


def _add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("place", help="the folder of file topics, or a broker as host:port")
    parser.add_argument(
        "--command-config",
        type=Path,
        metavar="FILE",
        help="properties of Kafka's clients, in the format of Kafka's tools; secrets as plain text or as ${env:NAME}",
    )


def _partitions(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def topics_at(
    place: str, config: Path | None = None, partitions: int | None = None, *, folder: bool | None = None
) -> "FileTopics | KafkaTopics":
    """Returns the topics at ``place``, which is a folder or the address of brokers. ``host:port`` is the address of
    brokers unless a folder has this name.

    Args:
        place: A folder, or brokers.
        config: A file with properties of Kafka's clients. With this file, ``place`` is the address of brokers. None if
            there is no such file.
        partitions: The number of partitions of a new topic on a broker; None to create no topic.
        folder: True for a folder, False for brokers; None to determine it from ``config`` and ``place``.

    Raises:
        ConfigError: SMT002 and SMT003, ``config`` is not UTF-8 text, or has lines that are not properties; or
            ``KafkaTopics`` does not accept a property or a secret in ``config``.
    """
    from dagster_smt.tables.kafka.spec import KafkaTopics, NewTopics
    from dagster_smt.tables.topic_table import FileTopics

    if folder is None:
        folder = config is None and (Path(place).is_dir() or not _SERVERS.fullmatch(place))
    if folder:
        return FileTopics(Path(place))
    options = _client_options(config) if config is not None else {}
    return KafkaTopics(place, options, create=None if partitions is None else NewTopics(partitions))


def _client_options(config: Path) -> dict[str, str]:
    """Returns the options of ``KafkaTopics`` for the properties in the file ``config``.

    Raises:
        ConfigError: SMT002, the file is not UTF-8 text; SMT003, lines are not properties. The error does not show the
            lines, which may be parts of a secret.
    """
    text = file_text(config)
    # Java reads the first word of a line without = and : as a name, and messages show names
    malformed = 0
    for line in logical_lines(text):
        malformed += not _SEPARATOR.search(line)
    if malformed:
        hint = r"write name=value; a value on several lines has a \ at the end of each line but the last"
        raise ConfigError(Problem("SMT003", config.name, f"{malformed} lines are not properties", hint))
    options = {}
    for key, value in read_properties(text).items():
        options[f"kafka.{key}"] = _referred(key, value.strip())
    return options


def _referred(key: str, value: str) -> str:
    """Returns ``value``, the value of the client property ``key``, in a form that ``KafkaTopics`` accepts. If the value
    is a secret, moves it to an environment variable and returns a reference to this variable.

    ``KafkaTopics`` rejects secrets because Dagster's UI shows definitions. On the command line, the secret comes from
    the user's own file, which is safe.
    """
    from dagster_smt.model.secrets import shows_secret

    if not shows_secret(key, value):
        return value
    name = "DAGSTER_SMT_CLIENT_" + re.sub(r"\W", "_", key).upper()
    os.environ[name] = value
    return f"${{env:{name}}}"


def _topics(arguments: argparse.Namespace) -> int:
    from dagster_smt.tables.available import waiting_problem
    from dagster_smt.tables.sources import open_source
    from dagster_smt.tables.windows import matching

    topics = topics_at(arguments.place, arguments.command_config, arguments.partitions)
    if arguments.create:
        _create(topics, arguments.create)
    source = open_source(topics)
    names = source.topics()
    if arguments.pattern:
        names = matching(arguments.pattern, names)
    committed = _committed(topics, arguments.group) if arguments.group else {}
    rows, measured = [], source.measure(names)
    held_back = {(waiting.topic, waiting.partition): waiting.offsets for waiting in measured.waiting}
    for r in measured.ranges:
        at = committed.get((r.topic, r.partition))
        lag = None
        if at is not None:
            # r.end is before the first open transaction. The records from there to the end of the partition are unread,
            # too, except for those that a group with read_uncommitted has already read.
            lag = max(0, r.end + held_back.get((r.topic, r.partition), 0) - at)
        rows.append((r.topic, r.partition, r.start, r.end, r.records, at, lag))
    if arguments.json:
        for row in rows:
            say(json.dumps(dict(zip(_HEAD, row, strict=True)), ensure_ascii=False))
    else:
        width = len(_HEAD) if arguments.group else 5
        say(grid([_HEAD[:width], *(row[:width] for row in rows)]))
        behind = 0
        for row in rows:
            behind += row[6] or 0
        say(f"{len(names)} topics, {sum(row[4] for row in rows)} records" + f", lag {behind}" * bool(arguments.group))
    for waiting in measured.waiting:
        say(str(waiting_problem(waiting)), sys.stderr)
    return 0


def _create(topics: "FileTopics | KafkaTopics", name: str) -> None:
    from dagster_smt.tables.topic_table import FileTopics

    if isinstance(topics, FileTopics):
        hint = "append a record to it: that makes it"
        raise ConfigError(Problem("SMT025", "--create", "a file topic needs at least one record", hint))
    with needs_extras():
        from dagster_smt.tables.kafka.client import KafkaClient

    KafkaClient(topics).make_missing([name])


def _committed(topics: "FileTopics | KafkaTopics", group: str) -> Mapping[tuple[str, int], int]:
    """Returns the offsets that the consumer group ``group`` has committed, as a dict such as ``{("orders", 0): 20}``.
    The function reads the offsets from the broker, or from the group's progress file in the folder of file topics.

    Raises:
        TableError: SMT522, the group has no progress, or its file is damaged.
    """
    from dagster_smt.tables.kafka.spec import KafkaTopics
    from dagster_smt.tables.sources import open_source

    if isinstance(topics, KafkaTopics):
        committed: Mapping[tuple[str, int], int] = open_source(topics).committed(group)
        if not committed:
            raise TableError(Problem("SMT522", group, "this group has no progress", "name another group"))
        return committed
    from dagster_smt.model.topics.state import TableState

    file = topics.root / ".progress" / f"{group}.json"
    try:
        state = TableState.from_text(json.loads(file.read_bytes())["state"])
    except FileNotFoundError:
        raise TableError(Problem("SMT522", str(file), "this group has no progress", "name another group")) from None
    except (ValueError, KeyError, TypeError):
        hint = "restore the file, or name another group"
        raise TableError(Problem("SMT522", str(file), "the progress of the group is damaged", hint)) from None
    if state is not None:
        return state.ends_by_partition()
    return {}


def _append(arguments: argparse.Namespace) -> int:
    from dagster_smt.tables.topic_table import FileTopics

    topics = topics_at(arguments.place, arguments.command_config, arguments.create)
    records = read_records(arguments.records, bare=arguments.values)
    if isinstance(topics, FileTopics):
        from dagster_smt.tables.sources.file_writer import append_records

        written = append_records(topics, arguments.topic, records, arguments.partition or 0)
        say(f"{written.topic}-{written.partition}: {written.records} records from offset {written.start}")
        return 0
    with needs_extras():
        from dagster_smt.tables.kafka.producer import send

    for (topic, partition), (count, first) in sorted(
        send(topics, arguments.topic, records, arguments.partition).items()
    ):
        say(f"{topic}-{partition}: {count} records from offset {first}")
    return 0


def read_records(path: Path, *, bare: bool = False) -> "list[NewRecord]":
    """Reads records from a file in which each line is a record in JSON. If a line is wrong, the function raises an
    error and returns no records.

    Args:
        path: The file.
        bare: True if each line is a value, False if it is a record.

    Raises:
        TableError: SMT540, some lines are not records. The error names at most ten of these lines, each with its number
            and the reason.
    """
    records, problems = [], []
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            records.append(_record(line, bare))
        except ValueError as error:
            hint = "write an object with key, value, timestamp, headers: [{key, value}]; bare values go with --values"
            problems.append(Problem("SMT540", f"{path.name} line {number}", str(error), hint))
        if len(problems) == _MOST_PROBLEMS:
            break
    if problems:
        raise TableError(problems)
    return records


def _record(line: bytes, bare: bool) -> "NewRecord":
    from dagster_smt.tables.sources.file_writer import NewRecord

    try:
        row = json.loads(line)
    except ValueError as error:
        raise ValueError(f"the line is not JSON: {error}") from None
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    if bare:
        return NewRecord(None, line.strip())
    if not isinstance(row, dict):
        raise ValueError("the line is not a JSON object")
    if unknown := sorted(row.keys() - {*_FIELDS, *_COORDINATES}):
        raise ValueError(f"a record has no field '{unknown[0]}'; its fields are {', '.join(_FIELDS)}")
    if not row.keys() & {"key", "value"}:
        raise ValueError("the record has neither key nor value")
    timestamp = row.get("timestamp")
    # JSON's true becomes a bool, which is an int in Python
    if timestamp is not None and (isinstance(timestamp, bool) or not isinstance(timestamp, int)):
        raise ValueError("timestamp is not a whole number of milliseconds")
    headers = row.get("headers") or []
    if not isinstance(headers, list) or not all(isinstance(h, dict) and isinstance(h.get("key"), str) for h in headers):
        raise ValueError("headers are not a list of {key, value}")
    header_pairs = []
    for h in headers:
        header_pairs.append((h["key"], _bytes(h.get("value"), "a header's value")))
    pairs = tuple(header_pairs)
    return NewRecord(_bytes(row.get("key"), "key"), _bytes(row.get("value"), "value"), pairs, timestamp)


def _bytes(value: Any, side: str) -> bytes | None:
    """Converts ``value``, a key or value from a line of the file, into bytes. None stays None, a string is encoded,
    ``{"base64": ...}`` is decoded, and other values are written as JSON.
    """
    if value is None or isinstance(value, str):
        if value is None:
            return None
        return value.encode()
    if isinstance(value, dict) and value.keys() == {"base64"}:
        try:
            return base64.b64decode(value["base64"], validate=True)
        except (ValueError, TypeError):
            raise ValueError(f"{side} is not base64") from None
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
