"""What is run and killed: topics with a producer that appends all the time, and orders drawn at random."""

import json
import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics
from tests.run import kill_judge as judge
from tests.run.kill_child import LETTERS
from tests.run.kill_topics import Cluster

PARTITIONS = {"audit": 1, "orders": 2, "people": 1}
PLACES = [(topic, number) for topic, count in PARTITIONS.items() for number in range(count)]
KINDS = {"plain": 28, "max": 10, "micro": 14, "explicit": 16, "time": 8, "rebuild": 14, "rejected": 10}
SECRET = judge.SECRET.decode()
START = 1_700_000_000_000


class World:
    """A folder with topics and a table, the ledger of what was produced, and what the judge has seen last."""

    def __init__(self, folder: Path, sink: str, seed: int, servers: str = ""):
        self.folder, self.sink, self.random = folder, sink, random.Random(seed)
        self.topics, self.table = folder / "topics", folder / "table"
        self.ledger, self.evidence = judge.Ledger(), judge.Evidence()
        self.number, self.lock = 0, threading.Lock()
        self.cluster = Cluster(servers) if servers else None
        if self.cluster is not None:
            self.cluster.make(PARTITIONS)
        for place in PLACES:
            self.produce(12, place)

    def produce(self, count: int, place: tuple[str, int] | None = None, fate: judge.Fate | None = None) -> None:
        """Append records, one segment."""
        with self.lock:
            self._produce(count, *(place or self.random.choice(PLACES)), fate)

    def _produce(self, count: int, topic: str, partition: int, fate: judge.Fate | None) -> None:
        entries = [self._entry(fate) for _ in range(count)]
        if self.cluster is not None:
            offsets: Sequence[int] = self.cluster.produce(topic, partition, entries)
        else:
            records = [NewRecord(b"k", e.value, (("trace", b"x"),), e.timestamp) for e in entries]
            there = append_records(FileTopics(self.topics), topic, records, partition)
            offsets = range(there.start, there.end)
        self.ledger.entries.update({(topic, partition, o): e for o, e in zip(offsets, entries, strict=True)})

    def _entry(self, fate: judge.Fate | None) -> judge.Entry:
        self.number += 1
        fate = fate or self.random.choices(("kept", "dropped", "refused"), (70, 15, 15))[0]
        time_ = START + self.number
        if fate == "dropped":
            return judge.Entry(fate, None, None, time_)
        amount = str(self.number) if fate == "kept" else SECRET
        value = {"id": self.number, "name": SECRET, "nickname": SECRET, "amount": amount}
        output = {"id": self.number, "name": "", "nickname": "", "amount": self.number}
        return judge.Entry(fate, json.dumps(value).encode(), output, time_)

    @contextmanager
    def producing(self) -> Iterator[None]:
        """Append now and then while the block runs."""
        over = threading.Event()

        def work() -> None:
            while not over.wait(2):
                self.produce(self.random.randint(1, 3))

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    # --- orders ---

    def order(self) -> dict[str, Any]:
        """What to run next."""
        kinds = {k: n for k, n in KINDS.items() if self.sink != "kafka-kafka" or k in ("plain", "max", "micro")}
        kind = self.random.choices(list(kinds), list(kinds.values()))[0]
        details = getattr(self, f"_{kind}")()
        if details is None:
            kind, details = "plain", {}
        return self.of(kind, **details)

    def of(self, kind: str, **details: Any) -> dict[str, Any]:
        """An order of this world."""
        key = f"run {time.monotonic_ns()}" if self.random.random() < 0.5 else ""
        return {"kind": kind, "folder": str(self.folder), "sink": self.sink, "key": key, **self._servers(), **details}

    def _servers(self) -> dict[str, str]:
        return {"servers": self.cluster.servers} if self.cluster is not None else {}

    def _plain(self) -> dict[str, Any]:
        return {}

    def _max(self) -> dict[str, Any]:
        return {"max_records": self.random.randint(1, 6)}

    def _micro(self) -> dict[str, Any]:
        return {"max_records": self.random.randint(1, 4), "max_batches": self.random.randint(2, 3)}

    def _rebuild(self) -> dict[str, Any]:
        topics = [] if self.random.random() < 0.4 else [self.random.choice(list(PARTITIONS))]
        return {"topics": topics, **(self._max() if self.random.random() < 0.3 else {})}

    def _explicit(self) -> dict[str, Any] | None:
        """A part of what is held, sometimes with what follows it."""
        held = judge.held(self.evidence.state)
        parts = []
        for topic, partition in self.random.sample(PLACES, self.random.randint(1, 3)):
            numbers = sorted(o for t, p, o in held if (t, p) == (topic, partition))
            if not numbers:
                continue
            start = self.random.choice(numbers)
            end = self.random.randint(start, numbers[-1]) + 1
            if self.random.random() < 0.25:
                end = self.ledger.ends()[topic, partition]
            parts.append([topic, partition, start, end])
        return {"window": parts} if parts else None

    def _rejected(self) -> dict[str, Any] | None:
        """Ranges around records that fail, one at least of each topic."""
        refused = sorted(self.ledger.of("refused"))
        parts = {}
        for topic, partition, offset in self.random.sample(refused, min(len(refused), self.random.randint(1, 3))):
            start = max(0, offset - self.random.randint(0, 5))
            end = min(offset + self.random.randint(1, 6), self.ledger.ends()[topic, partition])
            parts[topic, partition] = [topic, partition, start, end]
        return {"window": list(parts.values())} if parts else None

    def _time(self) -> dict[str, Any]:
        since = START + self.random.randint(0, self.number)
        until = since + self.random.randint(1, self.number)
        which = self.random.randint(0, 2)
        return {"since": None if which == 1 else since, "until": None if which == 2 else until}

    # --- looking ---

    def look(self) -> judge.Evidence:
        """What is there now."""
        if self.cluster is None:
            result = judge.READERS[self.sink](self.table)
            result.letters = judge.read_letters(self.topics / LETTERS)
            return result
        if self.sink == "kafka-kafka":
            state, states = self.cluster.state(PARTITIONS), list(self.evidence.states)
            if state is not None and (not states or states[-1]["attempt"] != state["attempt"]):
                states.append(state)
            result = judge.Evidence(self.cluster.rows([f"clean.{t}" for t in PARTITIONS]), states)
        else:
            result = judge.READERS[self.sink.removeprefix("kafka-")](self.table)
        result.letters = self.cluster.letters(LETTERS)
        return result

    def judge(self, order: dict[str, Any]) -> list[str]:
        """What is wrong after an order, whether it was killed or not."""
        now = self.look()
        if self.sink == "kafka-kafka":
            problems = judge.check_topic(self.ledger, self.evidence, now)
        else:
            problems = judge.check(self.ledger, now) + judge.check_commits(self.ledger, self.evidence, now, order)
        self.evidence = now
        return problems

    def judge_end(self) -> list[str]:
        """What is wrong when nothing is new."""
        return judge.check_end(self.ledger, self.evidence) + judge.leftovers(self.folder, self.topics)
