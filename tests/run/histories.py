"""Random histories of tables with keys, many beside each other: ``python -m tests.run.histories --histories 500``.

A history has keys, partitions and windows of its own. Twenty histories share a table and its runs, since a run of Spark
takes as long for one as for twenty: each run reads a window that every history draws for its own partitions. After each
run the table, as deltalake or pyiceberg reads it, is compared with the fold of each history.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pyspark.sql import SparkSession

from dagster_smt.chain import parse_chain
from dagster_smt.errors import TableError
from dagster_smt.run.attempt import Attempt
from dagster_smt.tables.window_request import WindowRequest
from tests.run.dying import Died, dying_at
from tests.run.keyed_table import AMOUNTS, WIDER, Keys, window_of
from tests.run.keyed_world import Event, History, Place, fold, folded_on, place_of, versions
from tests.run.kill_child import start

KEYS = 5
"""Keys of a history."""
FORMS = ["delta", "iceberg"]
TOPICS = 3
"""Topics of a history whose events have a sequence."""
CASTS = {"alias": "cast", "type": "Cast$Value", "options": {"spec": "amount:int32"}}
MASKS = {"alias": "mask", "type": "ReplaceField$Value", "options": {"exclude": "amount"}}
"""A field mask would reject the tombstones, as Kafka's does."""


@dataclass
class Kind:
    """A kind of table, and what happens to it.

    Attributes:
        sink: Options of the sink.
        actions: What the steps are drawn from.
        fold: Options of the fold.
        history: Options of each history.
    """

    sink: dict[str, Any]
    actions: tuple[str, ...]
    fold: dict[str, Any] = field(default_factory=dict)
    history: dict[str, Any] = field(default_factory=dict)


STEPS = ("next", "some", "windows", "windows", "windows", "die", "die", "rebuild", "compact", "widen")
REDRIVE = ("next", "some", "windows", "windows", "windows", "die", "compact")
KINDS = {
    "upsert": Kind({}, STEPS),
    "redrive": Kind({}, (*REDRIVE, "redrive"), {}, {"amounts": True}),
    "soft": Kind({"deletes": "soft"}, STEPS, {"deletes": "soft"}),
    "ignore": Kind({"deletes": "ignore"}, STEPS, {"deletes": "ignore"}),
    "sequence": Kind(
        {"sequence_by": "seq"},
        ("next", "some", "windows", "windows", "windows", "die", "rebuild", "compact"),
        {"sequenced": True},
        {"shards": TOPICS, "unchanged": False},
    ),
    "versions": Kind({"mode": "scd2", "track": ["name", "note"]}, STEPS, {}, {"names": 3}),
    "tracked": Kind({"mode": "scd2", "track": ["name"]}, STEPS, {"track": ("name",)}, {"names": 3}),
    "partitions": Kind({"partition_by": ["name"]}, STEPS, {}, {"names": 3}),
    "crowded": Kind({}, ("next", "windows", "rival", "rival", "overtaken", "overtaken", "die")),
    "foreign": Kind(
        {},
        ("next", "windows", "windows", "windows", "foreign", "foreign", "interrupted", "interrupted", "die", "compact"),
    ),
}


class Plot:
    """One history: its events, what has been read of them, and what its rows must be."""

    def __init__(self, number: int, seed: int, kind: Kind):
        self.number, self.kind, self.seed = number, kind, seed
        own = {"first_key": number * KEYS, "partitions": 1, "first_partition": number, **kind.history}
        self.history = History(seed, keys=KEYS, **own)
        self.random = random.Random(f"{seed} windows")
        self.read: set[Place] = set()
        self.rows: dict[int, dict] = {}

    def window(self) -> list[tuple[str, int, int, int]]:
        """Offsets to read: what follows, with a gap at times, or what was read before."""
        ranges = []
        for (topic, partition), end in sorted(self.history.ends.items()):
            drawn = self._range(topic, partition, end)
            if drawn is not None:
                ranges.append((topic, partition, *drawn))
        return ranges

    def _range(self, topic: str, partition: int, end: int) -> tuple[int, int] | None:
        rng = self.random
        known = [offset for name, number, offset in self.read if (name, number) == (topic, partition)]
        after = max(known) + 1 if known else 0
        draw = rng.random()
        if draw < 0.2 or end == 0:
            return None
        if draw < 0.55 and known:  # again
            first = rng.randrange(0, after)
            last = rng.randrange(first, after) + 1
        elif after < end:
            first = after
            if draw > 0.85 and not self.kind.fold.get("sequenced"):
                first = rng.randrange(after, end)
            last = rng.randrange(first, end) + 1
        else:
            return None
        return first, last

    def places(self) -> set[Place]:
        return set(map(place_of, self.history.events))

    def of(self, ranges: list[tuple[str, int, int, int]]) -> set[Place]:
        """The events in ranges."""
        inside = set()
        for topic, partition, first, last in ranges:
            for offset in range(first, last):
                inside.add((topic, partition, offset))
        return inside & self.places()

    def take_in(self, window: set[Place], fails: Callable[[Event], bool]) -> None:
        """The table has read a window; a window of everything starts over."""
        self.read |= window
        self.rows = folded_on(self.events(fails), self.rows, window)

    def events(self, fails: Callable[[Event], bool]) -> list[Event]:
        return [e for e in self.history.events if place_of(e) in self.read and not fails(e)]

    def judge(self, rows: list[dict], fails: Callable[[Event], bool], changed: bool) -> str:
        """What is wrong with the rows of this history; empty if nothing is."""
        if self.kind.sink.get("mode") == "scd2":
            expected: Any = versions(self.events(fails), **self.kind.fold)
            if rows != expected:
                return f"versions {rows} instead of {expected}"
            return ""
        shown: dict[int, dict] = {}
        for row in rows:
            if row["id"] in shown:
                return f"two rows of key {row['id']}"
            shown[row["id"]] = {name: row[name] for name in row if name != "id"}
        expected = self.rows if changed else fold(self.events(fails), **self.kind.fold)
        if shown != expected:
            return f"rows {shown} instead of {expected}"
        return ""


class World:
    """A table, the histories that share it, and the steps of its runs."""

    def __init__(self, folder: Path, session: SparkSession, form: str, name: str, seed: int, histories: int):
        self.kind, self.form, self.name = KINDS[name], form, name
        self.keys = Keys(folder, session, form, **self.kind.sink)
        # if others write in the run's own session, Spark computes what a run has cached anew
        self.keys.by_others_elsewhere = True
        self.random = random.Random(f"{seed} {name} {form} steps")
        self.plots = [Plot(n, seed * 1000 + n, self.kind) for n in range(histories)]
        self.done: list[str] = []
        self.number, self.judged, self.mended, self.changed = 0, 0, True, False
        self.actions = Counter[str]()
        if "redrive" in self.kind.actions:
            self.mended, self.keys.value = False, AMOUNTS
            self.keys.chain = parse_chain([CASTS])
            self.keys.options = {"errors_tolerance": "all"}

    def fails(self, event: Event) -> bool:
        """Some amounts are no numbers, until the chain is mended."""
        return not self.mended and event.row is not None and event.row.get("amount") == "none"

    def play(self, steps: int) -> list[str]:
        """Play steps until something is wrong; what is wrong."""
        self.add()
        for _ in range(steps):
            if self.random.random() < 0.8:
                self.add()
            action = self.random.choice(self.kind.actions)
            self.done.append(action)
            self.actions[action] += 1
            getattr(self, action)()
            self.number = self.keys.committed()
            problems = self.judge()
            if problems:
                return problems
        return []

    def judge(self) -> list[str]:
        rows: dict[int, list[dict]] = {}
        if self.number:
            read = self.keys.versions if self.kind.sink.get("mode") == "scd2" else self.keys.plain_rows
            for row in read():
                rows.setdefault(row["id"] // KEYS, []).append(row)
        problems = []
        for plot in self.plots:
            self.judged += 1
            problem = plot.judge(rows.get(plot.number, []), self.fails, self.changed)
            if problem:
                problems.append(f"history {plot.seed}: {problem} after {self.done}")
        return problems

    def add(self) -> None:
        for plot in self.plots:
            if self.random.random() < 0.85:
                self.keys.add(plot.history.more(self.random.randrange(1, 6)))

    def _all_read(self, start: Callable[[Plot], set[Place]] = lambda plot: set()) -> None:
        for plot in self.plots:
            plot.take_in(plot.places() - start(plot), self.fails)

    def next(self) -> None:
        """What follows, everywhere. A gap stays one."""
        windows = self._to_the_ends()
        self.keys.run()
        self._took(windows)

    def _to_the_ends(self) -> list[set[Place]]:
        """What each history has after the last offset that was read, by partition."""
        windows = []
        for plot in self.plots:
            ends: dict[tuple[str, int], int] = {}
            for topic, partition, offset in plot.read:
                ends[topic, partition] = max(offset + 1, ends.get((topic, partition), 0))
            windows.append({p for p in plot.places() if p[2] >= ends.get(p[:2], 0)})
        return windows

    def _took(self, windows: list[set[Place]]) -> None:
        for plot, window in zip(self.plots, windows, strict=True):
            plot.take_in(window, self.fails)

    def some(self) -> None:
        most = self.random.randrange(1, 4)
        windows = []
        for window in self._to_the_ends():
            firsts: dict[tuple[str, int], int] = {}
            for topic, partition, offset in window:
                firsts[topic, partition] = min(offset, firsts.get((topic, partition), offset))
            windows.append({p for p in window if p[2] < firsts[p[:2]] + most})
        self.keys.run(window=WindowRequest(max_records=most))
        self._took(windows)

    def windows(self) -> None:
        """Each history draws its own offsets."""
        drawn = [plot.window() for plot in self.plots]
        ranges = [r for ranges in drawn for r in ranges]
        if not ranges:
            return
        self.keys.run(window=window_of(*ranges))
        self._took([plot.of(ranges) for plot, ranges in zip(self.plots, drawn, strict=True)])

    def die(self) -> None:
        """A run that dies at some step has committed everything, or nothing."""
        drawn = [plot.window() for plot in self.plots]
        ranges = [r for ranges in drawn for r in ranges]
        of_window = {"window": window_of(*ranges)} if ranges and self.random.random() < 0.5 else {}
        windows = self._to_the_ends()
        if of_window:
            windows = [plot.of(ranges) for plot, ranges in zip(self.plots, drawn, strict=True)]
        try:
            with dying_at(self.random.randrange(0, 25), after=self.random.random() < 0.5):
                self.keys.run(**of_window)
        except Died:
            self.actions["died"] += 1
        if self.keys.committed() != self.number:
            self.actions["committed all the same"] += 1
            self._took(windows)

    def rebuild(self) -> None:
        self.keys.run(rebuild=True)
        for plot in self.plots:
            plot.read, plot.rows = set(), {}
        self._all_read()

    def redrive(self) -> None:
        """The chain is mended, and what failed is run again."""
        if self.mended or not self.number:
            self.next()
            return
        self.keys.chain, self.mended = parse_chain([MASKS]), True
        self.keys.run(window=WindowRequest(redrive=True))
        self._took([set() for _ in self.plots])

    def compact(self) -> None:
        """Somebody else writes the files of the table anew."""
        if self.number:
            self.keys.compact()

    def widen(self) -> None:
        """Events have one more column from now on."""
        self.keys.value = WIDER

    # --- others ---

    def rival(self) -> None:
        """A second run of the same table commits first: the other one has to say so, or has nothing to add."""
        windows = self._to_the_ends()
        with before_the_commit(self.keys.run):
            try:
                self.keys.run()
            except TableError as error:
                assert {problem.code for problem in error.problems} == {"SMT528"}, error
        self._took(windows)

    def overtaken(self) -> None:
        """Somebody else writes the files anew in the meantime."""
        windows = self._to_the_ends()
        with before_the_commit(self.compact):
            self.keys.run()
        self._took(windows)

    def foreign(self) -> None:
        """Somebody else changes rows, removes some, and makes some of keys that have none."""
        if not self.number:
            return
        self.changed = True
        new, gone, other = [], [], []
        for plot in self.plots:
            key = plot.number * KEYS + self.random.randrange(KEYS)
            if key not in plot.rows:
                new.append(key)
                plot.rows[key] = {"name": "others", "note": None, "at": (None, None, None), "_deleted": False}
            elif self.random.random() < 0.5:
                gone.append(key)
                del plot.rows[key]
            else:
                other.append(key)
                plot.rows[key] = {**plot.rows[key], "note": "others"}
        if new:
            self.keys.insert_by_others(new, "others")
        if gone:
            self.keys.delete_by_others(gone, self.random)
        if other:
            self.keys.update_by_others(other, "others", self.random)

    def interrupted(self) -> None:
        """Somebody else changes rows while a run is under way: the run says so, or was first."""
        if not self.number:
            return
        windows = self._to_the_ends()
        with before_the_commit(self.foreign):
            try:
                self.keys.run()
            except TableError as error:
                assert {problem.code for problem in error.problems} == {"SMT708"}, error
                self.actions["interrupted and told"] += 1
        if self.keys.committed() != self.number:
            self._took(windows)


def before_the_commit(action: Callable[[], Any]) -> Any:
    """Something happens once, after a run has looked at the table and before it writes."""
    write, done = Attempt.write, []

    def late(*args: Any, **kwargs: Any) -> Any:
        if not done:
            done.append(True)
            action()
        return write(*args, **kwargs)

    return patch.object(Attempt, "write", late)


def play(session: SparkSession, options: argparse.Namespace, say: Callable[[str], None]) -> int:
    """Play worlds of all kinds and forms in turn, until there were so many histories; how many things were wrong."""
    kinds = [(name, form) for name in options.only or KINDS for form in options.form or FORMS]
    played, judged, wrong = Counter[str](), 0, 0
    number, actions = 0, Counter[str]()
    while played.total() < options.histories:
        name, form = kinds[number % len(kinds)]
        seed, size = 1000 * options.seed + number, min(options.together, options.histories - played.total())
        folder, begin = Path(tempfile.mkdtemp(prefix="histories-")), time.monotonic()
        world = World(folder, session, form, name, seed, size)
        try:
            problems = world.play(options.steps)
        except Exception as error:  # noqa: BLE001 - whatever stops a run is a finding
            text = " ".join(str(error).split())[:600]
            problems = [f"{type(error).__name__} {text} after {world.done}"]
        number, judged, wrong = number + 1, judged + world.judged, wrong + len(problems)
        played[form] += size
        actions.update(world.actions)
        say(
            f"{form} {name} seed {seed}: {size} histories, {world.number} commits, {world.judged} judgements, "
            f"{len(problems)} wrong, {time.monotonic() - begin:.0f} s; so far {dict(played)}"
        )
        for problem in problems:
            say(f"  WRONG {problem}")
        shutil.rmtree(folder)
    say(f"histories {dict(played)}, {judged} judgements, steps {dict(actions)}, {wrong} wrong")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=360)
    parser.add_argument("--together", type=int, default=20, help="so many share a table and its runs")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--form", action="append", default=[], choices=FORMS)
    parser.add_argument("--only", action="append", default=[], choices=list(KINDS))
    options = parser.parse_args()
    session = start("")
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    session.conf.set("spark.sql.adaptive.enabled", "false")
    session.conf.set("spark.databricks.delta.snapshotPartitions", "1")
    return 1 if play(session, options, partial(print, flush=True)) else 0


if __name__ == "__main__":
    sys.exit(main())
