"""Topics as a simple program: records by offset, what is late, far away or missing, what was deleted or made anew."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

Place = tuple[str, int]
"""A topic's partition."""
Offset = tuple[str, int, int]
Output = tuple[int, str, int]
"""The fields id, name and note of a row."""
Fate = Literal["good", "bad", "broken", "dropped"]
SECRET = "secret-4711"
BASE = 1_700_000_000_000
"""Timestamps of records count from here, in milliseconds."""
FAR = 1_700_000_000_000_000 - BASE
"""Somebody gives microseconds for milliseconds: the year 55840."""
NANO = 1_700_000_000_000_000_000 - BASE
"""Somebody gives nanoseconds: no timestamp of Spark's holds it, so the record is a dead letter."""
DAY = 1_000
"""The length of a partition of time."""


@dataclass(frozen=True)
class Record:
    """A record of a topic.

    Attributes:
        number: No other record has it.
        fate: What becomes of it: a row, a dead letter until the chain is mended, always a dead letter, or dropped.
        time: Its timestamp, counted from ``BASE``.
    """

    number: int
    fate: Fate
    time: int

    @property
    def value(self) -> bytes | None:
        """The value as it is produced."""
        if self.fate == "dropped":
            return None
        if self.fate == "broken":
            return b'{"id": %d, "name": "%s' % (self.number, SECRET.encode())
        note = SECRET if self.fate == "bad" else str(self.number)
        return json.dumps({"id": self.number, "name": SECRET, "note": note}).encode()

    def fails(self, chain: str) -> bool:
        """Whether the chain makes a dead letter of it."""
        if self.fate == "broken" or self.time >= NANO:
            return True
        return self.fate == "bad" and chain == "first"

    def output(self, chain: str) -> Output:
        """Its row: the mended chain puts 0 into the note before it casts it."""
        return self.number, "", self.number if chain == "first" else 0


@dataclass
class Log:
    """A partition: its records by offset, and the offsets that it spans."""

    records: dict[int, Record] = field(default_factory=dict)
    start: int = 0
    end: int = 0
    aborted: set[int] = field(default_factory=set)

    def at(self, time: int) -> int:
        """The first offset whose record has this time or a later one; the end if there is none.

        A broker looks at aborted records, too, and these have the time of their clock, later than that of all others.
        """
        late = {o for o, record in self.records.items() if record.time >= time}
        aborted = {o for o in self.aborted if o >= self.start}
        return min(late | aborted, default=self.end)


@dataclass
class Topic:
    """A topic, and which of its name it is."""

    birth: int
    logs: dict[int, Log] = field(default_factory=dict)


@dataclass
class Topics:
    """Everything that was produced.

    Attributes:
        source: ``files``, ``kafka`` or ``bronze``: a table with Kafka's columns.
        topics: What there is.
        births: How many topics were made.
        numbers: How many records were produced.
    """

    source: str
    topics: dict[str, Topic] = field(default_factory=dict)
    births: int = 0
    numbers: int = 0

    def create(self, topic: str, partitions: int) -> None:
        """Make an empty topic, or widen one."""
        if topic not in self.topics:
            self.births += 1
            self.topics[topic] = Topic(self.births)
        for number in range(partitions):
            self.topics[topic].logs.setdefault(number, Log())

    def append(self, topic: str, partition: int, records: Iterable[tuple[Fate, int]]) -> dict[int, Record]:
        """Append records; gives them by offset."""
        self.create(topic, partition + 1)
        log, added = self.topics[topic].logs[partition], {}
        for fate, time in records:
            added[log.end] = Record(self.numbers, fate, time)
            self.numbers += 1
            log.end += 1
        log.records.update(added)
        return added

    def skip(self, topic: str, partition: int, count: int) -> None:
        """Offsets without a record."""
        log = self.topics[topic].logs[partition]
        log.aborted |= set(range(log.end, log.end + count))
        log.end += count

    def expire(self, topic: str, partition: int, to: int) -> None:
        """The records before an offset are deleted."""
        log = self.topics[topic].logs[partition]
        log.start = to
        log.records = {o: r for o, r in log.records.items() if o >= to}

    def bounds(self, topic: str) -> dict[int, tuple[int, int]]:
        """Start and end of each partition; a table knows nothing of one without records."""
        results = {}
        for number, log in self.topics[topic].logs.items():
            if self.source != "bronze":
                results[number] = (log.start, log.end)
            elif log.records:
                results[number] = (min(log.records), max(log.records) + 1)
        return results

    def listed(self) -> list[str]:
        """The topics that there are."""
        return sorted(t for t in self.topics if self.source != "bronze" or self.bounds(t))

    def record(self, offset: Offset) -> Record | None:
        """The record at an offset."""
        return self.topics[offset[0]].logs[offset[1]].records.get(offset[2])
