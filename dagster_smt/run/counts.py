"""What happened to the records of a window, summed while they are written: no second pass."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column
from pyspark.sql import functions as F

from dagster_smt.chain import Chain
from dagster_smt.errors import Problem
from dagster_smt.model.report import LedgerEntry, LedgerLine, StageCounts
from dagster_smt.spark.columns import BITS

DROPPED, FAILED = 1, 2
CONVERTERS = {-2: "key.converter", -3: "value.converter"}
_SILENT = {"masked": "masked", "dropped": "dropped", "renamed": "renamed"}


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of one window.

    Attributes:
        records: Records read.
        converters_failed: Records that a converter refused.
        stages: Counts per stage.
        ledger: Counts per ledger entry.
    """

    records: int
    converters_failed: int = 0
    stages: list[StageCounts] = field(default_factory=list)
    ledger: list[LedgerLine] = field(default_factory=list)

    @property
    def dropped(self) -> int:
        return sum(s.dropped for s in self.stages)

    @property
    def failed(self) -> int:
        return self.converters_failed + sum(s.failed for s in self.stages)

    @property
    def kept(self) -> int:
        return self.records - self.dropped - self.failed


def observed_columns(chain: Chain, entries: Sequence[LedgerEntry]) -> list[Column]:
    """The aggregates to observe on an evaluator's result, before anything is filtered."""
    status, stage = F.col("__status"), F.col("__stage")
    columns = [
        F.count(F.lit(1)).alias("records"),
        F.count_if((status == FAILED) & stage.isin(*CONVERTERS)).alias("converters"),
    ]
    for index in range(len(chain.stages)):
        columns.append(F.count_if((status == DROPPED) & (stage == index)).alias(f"dropped{index}"))
        columns.append(F.count_if((status == FAILED) & (stage == index)).alias(f"failed{index}"))
    for number in range(len(entries)):
        word = F.get("__touched", F.lit(number // BITS))
        columns.append(F.count_if(word.bitwiseAND(F.lit(1 << number % BITS)) != 0).alias(f"touched{number}"))
    return columns


def decode_counts(observed: dict[str, int], chain: Chain, entries: Sequence[LedgerEntry]) -> Counts:
    """Read the sums of ``observed_columns``."""
    converters = observed["converters"]
    reached = observed["records"] - converters
    stages = []
    for index, stage in enumerate(chain.stages):
        dropped, failed = observed[f"dropped{index}"], observed[f"failed{index}"]
        stages.append(StageCounts(stage.alias, stage.label, reached, dropped, failed))
        reached -= dropped + failed
    ledger = [LedgerLine(entry, observed[f"touched{number}"]) for number, entry in enumerate(entries)]
    return Counts(observed["records"], converters, stages, ledger)


def silent_entries(counts: Counts, chain: Chain) -> list[Problem]:
    """Warnings for masks, drops and renames that touched nothing although records reached their stage."""
    problems = []
    for line in counts.ledger:
        reached = counts.stages[line.entry.stage].records_in
        if line.records or not reached or line.entry.action not in _SILENT:
            continue
        what = f"'{line.entry.path}' was {_SILENT[line.entry.action]} in none of {reached} records"
        hint = "check the spelling of the field, and the stage's predicate"
        problems.append(Problem("SMT350", chain.stages[line.entry.stage].place, what, hint))
    return problems
