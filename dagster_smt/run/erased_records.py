"""Leaves out the records of erased people before the chain runs, so that no replay restores their rows."""

from collections import Counter

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dagster_smt.model.topics.state import TableState
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.spark.workers import map_in_arrow
from dagster_smt.tables.erasure.matching import PLACE_SCHEMA, Erased, MatchBatches, RecordMatch, SubjectPaths
from dagster_smt.tables.erasure.register import Register, check_register

_PLACE = ("topic", "partition", "offset")


def erased_persons(spec: RunSpec, session: SparkSession, state: TableState | None) -> Erased | None:
    """Returns the erased people whose records a run of ``spec`` leaves out. Returns None if the definition has no
    erasure.

    Raises:
        TableError: SMT755 and SMT756, the run cannot find out which records belong to erased people.
        ConfigError: SMT582, SMT740: a key cannot be read.
    """
    erased = Register(session, spec.erasure).erased() if spec.erasure is not None else None
    check_register(spec.sink.place, state.erased if state is not None else None, spec.erasure, erased)
    return erased


def without_erased(frame: DataFrame, spec: RunSpec, erased: Erased | None) -> tuple[DataFrame, dict[str, int]]:
    """Returns two items: ``frame`` without the records of erased people, and a dict from topic to the number of records
    that were left out.

    If anybody has been erased, the records are read once more to search for these people.
    """
    if not erased or spec.erasure is None:
        return frame, {}
    match = RecordMatch(SubjectPaths(tuple(spec.erasure.records), spec.table.key, spec.table.value), erased)
    records = frame.select(*_PLACE, "key", "value", "headers")
    places = map_in_arrow(records, MatchBatches(match), PLACE_SCHEMA).collect()
    if not places:
        return frame, {}
    gone = F.broadcast(frame.sparkSession.createDataFrame([tuple(place) for place in places], PLACE_SCHEMA))
    # a join on names moves their columns to the front, so select restores the order
    return frame.join(gone, list(_PLACE), "left_anti").select(*frame.columns), dict(
        Counter(row.topic for row in places)
    )
