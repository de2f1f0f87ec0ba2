"""Measures the time of the cases. Each round runs every case once, so a slow minute of the machine affects all cases.
The result is the median over the rounds.
"""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.cases import Case, Setting, Taken
from benchmarks.processes import cpu_seconds


@dataclass(frozen=True)
class Result:
    """The times of one case, with one item for each measured round.

    Attributes:
        case: The case.
        seconds: The elapsed seconds of each round, without the warm-up.
        records: The number of records in a round.
        cpu: The CPU seconds of all processes in each round; empty if they are unknown.
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
    """Runs all cases once as a warm-up, and then ``repeats`` times. Returns the times of each case.

    Args:
        cases: The cases.
        settings: Maps the name of a data set to the input of its cases.
        repeats: The number of measured rounds.
        say: Receives a line after each run of a case.
    """
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
    """Runs a case once, and returns the time. If the case measures the time itself, returns that time."""
    used, start = cpu_seconds(), time.perf_counter()
    own = case.run(setting)
    taken, spent = time.perf_counter() - start, cpu_seconds()
    # the CPU time is smaller than before if a process has ended and its parent has not waited for it
    return own or Taken(taken, None if used is None or spent is None or spent < used else spent - used)


def _result(case: Case, rounds: Sequence[Taken], records: int) -> Result:
    cpu = tuple(taken.cpu for taken in rounds if taken.cpu is not None)
    return Result(case, tuple(taken.seconds for taken in rounds), records, cpu)


def ratios(results: Sequence[Result]) -> dict[str, float | None]:
    """Maps the name of each case to its median time, divided by the median time of its bare case (Spark alone). The
    quotient is None if the bare case did not run.
    """
    medians = {r.case.name: r.median for r in results}
    return {r.case.name: _by(r.median, medians.get(r.case.bare or r.case.name)) for r in results}


def ratios_to_connect(results: Sequence[Result]) -> dict[str, float | None]:
    """Maps the name of each case to its median time, divided by the median time of Kafka Connect's case. The quotient
    is None if there is no such case.
    """
    medians = {r.case.name: r.median for r in results}
    return {r.case.name: _by(r.median, medians.get(r.case.connect)) for r in results}


def micros(results: Sequence[Result]) -> dict[str, float | None]:
    """Maps the name of each case with a single stage to the stage's CPU time per record, in microseconds. All other
    cases are mapped to None.

    The time of the same case without the stage is subtracted, so a stage that costs almost nothing may get a negative
    number. If the CPU time is unknown, the elapsed time is used instead.
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
        # the two cases may have different numbers of records
        costs[r.case.name] = (mine - others * r.records / bare.records) * 1e6 / r.records
    return costs


def _by(seconds: float, bare: float | None) -> float | None:
    return seconds / bare if bare else None


def _shown(ratio: float | None, target: float | None = None) -> str:
    """Returns ``ratio`` as text, with its target if it has one: ``1.20 > 1.00`` if the target was missed, or
    ``0.90 <= 1.00`` if it was met.
    """
    if ratio is None:
        return "-"
    if target is None:
        return format(ratio, ".2f")
    return f"{ratio:.2f} {'<=' if ratio <= target else '>'} {target:.2f}"


def table(results: Sequence[Result]) -> str:
    """Returns the results as a text table with one line per case. A figure with a target shows the target."""
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
