"""Formats the parity report for a terminal: one row for each transform and mode, then the differences."""

from dagster_smt.tools.parity.judge import REASONS
from dagster_smt.tools.parity.runner import DELIBERATE, DIFFERENT, EQUAL, UNSUPPORTED, ParityReport

COLUMNS = ("cases", EQUAL, DELIBERATE, DIFFERENT, UNSUPPORTED)


def matrix(report: ParityReport) -> list[tuple[str, str, tuple[int, ...]]]:
    """Returns the rows of the report as triples of transform, mode and counts, such as
    ``("Cast", "schema", (9, 9, 0, 0, 0))``. ``COLUMNS`` names the counts.
    """
    results = []
    for name, modes in report.by_transform().items():
        for mode, counts in sorted(modes.items()):
            results.append((name, mode, tuple(counts.get(c, 0) for c in COLUMNS)))
    return results


def report_table(report: ParityReport) -> str:
    """Returns ``report`` as text for a terminal."""
    lines = [f"{'transform':22}{'mode':12}" + "".join(f"{c:>13}" for c in COLUMNS)]
    for name, mode, counts in matrix(report):
        lines.append(f"{name:22}{mode:12}" + "".join(f"{c:13}" for c in counts))
    totals = [len(report.verdicts), *map(report.count, COLUMNS[1:])]
    lines.append(f"{'all cases':34}" + "".join(f"{c:13}" for c in totals))
    decisions = sorted({v.decision for v in report.verdicts if v.decision})
    for decision in decisions:
        cases = sum(v.decision == decision for v in report.verdicts)
        lines.append(f"{decision}: {REASONS[decision]} ({cases} cases)")
    for verdict in report.verdicts:
        if verdict.verdict == DIFFERENT:
            lines.append(f"different {verdict.id}: {verdict.reason}")
    return "\n".join(lines)
