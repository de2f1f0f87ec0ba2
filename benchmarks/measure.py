"""Timing: every case once per round, so that a noisy minute hits all of them; medians over the rounds."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.cases import Case, Setting


@dataclass(frozen=True)
class Result:
    """Seconds of one case, one per round.

    Attributes:
        case: The case.
        seconds: Wall time of the rounds that count.
        records: How many records each of them had.
    """

    case: Case
    seconds: tuple[float, ...]
    records: int

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def measure(
    cases: Sequence[Case], settings: Mapping[str, Setting], repeats: int, say: Callable[[str], None]
) -> list[Result]:
    """Run all cases ``repeats`` times, after one round that does not count."""
    seconds: dict[str, list[float]] = {case.name: [] for case in cases}
    for number in range(repeats + 1):
        for case in cases:
            if case.rounds and number > case.rounds:
                continue
            setting = settings[case.data]
            start = time.perf_counter()
            own = case.run(setting)
            taken = own if own is not None else time.perf_counter() - start
            say(f"{'warm-up' if number == 0 else f'round {number}'}: {case.name}: {taken:.2f} s")
            if number:
                seconds[case.name].append(taken)
    return [Result(case, tuple(seconds[case.name]), settings[case.data].records) for case in cases]


def ratios(results: Sequence[Result]) -> dict[str, float | None]:
    """Per case: its median by that of its bare counterpart; None if that one was not run."""
    medians = {r.case.name: r.median for r in results}
    return {r.case.name: _by(r.median, medians.get(r.case.bare or r.case.name)) for r in results}


def ratios_to_connect(results: Sequence[Result]) -> dict[str, float | None]:
    """Per case: its median by that of Kafka Connect on the same path; None without one."""
    medians = {r.case.name: r.median for r in results}
    return {r.case.name: _by(r.median, medians.get(r.case.connect)) for r in results}


def _by(seconds: float, bare: float | None) -> float | None:
    return seconds / bare if bare else None


def _shown(ratio: float | None) -> str:
    return "-" if ratio is None else format(ratio, ".2f")


def table(results: Sequence[Result]) -> str:
    """The results for people."""
    times_bare, times_connect = ratios(results), ratios_to_connect(results)
    compared = any(r.case.connect for r in results)
    width = max(len(r.case.name) for r in results)
    head = f"{'case':<{width}}  {'median s':>8}  {'min':>6}  {'max':>6}  {'k rec/s':>7}  {'x bare':>6}"
    lines = [head + ("  x Connect" if compared else "")]
    for r in results:
        speed = r.records / r.median / 1000
        line = f"{r.case.name:<{width}}  {r.median:8.2f}  {min(r.seconds):6.2f}  {max(r.seconds):6.2f}"
        line += f"  {speed:7.0f}  {_shown(times_bare[r.case.name]):>6}"
        lines.append(line + (f"  {_shown(times_connect[r.case.name]):>9}" if compared else ""))
    return "\n".join(lines)
