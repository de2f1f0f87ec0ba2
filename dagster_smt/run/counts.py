"""Counts the records of a window by topic and result, in one aggregation of the evaluator's result."""

from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql import Column, Row
from pyspark.sql import functions as F

from dagster_smt.chain import Chain
from dagster_smt.chain.problems import syntax_hint
from dagster_smt.errors import Problem
from dagster_smt.jvm.availability import CATALOG
from dagster_smt.model.reports.run_report import (
    OF_ARRAYS,
    LedgerEntry,
    LedgerLine,
    RunReport,
    StageCounts,
    TopicCounts,
    add_up,
    ledger_lines,
    silent_lines,
    stage_counts,
)
from dagster_smt.spark.outcome_columns import BITS
from dagster_smt.spark.reading.arrays import ELEMENT

DROPPED, FAILED = 1, 2
_COUNTS = "counts"
CONVERTERS = {-2: "key.converter", -3: "value.converter"}


def count_columns(
    chain: Chain, entries: Sequence[LedgerEntry], *, arrays: bool = False, lane: bool = False
) -> list[Column]:
    """Returns the aggregates that count all rows of an evaluated window. ``read_counts`` reads the values of these
    aggregates.

    Args:
        chain: The chain.
        entries: The ledger entries of the chain.
        arrays: True if a record may have several rows.
        lane: True to count with a single aggregate in Java (the JVM lane), which is faster. Spark cannot observe this
            aggregate (``DataFrame.observe``), and sorts the rows for it if a task has more than about 100 groups.
    """
    records = _of_arrays() if arrays else [F.expr("count(1) AS records")]
    if lane:
        return [*records, F.expr(f"{CATALOG}.record_counts(__status, __stage, __touched) AS {_COUNTS}")]
    counted = {"empty": f"__status = {DROPPED} AND __stage IN ({', '.join(map(str, CONVERTERS))})"}
    counted |= {"converters": f"__status = {FAILED} AND __stage IN ({', '.join(map(str, CONVERTERS))})"}
    for index in range(len(chain.stages)):
        counted[f"dropped{index}"] = f"__status = {DROPPED} AND __stage = {index}"
        counted[f"failed{index}"] = f"__status = {FAILED} AND __stage = {index}"
    for number in range(len(entries)):
        # with 62 bits in each element of __touched, the entry 64 is the bit 2 of the element 1
        counted[f"touched{number}"] = f"get(__touched, {number // BITS}) & {1 << number % BITS} != 0"
    # These are SQL strings, because each of Column's methods makes several calls into the JVM. With count_if, Spark
    # would first create a column for each condition.
    columns = []
    for name, condition in counted.items():
        columns.append(F.expr(f"count(CASE WHEN {condition} THEN 1 END) AS {name}"))
    return [*records, *columns]


def _of_arrays() -> list[Column]:
    """Returns the aggregates that count records if each element of an array is a row.

    For one record with the value ``[1, 2, 3]``, ``records`` is 1 and ``further`` is 2: the first row counts as the
    record. ``refused`` is the number of failed records. If Spark reads a record twice, ``records`` counts it twice, so
    that the run detects the error.
    """
    further = F.coalesce(F.col(ELEMENT) > 0, F.lit(False))
    failed, record = F.col("__status") == FAILED, F.struct("__partition", "__offset")
    return [
        F.count_if(~further).alias("records"),
        F.count_if(further).alias("further"),
        F.count_distinct(F.when(failed, record)).alias("refused"),
    ]


def read_counts(row: Row | dict[str, int], stages: int, entries: int) -> TopicCounts:
    """Converts ``row``, which contains the values of the aggregates from ``count_columns``, into the counts of a topic.
    The chain has ``stages`` stages and ``entries`` ledger entries.
    """
    sums: dict[str, Any] = row.asDict() if isinstance(row, Row) else row
    if _COUNTS in sums:
        sums = _by_name(sums[_COUNTS], stages, entries) | sums
    of_arrays: dict[str, Any] = {}
    for name in OF_ARRAYS:
        if name in sums:
            of_arrays[name] = sums[name]
    dropped = []
    for n in range(stages):
        dropped.append(sums[f"dropped{n}"])
    failed = []
    for n in range(stages):
        failed.append(sums[f"failed{n}"])
    touched = []
    for n in range(entries):
        touched.append(sums[f"touched{n}"])
    return TopicCounts(
        sums["records"],
        sums["converters"],
        tuple(dropped),
        tuple(failed),
        tuple(touched),
        **of_arrays,
    )


def _by_name(counts: Row, stages: int, entries: int) -> dict[str, int]:
    """Splits ``counts``, which holds lists of numbers, into single numbers with names.

    For a chain of two stages, ``dropped: [5]`` becomes ``{"dropped0": 5, "dropped1": 0}``. The lists come from the JVM
    lane, the faster path in Java. The result has the names that ``count_columns`` uses without the lane.
    """
    sums = {"empty": counts["empty"], "converters": counts["converters"]}
    for name, size in {"dropped": stages, "failed": stages, "touched": entries}.items():
        numbers = counts[name]
        for number in range(size):
            # the lane leaves out the zeros at the end of a list
            sums[f"{name}{number}"] = numbers[number] if number < len(numbers) else 0
    return sums


def stage_names(chain: Chain) -> list[tuple[str, str]]:
    """Returns the alias and the transform name of each stage in ``chain``."""
    return [(stage.alias, stage.label) for stage in chain.stages]


def add_totals(
    report: RunReport, chain: Chain, entries: Sequence[LedgerEntry], warnings: Sequence[Problem]
) -> RunReport:
    """Returns ``report`` with the sums over all topics, and with ``warnings`` added."""
    counts = add_up(report.topics.values())
    report.records_in, report.records_out = counts.records, counts.rows_out
    report.dropped, report.failed = counts.all_dropped, counts.all_failed
    report.stages = stage_counts(stage_names(chain), counts)
    report.ledger = ledger_lines(entries, counts)
    silent = silent_entries(report.ledger, report.stages, chain)
    report.warnings = list(dict.fromkeys([*warnings, *silent]))
    return report


def silent_entries(ledger: Sequence[LedgerLine], stages: Sequence[StageCounts], chain: Chain) -> list[Problem]:
    """Returns warnings about stages without effect. There is a warning for each mask, drop or rename in ``ledger`` that
    touched no record, although records reached its stage. There is also one for each Java class from a jar that neither
    changed nor dropped a record, although records reached it.
    """
    problems = []
    for line in silent_lines(ledger, stages):
        entry, stage = line.entry, chain.stages[line.entry.stage]
        what = f"'{entry.path}' was {entry.action} in none of {stages[entry.stage].seen} records"
        hint = syntax_hint(stage.transform, entry.path) or "check the spelling of the field, and the stage's predicate"
        problems.append(Problem("SMT350", stage.place, what, hint))
    return [*problems, *_silent_foreign(ledger, stages, chain)]


def _silent_foreign(ledger: Sequence[LedgerLine], stages: Sequence[StageCounts], chain: Chain) -> Iterator[Problem]:
    """Yields a warning for each foreign transform of ``chain`` (a Java class from a jar) without an effect. Records
    reached the transform, but the transform neither changed nor dropped any of them.
    """
    for line in ledger:
        stage, counts = chain.stages[line.entry.stage], stages[line.entry.stage]
        if not stage.transform.foreign or line.entry.from_records:
            continue
        if counts.seen and not line.records and not counts.dropped:
            what = f"the class changed none of {counts.seen} records"
            yield Problem("SMT356", stage.place, what, "check its options, and the stage's predicate")
