"""Timing: every case once per round, so that a noisy minute hits all of them; medians over the rounds."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.cases import Case, Setting, Taken
from benchmarks.processes import cpu_seconds


@dataclass(frozen=True)
class Result:
    """Seconds of one case, one per round.

    Attributes:
        case: The case.
        seconds: Wall time of the rounds that count.
        records: How many records each of them had.
        cpu: CPU time of all processes in those rounds; empty where nothing tells it.
    """

    case: Case
    seconds: tuple[float, ...]
    records: int
    cpu: tuple[float, ...] = ()

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def cpu_median(self) -> float | None:
        return statistics.median(self.cpu) if self.cpu else None


def measure(
    cases: Sequence[Case], settings: Mapping[str, Setting], repeats: int, say: Callable[[str], None]
) -> list[Result]:
    """Run all cases ``repeats`` times, after one round that does not count."""
    rounds: dict[str, list[Taken]] = {case.name: [] for case in cases}
    for number in range(repeats + 1):
        for case in cases:
            if case.rounds and number > case.rounds:
                continue
            setting = settings[case.data]
            taken = _timed(case, setting)
            say(f"{'warm-up' if number == 0 else f'round {number}'}: {case.name}: {taken.seconds:.2f} s")
            if number:
                rounds[case.name].append(taken)
    return [_result(case, rounds[case.name], settings[case.data].records) for case in cases]


def _timed(case: Case, setting: Setting) -> Taken:
    """One round: what it says itself, else what the clocks say."""
    used, start = cpu_seconds(), time.perf_counter()
    own = case.run(setting)
    taken, spent = time.perf_counter() - start, cpu_seconds()
    # processes that end may take theirs along
    return own or Taken(taken, None if used is None or spent is None or spent < used else spent - used)


def _result(case: Case, rounds: Sequence[Taken], records: int) -> Result:
    cpu = tuple(taken.cpu for taken in rounds if taken.cpu is not None)
    return Result(case, tuple(taken.seconds for taken in rounds), records, cpu)


def ratios(results: Sequence[Result]) -> dict[str, float | None]:
    """Per case: its median by that of its bare counterpart; None if that one was not run."""
    medians = {r.case.name: r.median for r in results}
    return {r.case.name: _by(r.median, medians.get(r.case.bare or r.case.name)) for r in results}


def ratios_to_connect(results: Sequence[Result]) -> dict[str, float | None]:
    """Per case: its median by that of Kafka Connect on the same path; None without one."""
    medians = {r.case.name: r.median for r in results}
    return {r.case.name: _by(r.median, medians.get(r.case.connect)) for r in results}


def micros(results: Sequence[Result]) -> dict[str, float | None]:
    """Per case of one stage: its microseconds of CPU time for each record; wall time where no clock tells CPU time.

    They are those beyond the case without a stage; a stage that costs next to nothing may come out below zero.
    """
    by_name = {r.case.name: r for r in results}
    costs: dict[str, float | None] = {}
    for r in results:
        bare = by_name.get(r.case.bare)
        if not r.case.alone or bare is None:
            costs[r.case.name] = None
            continue
        mine, others = r.cpu_median, bare.cpu_median
        if mine is None or others is None:
            mine, others = r.median, bare.median
        costs[r.case.name] = (mine - others * r.records / bare.records) * 1e6 / r.records
    return costs


def _by(seconds: float, bare: float | None) -> float | None:
    return seconds / bare if bare else None


def _shown(ratio: float | None, target: float | None = None) -> str:
    """A figure, with its target: ``1.20 > 1.00`` missed it, ``0.90 <= 1.00`` did not."""
    if ratio is None:
        return "-"
    if target is None:
        return format(ratio, ".2f")
    return f"{ratio:.2f} {'<=' if ratio <= target else '>'} {target:.2f}"


def table(results: Sequence[Result]) -> str:
    """The results for people, each with its target if it has one."""
    times_bare, times_connect = ratios(results), ratios_to_connect(results)
    head = ["case", "median s", "min", "max", "CPU s", "k rec/s", "x bare"]
    compared = any(r.case.connect for r in results)
    costs = micros(results)
    alone = any(r.case.alone for r in results)
    rows = [head + (["x Connect"] if compared else []) + (["us/rec"] if alone else [])]
    for r in results:
        to_bare = _shown(times_bare[r.case.name], r.case.target.bare)
        row = [r.case.name, _shown(r.median, r.case.target.seconds), _shown(min(r.seconds)), _shown(max(r.seconds))]
        row += [_shown(r.cpu_median), f"{r.records / r.median / 1000:.0f}", to_bare]
        row += [_shown(times_connect[r.case.name], r.case.target.connect)] if compared else []
        rows.append(row + ([_shown(costs[r.case.name], r.case.target.micros)] if alone else []))
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    return "\n".join("  ".join(_cells(row, widths)) for row in rows)


def _cells(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    name, *figures = row
    return [name.ljust(widths[0]), *(text.rjust(width) for text, width in zip(figures, widths[1:], strict=True))]
