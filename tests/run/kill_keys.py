"""Tables with keys whose runs are killed: changes of keys, and a judge that folds the events that the table holds."""

import random
import threading
from collections import Counter
from pathlib import Path
from typing import Any

from dagster_smt.tables.sinks.file_topics import FileTopics
from dagster_smt.tables.sources.file_writer import append_records
from tests.run import kill_judge as judge
from tests.run.keyed_world import PLACEHOLDER as PLACEHOLDER
from tests.run.keyed_world import Event, History, fold, place_of
from tests.run.kill_world import World

KINDS = {"plain": 34, "max": 12, "micro": 14, "explicit": 28, "rebuild": 12}
COLUMNS = ("id", "name", "note", "_source_topic", "_source_partition", "_source_offset")


class KeyWorld(World):
    """A topic with changes of eight keys, and a table that has a row of each."""

    def __init__(self, folder: Path, sink: str, seed: int):
        self.folder, self.sink, self.random = folder, sink, random.Random(seed)
        self.topics, self.table = folder / "topics", folder / "table"
        self.history, self.lock, self.cluster = History(seed, keys=8), threading.Lock(), None
        self.evidence = judge.Evidence()
        self.produce(12)

    @property
    def ledger(self) -> judge.Ledger:
        """What was produced: every record counts."""
        entries = {place_of(e): judge.Entry("kept", None, None, e.millis) for e in self.history.events}
        return judge.Ledger(entries)

    def produce(self, count: int, place: Any = None, fate: Any = None) -> None:
        """Append changes."""
        with self.lock:
            for event in self.history.more(count):
                append_records(FileTopics(self.topics), event.topic, [event.record()], event.partition)

    def order(self) -> dict[str, Any]:
        """What to run next."""
        kind = self.random.choices(list(KINDS), list(KINDS.values()))[0]
        details = getattr(self, f"_{kind}")()
        if details is None:
            kind, details = "plain", {}
        return self.of(kind, **details)

    def _rebuild(self) -> dict[str, Any]:
        return {"topics": []}

    def _explicit(self) -> dict[str, Any] | None:
        """A part of what is held, which is read again."""
        offsets = judge.held(self.evidence.state)
        parts = []
        for partition in range(self.history.partitions):
            numbers = sorted(o for _, p, o in offsets if p == partition)
            if numbers and self.random.random() < 0.8:
                start = self.random.choice(numbers)
                parts.append(["people", partition, start, self.random.randint(start, numbers[-1]) + 1])
        return {"window": parts} if parts else None

    def look(self) -> judge.Evidence:
        """What is there now."""
        return judge.READERS[self.sink.removeprefix("keyed-")](self.table, COLUMNS)

    def judge(self, order: dict[str, Any]) -> list[str]:
        """What is wrong after an order, whether it was killed or not."""
        now = self.look()
        with self.lock:
            events = list(self.history.events)
        problems = check(events, now) + judge.check_commits(judge.Ledger(), self.evidence, now, order)
        self.evidence = now
        return problems


def check(events: list[Event], result: judge.Evidence) -> list[str]:
    """What must hold at any time: the table is the fold of the events that its state says it holds.

    Args:
        events: What was produced.
        result: What is there; a row has ``COLUMNS``.
    """
    there = judge.held(result.state)
    expected = fold([e for e in events if place_of(e) in there])
    keys = Counter(row[0] for row in result.rows)
    problems = [f"{place} is held, but was never produced" for place in there - set(map(place_of, events))]
    problems += [f"key {key} has {number} rows" for key, number in sorted(keys.items()) if number > 1]
    problems += [f"key {key} has no row" for key in sorted(expected.keys() - keys.keys())]
    problems += [f"key {key} has a row, but was deleted" for key in sorted(keys.keys() - expected.keys())]
    for key, name, note, *place in result.rows:
        row = expected.get(key)
        if row is not None and (row["name"], row["note"], row["at"]) != (name, note, tuple(place)):
            problems.append(f"key {key} is not as its last event left it")
    if result.state is not None:
        number = sum(result.state["rows"].values())
        if number != len(result.rows):
            problems.append(f"the state counts {number} rows, the table has {len(result.rows)}")
    return problems
