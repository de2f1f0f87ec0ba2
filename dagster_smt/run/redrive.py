"""Failed records once more: which offsets the dead letters of a table name, and the window that reads just these."""

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dagster_smt.errors import ConfigError, Problem, UnsupportedError
from dagster_smt.model.offsets import OffsetSet, offsets_of
from dagster_smt.model.table_state import TableState
from dagster_smt.model.window import Range, Window
from dagster_smt.run.dead_letters import CONNECTOR_HEADER, IDENTITY_HEADER, SOURCE_HEADERS
from dagster_smt.run.rejects import COORDINATES
from dagster_smt.run.spec import RunSpec
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sinks.append_once import last_header
from dagster_smt.tables.sinks.protocol import Table
from dagster_smt.tables.sources import open_source
from dagster_smt.tables.spec import TableSink
from dagster_smt.tables.windows import Available


def redriven(
    spec: RunSpec, session: SparkSession, table: Table, available: Available, state: TableState | None
) -> tuple[RunSpec, list[Problem]]:
    """The run with the failed records as its window: those that have letters and no row.

    Records are read from their topics again. A letter of a topic that was made anew since is of no use, and one that
    no commit has taken in stands for a record that the next usual run reads.

    Returns:
        The run, still the same request; and what cannot be run again, for the topic has lost it (SMT519).

    Raises:
        ConfigError: SMT513, the window is fixed already; SMT531, the table has no dead letters.
        UnsupportedError: SMT575, the sink cannot tell which records it has.
    """
    _check(spec)
    found = OffsetSet()
    if state is not None:
        letters = _letters(spec, session)
        found = _offsets(_without_rows(spec, table, letters), available.identities) & state.held
    there = offsets_of(available.ranges)
    window = Window(tuple((found & there).ranges()))
    # offsets before the window that the table has not read are no gap: the next usual run reads them
    request = replace(spec.window, explicit=window, accept_gap=False)
    return replace(spec, window=request, asked=spec.request), list(map(_lost, (found - there).ranges()))


def _check(spec: RunSpec) -> None:
    if spec.window.fixed or spec.rebuild or spec.window.max_records is not None:
        hint = "leave the range, max_records, micro_batch and rebuild out"
        raise ConfigError(Problem("SMT513", "window.redrive", "the failed records are a window of their own", hint))
    if not isinstance(spec.dead_letters, TableSink) and not spec.dead_letter_topic:
        raise ConfigError(Problem("SMT531", spec.name, "there are no dead letters to run again", "name their topic"))
    if not spec.sink.replaceable or spec.sink.coordinates is None:
        hint = "redrive into a table with source_columns, or publish the records of the letters to their topic again"
        statement = "the sink does not tell which records it has, so failed ones cannot be run again"
        raise UnsupportedError(Problem("SMT575", spec.sink.place, statement, hint))


def _letters(spec: RunSpec, session: SparkSession) -> DataFrame:
    """Topic, partition and offset of the records that have letters, and the identity of the topic then."""
    place = spec.dead_letters or spec.table.source
    if isinstance(place, TableSink):
        table = open_table(session, place)
        if table.schema() is None:
            return session.createDataFrame([], "topic STRING, partition INT, offset BIGINT, identity STRING")
        rows = table.read().where(F.col("connector") == spec.name)
        return rows.select(*(F.col(f"source_{c}").alias(c) for c in COORDINATES), F.col("topic_id").alias("identity"))
    source = open_source(place, session)
    topics = [spec.dead_letter_topic] if spec.dead_letter_topic in source.topics() else []
    rows = source.read(Window(tuple(r for r in source.ranges(topics) if r.records)))
    rows = rows.where(last_header(CONNECTOR_HEADER) == spec.name)
    columns = dict(zip(COORDINATES, map(last_header, SOURCE_HEADERS), strict=True))
    return rows.select(
        columns["topic"].alias("topic"),
        columns["partition"].cast("int").alias("partition"),
        columns["offset"].cast("bigint").alias("offset"),
        last_header(IDENTITY_HEADER).alias("identity"),
    )


def _without_rows(spec: RunSpec, table: Table, letters: DataFrame) -> DataFrame:
    """The letters of records that have not come into the table since."""
    coordinates = spec.sink.coordinates
    assert coordinates is not None
    if table.schema() is None:
        return letters
    names = zip(COORDINATES, coordinates.names, strict=True)
    there = table.read().select(*(F.col(f"`{column}`").alias(c) for c, column in names))
    return letters.join(there, list(COORDINATES), "left_anti")


def _offsets(letters: DataFrame, identities: Mapping[str, str]) -> OffsetSet:
    """The offsets that letters name, of the topics of this run that are still the same."""
    rows = letters.where(F.col("topic").isin(*identities)).distinct().collect() if identities else []
    kept = (r for r in rows if not r["identity"] or identities[r["topic"]] in ("", r["identity"]))
    return offsets_of(Range(r["topic"], r["partition"], r["offset"], r["offset"] + 1) for r in kept)


def _lost(lost: Range) -> Problem:
    statement = f"failed records from offset {lost.start} to {lost.end} are no longer in the topic"
    hint = "their letters hold them: publish those to the topic again"
    return Problem("SMT519", f"{lost.topic}-{lost.partition}", statement, hint)
