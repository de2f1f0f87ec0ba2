"""The commands about topics, of a broker or of files: ``topics`` lists them, ``append`` adds records."""

import argparse
import base64
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster_smt.cli.grid import grid
from dagster_smt.errors import ConfigError, Problem, TableError

if TYPE_CHECKING:
    from dagster_smt.tables.sources.file_writer import NewRecord
    from dagster_smt.tables.spec import FileTopics, KafkaTopics

_SERVERS = re.compile(r"[\w.-]+:\d+(,[\w.-]+:\d+)*|\[[0-9a-fA-F:]+\]:\d+")
_HEAD = ("topic", "partition", "earliest", "end", "records", "committed", "lag")


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the commands."""
    topics = commands.add_parser("topics", help="list topics with their partitions, offsets and lag")
    _add_place(topics)
    topics.add_argument("--pattern", default="", help="only topics whose whole name matches this regular expression")
    topics.add_argument("--group", default="", help="a consumer group: what it has committed, and how far behind it is")
    topics.add_argument("--json", action="store_true", help="one JSON object per partition")
    topics.set_defaults(run=_topics)
    append = commands.add_parser("append", help="append records to a topic")
    _add_place(append)
    append.add_argument("topic")
    append.add_argument("records", type=Path, help="JSON lines with key, value, timestamp, headers")
    append.add_argument("--partition", type=int, help="(default: 0 of a file topic; by the key of a broker's)")
    append.set_defaults(run=_append)


def _add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("place", help="the folder of file topics, or a broker as host:port")
    parser.add_argument(
        "--command-config",
        type=Path,
        metavar="FILE",
        help="properties of Kafka's clients, as its own tools take them; secrets as ${env:NAME}",
    )


def topics_at(place: str, config: Path | None = None) -> "FileTopics | KafkaTopics":
    """The topics that a text names: a broker where it is ``host:port`` and no folder.

    Raises:
        ConfigError: An option or a secret that ``KafkaTopics`` refuses.
    """
    from dagster_smt.tables.spec import FileTopics, KafkaTopics

    if config is None and (Path(place).is_dir() or not _SERVERS.fullmatch(place)):
        return FileTopics(Path(place))
    lines = config.read_text(encoding="utf-8").splitlines() if config is not None else []
    pairs = [line.split("=", 1) for line in lines if line.strip() and not line.lstrip().startswith(("#", "!"))]
    if wrong := [pair for pair in pairs if len(pair) != 2]:
        place = config.name if config is not None else ""
        raise ConfigError(Problem("SMT003", place, f"{len(wrong)} lines are no properties", "write name=value"))
    return KafkaTopics(place, {f"kafka.{key.strip()}": value.strip() for key, value in pairs})


def _topics(arguments: argparse.Namespace) -> int:
    from dagster_smt.tables.sources import open_source
    from dagster_smt.tables.windows import matching

    topics = topics_at(arguments.place, arguments.command_config)
    source = open_source(topics)
    names = source.topics()
    if arguments.pattern:
        names = matching(arguments.pattern, names)
    committed = _committed(topics, arguments.group) if arguments.group else {}
    rows = []
    for r in source.ranges(names):
        at = committed.get((r.topic, r.partition))
        lag = None if at is None else max(0, r.end - at)
        rows.append((r.topic, r.partition, r.start, r.end, r.records, at, lag))
    if arguments.json:
        for row in rows:
            print(json.dumps(dict(zip(_HEAD, row, strict=True)), ensure_ascii=False))
    else:
        width = len(_HEAD) if arguments.group else 5
        print(grid([_HEAD[:width], *(row[:width] for row in rows)]))
        behind = sum(row[6] or 0 for row in rows)
        print(f"{len(names)} topics, {sum(row[4] for row in rows)} records" + f", lag {behind}" * bool(arguments.group))
    return 0


def _committed(topics: "FileTopics | KafkaTopics", group: str) -> Mapping[tuple[str, int], int]:
    """What a group has committed: on a broker, or in the progress beside file topics."""
    from dagster_smt.tables.sources import open_source
    from dagster_smt.tables.spec import KafkaTopics

    if isinstance(topics, KafkaTopics):
        return open_source(topics).committed(group)
    from dagster_smt.model.table_state import TableState

    file = topics.root / ".progress" / f"{group}.json"
    try:
        state = TableState.from_text(json.loads(file.read_bytes())["state"])
    except FileNotFoundError:
        raise TableError(Problem("SMT522", str(file), "there is no progress of this group", "name another")) from None
    except (ValueError, KeyError, TypeError):
        hint = "restore the file, or name another group"
        raise TableError(Problem("SMT522", str(file), "the progress of the group is damaged", hint)) from None
    ends = state.ends() if state is not None else {}
    return {(topic, int(partition)): end for topic, parts in ends.items() for partition, end in parts.items()}


def _append(arguments: argparse.Namespace) -> int:
    from dagster_smt.tables.spec import FileTopics

    topics = topics_at(arguments.place, arguments.command_config)
    records = read_records(arguments.records)
    if isinstance(topics, FileTopics):
        from dagster_smt.tables.sources.file_writer import append_records

        written = append_records(topics, arguments.topic, records, arguments.partition or 0)
        print(f"{written.topic}-{written.partition}: {written.records} records from offset {written.start}")
        return 0
    from dagster_smt.tables.kafka.producer import send

    for (topic, partition), (count, first) in sorted(
        send(topics, arguments.topic, records, arguments.partition).items()
    ):
        print(f"{topic}-{partition}: {count} records from offset {first}")
    return 0


def read_records(path: Path) -> "list[NewRecord]":
    """Records from JSON lines.

    Raises:
        TableError: SMT540, for the first line that makes none.
    """
    from dagster_smt.tables.sources.file_writer import NewRecord

    records = []
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            headers = tuple((str(h["key"]), _bytes(h.get("value"))) for h in row.get("headers") or ())
            records.append(NewRecord(_bytes(row.get("key")), _bytes(row.get("value")), headers, row.get("timestamp")))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            place = f"{path.name} line {number}"
            hint = "write an object with key, value, timestamp, headers: [{key, value}]"
            raise TableError(
                Problem("SMT540", place, "the line is no JSON object that makes a record", hint)
            ) from error
    return records


def _bytes(value: Any) -> bytes | None:
    """A side of a line: a text as it is, ``{"base64": ...}`` decoded, anything else as JSON."""
    if value is None or isinstance(value, str):
        return None if value is None else value.encode()
    if isinstance(value, dict) and value.keys() == {"base64"}:
        return base64.b64decode(value["base64"], validate=True)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
