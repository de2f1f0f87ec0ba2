"""Several tables with keys whose runs work beside each other in one process, so that one signal kills all of them.

A kill costs a start of Spark, which takes longer than the run. Here a start serves several kills: each of the tables
has orders and a judge of its own, one of them decides when the process dies, and the others are wherever they are.
"""

import random
import shutil
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tests.run.kill_keys import KeyWorld
from tests.run.kill_pool import Child, Pool
from tests.run.kills import Game, Outcome, Plan, phase_of

FORMATS = ("keyed-delta", "keyed-iceberg")


@dataclass
class Lane:
    """One order of a round.

    Attributes:
        game: Its table, with its judge.
        order: What to run.
        plan: When the process is to die, if this lane decides.
        phase: How far the run is.
        times: When its phases began.
    """

    game: Game
    order: dict[str, Any]
    plan: Plan
    phase: str = "starting"
    times: dict[str, float] = field(default_factory=dict)
    outcome: Outcome | None = None

    def hear(self, at: float, text: str) -> None:
        """Note how far the run is."""
        if text.startswith("DONE "):
            self.game.lengths.add(self.order["kind"], self.times, at)
            self.outcome = Outcome(False, self.phase, at - self.times["anywhere"], text.removeprefix("DONE "))
        elif (phase := phase_of(text)) is not None:
            self.phase = phase
            self.times.setdefault(phase, at)

    def deadline(self) -> float | None:
        """When the process is to die; None if the phase that is aimed at has not begun."""
        if self.plan.aim not in self.times:
            return None
        factor = 1.05 if self.plan.aim == "anywhere" else 1.1
        length = self.game.lengths.of(self.order["kind"], self.plan.aim)
        return self.times[self.plan.aim] + self.plan.share * factor * length

    def died(self, answer: str = "") -> None:
        if self.outcome is None:
            self.outcome = Outcome(True, self.phase, time.monotonic() - self.times["anywhere"], answer)


class Round:
    """Orders of all tables in one process, until it is killed or all of them are done."""

    def __init__(self, games: Sequence[Game], rng: random.Random):
        self.lanes = [Lane(game, game.next_order(), game.plan()) for game in games]
        self.leader = rng.choice(self.lanes)
        self.before = [len(game.world.evidence.states) for game in games]

    def play(self, child: Child) -> bool:
        """Carry out the orders; True if the process was killed."""
        with ExitStack() as stack:
            for number, lane in enumerate(self.lanes):
                stack.enter_context(lane.game.world.producing())
                lane.times["anywhere"] = time.monotonic()
                point = lane.plan.point if lane is self.leader else ""
                child.send({**lane.order, "lane": number, "point": point})
            killed = self._listen(child)
        for lane, before in zip(self.lanes, self.before, strict=True):
            assert lane.outcome is not None
            lane.game.judged(lane.order, lane.plan, lane.outcome, before)
        return killed

    def _listen(self, child: Child) -> bool:
        last = time.monotonic() + 600
        while any(lane.outcome is None for lane in self.lanes):
            planned = self.leader.deadline() if self.leader.outcome is None else None
            line = child.hear(min(last, planned or last))
            if line is None:
                child.kill(self.leader.plan.lag)
                self._drain(child)
                self._died("")
                return True
            at, text = line
            if text == "GONE":
                child.kill()
                self._died(self.leader.plan.point)
                return True
            number, _, rest = text.partition(" ")
            if number.isdigit():
                self.lanes[int(number)].hear(at, rest)
        return False

    def _drain(self, child: Child) -> None:
        """Hear what was said before the kill: who was done has survived."""
        while (line := child.hear(time.monotonic() + 5)) is not None and line[1] != "GONE":
            number, _, rest = line[1].partition(" ")
            if number.isdigit():
                self.lanes[int(number)].hear(line[0], rest)

    def _died(self, point: str) -> None:
        for lane in self.lanes:
            lane.died(point if lane is self.leader else "")


def play_lanes(lanes: int, kills: int, seed: int, seconds: float) -> int:
    """Kill until there were so many kills of each format, or until the time is up; 1 if something is wrong."""
    folder, start = Path(tempfile.mkdtemp(prefix="kills-")), time.monotonic()
    pool, rng, games = Pool(folder, cores=2), random.Random(f"{seed} lanes"), []
    for number in range(lanes):
        for sink in FORMATS:
            place = folder / f"{sink} {number}"
            place.mkdir()
            own = 1000 * seed + 2 * number + FORMATS.index(sink)
            games.append(Game(KeyWorld(place, sink, own), pool, own, partial(print, flush=True)))
    try:
        child = None
        while not _enough(games, kills) and not _problems(games) and time.monotonic() < start + seconds:
            child = child or pool.take()
            if Round(games, rng).play(child):
                child = None
        if child is not None:
            pool.give_back(child)
        if not _problems(games):
            last = pool.take(last=True)
            for game in games:
                game.finish_with(last)
            last.kill()
    finally:
        pool.close()
    for game in games:
        print(game.summary())
    for sink in FORMATS:
        print(f"{sink}: {_kills(games, sink)} kills")
    print(f"{time.monotonic() - start:.0f} s, {pool.started} processes, seed {seed}, {len(_problems(games))} problems")
    if _problems(games):
        print(f"kept in {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


def _kills(games: Sequence[Game], sink: str) -> int:
    return sum(game.tally.kills.total() for game in games if game.world.sink == sink)


def _enough(games: Sequence[Game], kills: int) -> bool:
    return all(_kills(games, sink) >= kills for sink in FORMATS)


def _problems(games: Sequence[Game]) -> list[str]:
    problems = []
    for game in games:
        problems += game.tally.problems
    return problems
