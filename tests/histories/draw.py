"""Random steps: what may come next in a history, drawn so that much of it matters."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.histories.faults import POINTS
from tests.histories.history import History, Setting
from tests.histories.model import Ask
from tests.histories.topics import DAY, FAR, NANO, Offset

TOPICS = ("shop.orders", "shop.people", "shop.extra")
Step = tuple[Any, ...]

PAIRS = {
    ("files", "delta records"): ("files", "table"),
    ("files", "delta columns"): ("table", "files"),
    ("files", "iceberg records"): ("files", "table"),
    ("files", "files"): ("files",),
    ("kafka", "delta records"): ("kafka", "table"),
    ("kafka", "iceberg columns"): ("kafka", "files"),
    ("kafka", "kafka"): ("kafka",),
    ("kafka", "files"): ("files",),
    ("bronze", "delta records"): ("files",),
    ("bronze", "iceberg records"): ("table",),
    ("bronze", "files"): ("files",),
}
"""Sources with sinks, and where dead letters of each go."""


def setting_of(pair: tuple[str, str], chance: random.Random) -> Setting:
    """A setting for a pair of source and sink."""
    starts = ["earliest"] * 5 + ["latest", "latest", "time"] + ["group"] * (pair[0] == "kafka")
    return Setting(
        *pair,
        letters=chance.choice(PAIRS[pair]),
        start=chance.choice(starts),
        start_time=chance.randint(0, DAY // 4),
        on_data_loss=chance.choice(["fail", "fail", "gap"]),
        route=pair[1] != "files" or chance.random() < 0.5,
    )


class Draw:
    """Draws the steps of a history; looks at its model to know what there is."""

    def __init__(self, history: History, chance: random.Random):
        self.history, self.chance = history, chance
        self.now = 0
        """The clock of the records."""
        self.keys = 0
        self.day = 0
        """The next partition of time."""

    @property
    def model(self) -> Any:
        return self.history.model

    def first(self) -> list[Step]:
        """What there is before the first run."""
        steps = [("append", "shop.orders", 0, *self._records(4, 9))]
        if self.history.source.empty_topics and self.chance.random() < 0.6:
            steps.append(("create", "shop.people", 1))
        else:
            steps.append(("append", "shop.people", 0, *self._records(1, 5)))
        if self.history.setting.start == "group":
            steps.append(("commit_group",))
        return steps

    def step(self) -> Step:
        """The next step."""
        ways: list[tuple[int, Callable[[], Step | None]]] = [
            (30, self._append),
            (45, self._run),
            (4, self._create),
            (8, self._expire),
            (4, self._delete),
            (6, self._holes),
            (9, self._restore),
            (4, self._upkeep),
            (4, self._erase),
            (3, self._foreign),
            (12, self._remedy),
            (25, self._retry),
        ]
        weights = [weight for weight, _ in ways]
        while True:
            (way,) = self.chance.choices([way for _, way in ways], weights)
            step = way()
            if step is not None:
                return step

    # --- topics ---

    def _records(self, least: int, most: int) -> tuple[str, tuple[int, ...]]:
        """Fates and times: mostly one after the other, some late, some far away."""
        count = self.chance.randint(least, most)
        fates = "".join(self.chance.choices("gbxd", (65, 15, 6, 14), k=count))
        times = []
        for _ in range(count):
            self.now += self.chance.randint(1, DAY // 8)
            late = self.now - self.chance.randint(0, 2 * DAY)
            times.append(self.chance.choices((self.now, max(0, late), FAR), (80, 18, 2))[0])
        if self.history.source.kind == "files" and fates[-1] == "g" and self.chance.random() < 0.05:
            times[-1] = NANO
        return fates, tuple(times)

    def _place(self) -> tuple[str, int] | None:
        places = [(t, number) for t in self.model.listed() for number in self.model.bounds(t)]
        return self.chance.choice(places) if places else None

    def _append(self) -> Step:
        topic = self.chance.choices(TOPICS, (60, 30, 10))[0]
        there = len(self.model.topics[topic].logs) if topic in self.model.topics else 0
        partition = self.chance.randint(0, max(0, there - 1))
        if topic == "shop.orders" and there == 1 and self.chance.random() < 0.15:
            partition = 1
        return ("append", topic, partition, *self._records(1, 8))

    def _create(self) -> Step | None:
        if not self.history.source.empty_topics:
            return None
        missing = [t for t in TOPICS if t not in self.model.topics]
        if missing:
            return ("create", self.chance.choice(missing), 1)
        return ("create", "shop.orders", 2) if len(self.model.topics["shop.orders"].logs) == 1 else None

    def _expire(self) -> Step | None:
        place = self._place()
        if place is None:
            return None
        start, end = self.model.bounds(place[0])[place[1]]
        last = end if self.history.source.kind == "kafka" else end - 1
        if self.history.source.kind == "bronze":  # a table does not tell what was deleted from what never came
            own = {o for t, p, o in self.model.table.held | self.model.table.gaps if (t, p) == place}
            last = next((o for o in range(start, end) if o not in own), end - 1)
        if last <= start:
            return None
        return ("expire", *place, self.chance.randint(start + 1, last))

    def _delete(self) -> Step | None:
        listed = self.model.listed()
        if not self.history.source.empty_topics or len(listed) < 2:
            return None
        return ("delete", self.chance.choice(listed))

    def _holes(self) -> Step | None:
        place = self._place()
        if self.history.source.kind == "kafka" and place is not None:
            return ("abort", *place, self.chance.randint(1, 4))
        if self.history.source.kind != "bronze":
            return None
        waiting = [place for place, batches in self.history.late.items() if batches]
        if waiting and self.chance.random() < 0.7:
            return ("arrive", *self.chance.choice(waiting))
        return ("postpone", *place, *self._records(1, 4)) if place is not None else None

    # --- the table ---

    def _restore(self) -> Step | None:
        marks = self.history.marks
        return ("restore", self.chance.randint(1, len(marks) - 1)) if len(marks) > 1 else None

    def _upkeep(self) -> Step | None:
        return ("upkeep",) if self.history.marks else None

    def _erase(self) -> Step | None:
        rows = self.model.table.rows if self.history.sink.restores else []
        return ("erase", *self.chance.choice(rows)[0]) if rows else None

    def _foreign(self) -> Step | None:
        """Once a run has made the topics."""
        ran = self.model.table.rows and self.model.letters
        return ("foreign",) if ran and self.history.letters.kind != "table" else None

    # --- runs ---

    def _key(self) -> str:
        self.keys += 1
        return f"run {self.keys}" if self.chance.random() < 0.5 else ""

    def _run(self) -> Step | None:
        kind = self.chance.choices(
            ("new", "most", "batches", "explicit", "time", "day", "redrive", "rebuild", "rival", "none"),
            (30, 12, 8, 10, 5, 14, 10, 8, 6, 8),
        )[0]
        ask = getattr(self, f"_ask_{kind}")()
        if ask is None:
            return None
        if self.chance.random() < 0.25 and not ask.rival and not ask.batches:
            ask = replace(ask, death=self.chance.choice(POINTS), key=ask.key or f"run {self.keys}+")
        return ("run", ask)

    def _ask_new(self) -> Ask:
        topics: tuple[str, ...] = ()
        if self.chance.random() < 0.15 and self.model.listed():
            topics = (self.chance.choice(self.model.listed()),)
        return Ask(topics=topics, key=self._key())

    def _ask_most(self) -> Ask:
        return Ask(max_records=self.chance.randint(1, 5), key=self._key())

    def _ask_batches(self) -> Ask:
        tolerance = self.chance.choice(["all", "all", "none"])
        return Ask(max_records=self.chance.randint(2, 5), batches=2, key=self._key(), tolerance=tolerance)

    def _ask_none(self) -> Ask:
        return Ask(tolerance="none", key=self._key(), max_records=self.chance.choice([None, 4]))

    def _ask_rival(self) -> Ask:
        return Ask(rival=True)

    def _ask_explicit(self) -> Ask | None:
        place = self._place()
        if place is None:
            return None
        start, end = self.model.bounds(place[0])[place[1]]
        if start == end:
            return None
        first = self.chance.randint(start, end - 1)
        last = self.chance.randint(first + 1, end) + (self.chance.random() < 0.05)
        gap = self.chance.random() < 0.2
        chain = self._chain()
        return Ask("explicit", ranges=((*place, first, last),), chain=chain, accept_gap=gap, key=self._key())

    def _chain(self) -> str:
        return self.chance.choices(("first", "mended"), (70, 30))[0]

    def _ask_time(self) -> Ask:
        since = self.chance.randint(0, self.now)
        until = since + self.chance.randint(1, 2 * DAY)
        which = self.chance.randint(0, 3)
        return Ask("time", since=since if which != 1 else None, until=until if which != 2 else None, key=self._key())

    def _ask_day(self) -> Ask | None:
        """The next day that is over, or one of those before once more."""
        day = self.day
        if (day + 1) * DAY > self.now or (day and self.chance.random() < 0.3):
            day = self.chance.randint(0, max(0, day - 1))
        else:
            self.day += 1
        return Ask("time", since=day * DAY, until=(day + 1) * DAY, chain=self._chain(), key=self._key())

    def _ask_redrive(self) -> Ask:
        return Ask("redrive", chain=self.chance.choice(["mended", "mended", "first"]), key=self._key())

    def _ask_rebuild(self) -> Ask | None:
        listed = [t for t in self.model.listed() if any(a < b for a, b in self.model.bounds(t).values())]
        if not listed:
            return None
        topics = () if self.chance.random() < 0.4 else (self.chance.choice(self.model.listed()),)
        tolerance = self.chance.choice(["all", "all", "none"])
        return Ask(rebuild=True, topics=topics, chain=self._chain(), key=self._key(), tolerance=tolerance)

    def _retry(self) -> Step | None:
        """The last run again: it died, or it did not and somebody launches it all the same."""
        last = self.history.steps[-1]
        if last[0] != "run" or not last[1].key:
            return None
        if not last[1].death and self.chance.random() < 0.7:
            return None
        chain = "mended" if self.chance.random() < 0.2 else last[1].chain
        return ("run", replace(last[1], death="", chain=chain))

    def _remedy(self) -> Step | None:
        """What the hints of a refused run say."""
        last = self.history.last
        if last.status not in ("refused", "committed") or self.history.steps[-1][0] != "run":
            return None
        if "SMT511" in last.codes:
            return ("run", Ask(accept_gap=True))
        if "SMT556" in last.codes and self.history.steps[-1][1].rebuild:
            return ("run", replace(self.history.steps[-1][1], accept_gap=True, tolerance="all", death=""))
        if "SMT516" in last.codes and (self.chance.random() < 0.5 or not self.history.sink.restores):
            return ("run", Ask(anew=True))
        if "SMT516" in last.codes or "SMT515" in last.codes:
            stale = [t for t in self.model.listed() if self.model.plan(Ask()).refused.get(t) in ("SMT515", "SMT516")]
            return ("run", Ask(rebuild=True, topics=tuple(stale[:1]))) if stale else None
        return None


def play(history: History, chance: random.Random, length: int) -> list[str]:
    """Play a random history; gives what is wrong with its last step."""
    draw = Draw(history, chance)
    for step in draw.first():
        if history.do(step):
            return history.problems
    runs = 0
    while runs < length:
        step = draw.step()
        if history.do(step):
            return history.problems
        runs += step[0] == "run"
    history.do(("run", Ask()))
    return history.problems


__all__ = ["PAIRS", "Draw", "Offset", "play", "setting_of"]
