"""Kill runs at any moment and judge what they leave behind: ``python -m tests.run.kills --kills 200 --sink delta``.

A run works in a process of its own, which is killed with its JVM and its workers at a random time, in a phase that is
aimed at, or at a point in the code. What it leaves is judged after each order, and at the end after runs that nobody
kills. ``--seed`` repeats orders and plans, not the times at which processes get on.
"""

import argparse
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from dagster_smt.testing import KafkaBroker
from tests.run.kill_keys import KeyWorld
from tests.run.kill_pool import Child, Pool
from tests.run.kill_world import World

SINKS = ["delta", "iceberg", "kafka-delta", "kafka-kafka", "keyed-delta", "keyed-iceberg"]
"""What runs write to; those with ``kafka-`` read from a broker, those with ``keyed-`` are tables with keys."""
POINTS = [
    *("after evaluating", "after counting", "before the letters", "after the letters", "before the commit"),
    *("before saving", "after saving", "before the property", "after the property", "after the commit"),
    *(f"statement {n}" for n in range(16)),
]
PHASES = {  # what a run says, and what it does from then on
    "window: ": "reading",
    "evaluating": "evaluating",
    "PHASE in verify": "counted",
    "PHASE in append_frame": "writing letters",
    "PHASE after append_frame": "after letters",
    "PHASE in append": "writing letters",
    "PHASE after append": "after letters",
    "committing": "committing",
    "PHASE in save": "saving",
    "PHASE in write": "saving",
    "PHASE in merge": "saving",
    "PHASE after save": "after saving",
    "PHASE after write": "after saving",
    "PHASE after fast_forward": "after publishing",
    "PHASE after commit": "after the commit",
    "PHASE after merge": "after the commit",
}
AIMS = {"anywhere": 35, "committing": 35, "writing letters": 8, "point": 22}


def phase_of(line: str) -> str | None:
    """The phase that begins with what a run says; None if it says something else."""
    return next((phase for begin, phase in PHASES.items() if line.startswith(begin)), None)


@dataclass
class Plan:
    """When a run is to die: at a point, or some time after a phase began."""

    aim: str
    share: float
    lag: float
    point: str = ""


@dataclass
class Outcome:
    """How an order ended: killed in a phase, or with an answer."""

    killed: bool
    phase: str
    seconds: float
    answer: str = ""


@dataclass
class Tally:
    """What happened so far."""

    kills: Counter[str] = field(default_factory=Counter)
    aims: Counter[str] = field(default_factory=Counter)
    orders: Counter[str] = field(default_factory=Counter)
    survived: Counter[str] = field(default_factory=Counter)
    committed: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


class Lengths:
    """How long phases usually last: from ``anywhere`` (the order) or another phase to the end of the run."""

    def __init__(self) -> None:
        self.seen: dict[tuple[str, str], list[float]] = defaultdict(list)

    def add(self, kind: str, times: dict[str, float], end: float) -> None:
        for phase, start in times.items():
            self.seen[kind, phase].append(end - start)

    def of(self, kind: str, phase: str) -> float:
        result = self.seen[kind, phase] or [s for (_, p), all_ in self.seen.items() if p == phase for s in all_]
        return statistics.median(result[-9:]) if result else {"anywhere": 5.0}.get(phase, 1.5)


class Game:
    """Orders, kills and judgements until there were enough kills."""

    def __init__(self, world: World, pool: Pool, seed: int, say: Any = print):
        self.world, self.pool, self.say = world, pool, say
        self.random, self.lengths, self.tally = random.Random(f"{seed} kills"), Lengths(), Tally()
        self.again: dict[str, Any] | None = None

    def plan(self) -> Plan:
        aim = self.random.choices(list(AIMS), list(AIMS.values()))[0]
        lag = self.random.uniform(0.001, 0.5) if self.random.random() < 0.2 else 0.0
        return Plan(aim, self.random.random(), lag, self.random.choice(POINTS) if aim == "point" else "")

    def play(self, kills: int, seconds: float = float("inf")) -> None:
        """Kill so many runs, or as many as the time allows."""
        child, end = None, time.monotonic() + seconds
        while self.tally.kills.total() < kills and not self.tally.problems and time.monotonic() < end:
            child = child or self.pool.take()
            order, plan = self.next_order(), self.plan()
            before = len(self.world.evidence.states)
            with self.world.producing():
                outcome = self.order(child, order, plan)
            self.judged(order, plan, outcome, before)
            child = None if outcome.killed else child
        if child is not None:
            self.pool.give_back(child)

    def next_order(self) -> dict[str, Any]:
        """A new order, or the one that was killed once more, as an orchestrator tries again."""
        again, self.again = self.again, None
        if again is not None and self.random.random() < 0.4:
            return again
        for _ in range(self.random.randint(0, 3)):
            self.world.produce(self.random.randint(1, 5))
        return self.world.order()

    def order(self, child: Child, order: dict[str, Any], plan: Plan) -> Outcome:
        """Have an order carried out, and kill it as planned."""
        start = time.monotonic()
        times, phase = {"anywhere": start}, "starting"
        child.send({**order, "point": plan.point})
        deadline = start + 300
        if plan.aim == "anywhere":
            deadline = start + plan.share * 1.05 * self.lengths.of(order["kind"], "anywhere")
        while (line := child.hear(deadline)) is not None:
            at, text = line
            if text.startswith("DONE "):
                self.lengths.add(order["kind"], times, at)
                return Outcome(False, phase, at - start, text.removeprefix("DONE "))
            if text == "GONE":
                child.kill()
                return Outcome(True, phase, at - start, plan.point)
            result = phase_of(text)
            if result is not None:
                phase = result
                times.setdefault(phase, at)
                if phase == plan.aim and deadline > start + 299:
                    deadline = at + plan.share * 1.1 * self.lengths.of(order["kind"], phase)
        child.kill(plan.lag)
        return Outcome(True, phase, time.monotonic() - start)

    def judged(self, order: dict[str, Any], plan: Plan, outcome: Outcome, before: int) -> None:
        """Judge what is there, and keep count."""
        problems = self.world.judge(order)
        new, kind = len(self.world.evidence.states) - before, order["kind"]
        self.tally.orders[kind] += 1
        self.tally.committed[kind] += new
        if outcome.killed:
            self.tally.kills[outcome.phase] += 1
            self.tally.aims[plan.aim + (" (driver first)" if plan.lag and not outcome.answer else "")] += 1
            self.again = order
        else:
            self.tally.survived[kind] += 1
            problems += self.wrong_answer(order, outcome.answer, new)
        what = f"killed while {outcome.phase}" if outcome.killed else f"not killed: {outcome.answer[:60]}"
        if outcome.killed and outcome.answer:
            what = f"died {outcome.answer}"
        self.say(
            f"{self.tally.kills.total():4} {self.world.sink} {kind:8} {outcome.seconds:5.1f} s  {what}; "
            f"{new} commits, {len(self.world.evidence.rows)} rows, {len(self.world.evidence.letters)} letters"
        )
        self.tally.problems += [f"{p} (after {order}, {what})" for p in problems]

    def wrong_answer(self, order: dict[str, Any], answer: str, new: int) -> list[str]:
        """What a run that was not killed says must be what is there."""
        if order["kind"] == "rejected":
            return [] if answer.startswith("refused") and "SMT530" in answer else [f"it was not rejected: {answer}"]
        if answer.startswith("refused"):
            return [f"it failed: {answer}"]
        if (answer == "committed") != (new > 0):
            return [f"it says {answer} and made {new} commits"]
        return []

    def finish(self) -> None:
        """Run until nothing is new, without a kill, and judge the end."""
        child = self.pool.take(last=True)
        try:
            self.finish_with(child)
        finally:
            child.kill()

    def finish_with(self, child: Child) -> None:
        """Run in this process until nothing is new, and judge the end."""
        self.world.produce(1, fate="refused")  # whoever publishes letters clears away what dead ones left
        for _ in range(5):
            order, before = self.world.of("plain"), len(self.world.evidence.states)
            outcome = self.order(child, order, Plan("never", 0, 0))
            self.judged(order, Plan("never", 0, 0), outcome, before)
            if outcome.answer == "empty":
                break
        else:
            self.tally.problems.append("there is always something new")
        self.tally.problems += self.world.judge_end()

    def summary(self) -> str:
        """What happened, as a table."""
        tally, world = self.tally, self.world
        lines = [f"{world.sink}: {tally.kills.total()} kills, {tally.orders.total()} orders"]
        lines += [f"  killed while {phase:18}{count:5}" for phase, count in tally.kills.most_common()]
        lines += [f"  aimed at {aim:28}{count:5}" for aim, count in tally.aims.most_common()]
        for kind, count in tally.orders.most_common():
            done, commits = tally.survived[kind], tally.committed[kind]
            lines.append(f"  {kind:9}{count:4} ordered {done:4} finished {commits:4} commits")
        rows, letters = len(world.evidence.rows), len(world.evidence.letters)
        lines.append(f"  {len(world.evidence.states)} commits, {len(world.ledger.entries)} records, {rows} rows, ")
        lines[-1] += f"{letters} dead letters, {len(tally.problems)} problems"
        return "\n".join(lines + [f"  PROBLEM {problem}" for problem in tally.problems])


def play(
    folder: Path, sink: str, kills: int, seed: int, pool: Pool, say: Any = print, seconds: float = float("inf")
) -> Game:
    """A whole game over one sink; those from a broker have one of their own."""
    (folder / sink).mkdir()
    with ExitStack() as stack:
        broker = stack.enter_context(KafkaBroker(folder / f"broker of {sink}")) if "kafka" in sink else None
        if sink.startswith("keyed-"):
            world: World = KeyWorld(folder / sink, sink, seed)
        else:
            world = World(folder / sink, sink, seed, broker.servers if broker else "")
        game = Game(world, pool, seed, say)
        game.play(kills, seconds)
        if not game.tally.problems:
            game.finish()
    return game


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--sink", choices=SINKS, default="delta")
    parser.add_argument("--lanes", type=int, default=0, help="so many keyed tables of each format die in one process")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="kill no more after this time")
    parser.add_argument("--keep", action="store_true", help="leave the folder for a look")
    arguments = parser.parse_args()
    if arguments.lanes:
        from tests.run.kill_lanes import play_lanes

        return play_lanes(arguments.lanes, arguments.kills, arguments.seed, 60 * arguments.minutes)
    folder = Path(tempfile.mkdtemp(prefix="kills-"))
    pool, start = Pool(folder), time.monotonic()
    try:
        say = partial(print, flush=True)
        game = play(folder, arguments.sink, arguments.kills, arguments.seed, pool, say, 60 * arguments.minutes)
    finally:
        pool.close()
    print(game.summary())
    print(f"{time.monotonic() - start:.0f} s, {pool.started} processes, seed {arguments.seed}")
    if arguments.keep or game.tally.problems:
        print(f"kept in {folder}")
    else:
        shutil.rmtree(folder)
    return 1 if game.tally.problems else 0


if __name__ == "__main__":
    sys.exit(main())
