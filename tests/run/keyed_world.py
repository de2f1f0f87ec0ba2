"""Histories of keys, and a judge of tables that knows nothing of the package: it folds the events."""

import json
import random
from dataclasses import dataclass, field

from dagster_smt.tables.sources.file_writer import NewRecord

PLACEHOLDER = "__debezium_unavailable_value"
MOMENT = 1700000000000
Place = tuple[str, int, int]
"""Topic, partition and offset of an event."""


@dataclass(frozen=True)
class Event:
    """A change of a row: ``row`` is None for a tombstone; ``__deleted`` in it marks a deletion."""

    key: int
    row: dict | None
    topic: str = "people"
    partition: int = 0
    offset: int = -1
    millis: int = MOMENT

    @property
    def deletes(self) -> bool:
        return self.row is None or self.row.get("__deleted") == "true"

    def record(self) -> NewRecord:
        key = json.dumps({"id": self.key}).encode()
        value = None if self.row is None else json.dumps({"id": self.key, **self.row}).encode()
        return NewRecord(key, value, (), self.millis)


def place_of(event: Event) -> Place:
    """Where an event is."""
    return event.topic, event.partition, event.offset


@dataclass
class Row:
    values: dict
    deleted: bool = False
    order: tuple = ()
    millis: int = 0


def order_of(event: Event, before: dict) -> tuple:
    """Where an event stands among those of its key; a tombstone follows the event before it in its partition."""
    if event.row is not None:
        sequence = event.row.get("seq")
    else:
        sequence = before.get((event.key, event.topic, event.partition))
    return sequence, event.topic, event.partition, event.offset


def fold(events: list[Event], *, sequenced: bool = False, deletes: str = "apply", columns=("name", "note")) -> dict:
    """The rows by key after all events, with the record that each row is of."""
    if sequenced:
        before: dict = {}
        placed = []
        for event in sorted(events, key=lambda e: (e.topic, e.partition, e.offset)):
            if event.row is not None:
                before[event.key, event.topic, event.partition] = event.row["seq"]
            placed.append((order_of(event, before), event))
        placed = [(order, event) for order, event in placed if order[0] is not None]
        ordered = [event for _, event in sorted(placed, key=lambda pair: pair[0])]
    else:
        ordered = sorted(events, key=lambda e: (e.topic, e.partition, e.offset))
    rows: dict[int, dict] = {}
    for event in ordered:
        place = {"at": (event.topic, event.partition, event.offset)}
        if event.deletes and deletes == "ignore":
            continue
        if event.deletes and deletes == "apply":
            rows.pop(event.key, None)
        elif event.deletes:
            old = rows.get(event.key, dict.fromkeys(columns))
            rows[event.key] = {**old, **place, "_deleted": True}
        else:
            old = rows.get(event.key, dict.fromkeys(columns))
            new = {}
            for column in columns:
                value = event.row.get(column)
                new[column] = old[column] if value == PLACEHOLDER else value
            rows[event.key] = {**new, **place, "_deleted": False}
    return rows


def folded_on(events: list[Event], rows: dict, window: set[Place], columns=("name", "note")) -> dict:
    """The rows by key after a run, where others may have changed some: a window decides about the rows of its keys.

    Args:
        events: All events that the table has read, those of the window too.
        rows: The rows before the run.
        window: The events of the window.
    """
    starts: dict[tuple[str, int], int] = {}
    for topic, partition, offset in window:
        starts[topic, partition] = min(offset, starts.get((topic, partition), offset))
    touched = {event.key for event in events if place_of(event) in window}
    after = dict(rows)
    for event in sorted(events, key=place_of):
        start = starts.get((event.topic, event.partition))
        if event.key not in touched or start is None or event.offset < start:
            continue
        if event.deletes:
            after.pop(event.key, None)
            continue
        old = after.get(event.key, dict.fromkeys(columns))
        row: dict = {"at": place_of(event), "_deleted": False}
        for column in columns:
            value = event.row.get(column)
            row[column] = old[column] if value == PLACEHOLDER else value
        after[event.key] = row
    return after


@dataclass
class History:
    """Random events, in the order in which their partitions have them."""

    seed: int
    shards: int = 1
    partitions: int = 2
    keys: int = 5
    unchanged: bool = True
    names: int = 0
    first_key: int = 0
    first_partition: int = 0
    amounts: bool = False
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.ends: dict[tuple[str, int], int] = {}
        self.live: set[int] = set()
        self.sequence = 0

    def more(self, count: int) -> list[Event]:
        """So many more events."""
        new = []
        for _ in range(count):
            new += self._event()
        self.events += new
        return new

    def _event(self) -> list[Event]:
        rng = self.random
        key = self.first_key + rng.randrange(self.keys)
        self.sequence += 1
        if key in self.live and rng.random() < 0.25:
            self.live.discard(key)
            marked = {"name": None, "note": None, "__deleted": "true", "seq": self.sequence}
            kinds = [[None], [marked], [marked, None]]
            if self.shards > 1:
                kinds = [[marked], [marked, None]]
            return [self._placed(key, row) for row in rng.choice(kinds)]
        note = f"note {self.sequence}"
        if self.unchanged and rng.random() < 0.3 and key in self.live:
            note = PLACEHOLDER
        elif rng.random() < 0.2:
            note = None
        self.live.add(key)
        name = rng.randrange(self.names) if self.names else self.sequence
        row = {"name": f"name {name}", "note": note, "seq": self.sequence}
        if self.amounts:  # some are no numbers
            row["amount"] = rng.choice(["1", "2", "3", "none"])
        return [self._placed(key, row)]

    def _placed(self, key: int, row: dict | None) -> Event:
        if self.shards > 1:
            topic = f"people{self.random.randrange(self.shards)}" if row is not None else self.last
        else:
            topic = "people"
        self.last = topic
        place = topic, self.first_partition + key % self.partitions
        offset = self.ends.get(place, 0)
        self.ends[place] = offset + 1
        return Event(key, row, topic, place[1], offset, MOMENT + self.sequence)


def versions(events: list[Event], *, track=("name", "note"), columns=("name", "note")) -> list[dict]:
    """Every version of each key after all events: its values, from when until when it holds."""
    results: list[dict] = []
    rows: dict[int, dict] = {}
    for event in sorted(events, key=lambda e: (e.topic, e.partition, e.offset)):
        version = rows.get(event.key)
        if event.deletes:
            if version is not None:
                version["valid_to"], version["current"] = event.millis, False
                del rows[event.key]
            continue
        new = {}
        for column in columns:
            value = event.row.get(column)
            new[column] = (version or {}).get(column) if value == PLACEHOLDER else value
        if version is not None and all(version[column] == new[column] for column in track):
            version.update(new)
            continue
        if version is not None:
            version["valid_to"], version["current"] = event.millis, False
        place = {"id": event.key, "at": (event.topic, event.partition, event.offset)}
        rows[event.key] = {**new, **place, "valid_from": event.millis, "valid_to": None, "current": True}
        results.append(rows[event.key])
    return sorted(results, key=lambda row: (row["id"], row["at"]))
