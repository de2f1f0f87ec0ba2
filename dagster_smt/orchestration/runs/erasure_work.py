"""Does the Spark work of an erasure: reads the ids from their location, erases, and returns a record of the erasure.

The request for this work may come from another process.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from dagster_smt.model.reports.erasure_report import ErasureReport
from dagster_smt.orchestration.definitions.planned_table import PlannedAsset
from dagster_smt.orchestration.runs.guard import Progress, run_cancellable
from dagster_smt.tables.erasure.subjects import SubjectSource


@dataclass(frozen=True)
class ErasureWork:
    """The work of an erasure.

    Attributes:
        tables: The tables, each of which has an ``erasure``.
        subjects: The location of the ids. The process that erases reads the ids from this location.
        run: The name of the run in the record.
        no_writers: True if no run is writing.
        tag: The tag of the Spark jobs, which no other run has.
    """

    tables: Sequence[PlannedAsset]
    subjects: SubjectSource
    run: str
    no_writers: bool
    tag: str

    @property
    def table(self) -> PlannedAsset:
        """The first table. Messages identify the work by the name of this table."""
        return self.tables[0]


def erasure_report(work: ErasureWork, session: Any, log: Progress) -> ErasureReport:
    """Erases people from tables, dead letters and topics, with the session of this process.

    A signal during the work cancels the Spark jobs.

    Args:
        work: The work.
        session: The Spark session.
        log: Logs a line, without ids.
    """
    report: ErasureReport = run_cancellable(session, work.tag, partial(_erase, work, session), log=log)
    return report


def _erase(work: ErasureWork, session: Any, say: Any) -> ErasureReport:
    """Does the work of an erasure, in the thread that ``run_cancellable`` starts. ``say`` is a function that logs a
    line. If the work has been cancelled, ``say`` raises an error, so that the work stops.
    """
    from dagster_smt.run.erasure import ErasureTarget, erase  # loads PySpark

    targets = []
    for one in work.tables:
        definition = one.definition
        assert definition.erasure is not None
        letters = definition.dead_letters, definition.dead_letter_topic
        targets.append(ErasureTarget(one.name, one.table, one.sink, definition.erasure, *letters))
    ids = work.subjects.ids(session)
    return erase(targets, ids, session, run=work.run, no_writers=work.no_writers, say=say)
