"""Erases people without a Dagster launch: the implementation of the command ``dagster-smt erase``.

The command runs the same code as the erasure asset, for the tables of a code location. The command prints the record of
the erasure, and can also write the record into a folder.
"""

import getpass
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import dagster as dg

from dagster_smt.errors import ConfigError, Problem, UnsupportedError
from dagster_smt.model.reports.erasure_report import ErasureReport
from dagster_smt.orchestration.definitions.erasure_asset import not_erasable, record_problems
from dagster_smt.orchestration.definitions.loading import assets_in, load_definitions
from dagster_smt.orchestration.definitions.planned_table import PlannedAsset
from dagster_smt.orchestration.pipes.pipes_spark import PipesSpark
from dagster_smt.orchestration.resources import SparkSessionResource, spark_session_of
from dagster_smt.orchestration.runs.erasure_work import ErasureWork, erasure_report
from dagster_smt.orchestration.runs.guard import Progress
from dagster_smt.orchestration.runs.tables_of_ops import tables_of
from dagster_smt.tables.erasure.subjects import SubjectSource
from dagster_smt.tables.sink_options import FileTopicSink, KafkaSink

_OTHER_SESSION = "launch the asset of build_erasure_asset, or name definitions whose resource is a SparkSessionResource"


class ErasableTables:
    """The tables of a code location that have an ``erasure``.

    Attributes:
        place: The module or file of the definitions.
        tables: The tables.
    """

    def __init__(self, place: str, names: Sequence[str] = ()):
        """Loads the definitions of ``place`` and selects their tables with an ``erasure``.

        Args:
            place: As in ``load_definitions``.
            names: Asset keys, written with slashes. If empty, all tables with an ``erasure`` are used.

        Raises:
            ConfigError: SMT654, the definitions cannot be loaded; SMT754, no table has an ``erasure``, or a name is not
                the key of such a table.
        """
        hint = "name a module, or a Python file, with the definitions; run the command where it can be imported"
        self.place = place
        self._objects = load_definitions(place, hint)  # kept, because tables exist only as long as their definitions
        self._spark_keys: set[str] = set()
        self.tables = self._erasable(names)

    def _erasable(self, names: Sequence[str]) -> list[PlannedAsset]:
        tables: dict[str, PlannedAsset] = {}
        for asset in assets_in(self._objects):
            for table in tables_of(asset).values():
                if table.definition.erasure is not None and (not names or table.name in names):
                    tables[table.name] = table
                    self._spark_keys |= asset.op.required_resource_keys
        if missing := [name for name in names if name not in tables]:
            hint = "name the asset key, as in lake/orders, of a table with an erasure"
            statement = "the definitions have no such table with an erasure"
            raise ConfigError(Problem("SMT754", name, statement, hint) for name in missing)
        if not tables:
            hint = "give an SmtTable an erasure: SmtErasure(register_table=…, key_ring=…, records=…, columns=…)"
            raise ConfigError(Problem("SMT754", self.place, "no table of the definitions has an erasure", hint))
        if problems := [problem for table in tables.values() for problem in not_erasable(table)]:
            raise ConfigError(problems)
        return list(tables.values())

    def erase(
        self, source: SubjectSource, *, no_writers: bool = False, records: Path | None = None, log: Progress
    ) -> ErasureReport:
        """Erases the people whose ids are in ``source``, and writes the record of the erasure.

        Args:
            source: The location of the ids.
            no_writers: True if no run is writing.
            records: A folder for the record of the erasure; None to write no file.
            log: Receives lines about the progress, without ids.

        Raises:
            ConfigError, UnsupportedError: SMT754, in two cases. The tables have several Spark sessions, but the erasure
                can use only one. Or their Spark resource is a ``PipesSpark``, which only a run of Dagster can use.
        """
        run = f"command by {getpass.getuser()} {uuid4()}"
        with self._session() as session:
            work = ErasureWork(self.tables, source, run, no_writers, f"erase-{uuid4()}")
            report = erasure_report(work, session, log)
        # the rows have already been erased, and the caller has the report
        for problem in record_problems(report, records):
            log(str(problem))
        return report

    @contextmanager
    def _session(self) -> Iterator[Any]:
        """Yields the Spark session of the definitions, or a local session if the definitions have none."""
        resources = self._resources()
        if not resources:
            yield SparkSessionResource().spark_session
            return
        with dg.build_resources(resources) as built:
            # if there are several keys, they name the same resource
            spark = getattr(built, next(iter(resources)))
            if isinstance(spark, PipesSpark):
                statement = "the definitions start Spark elsewhere, which only a run of Dagster can do"
                raise UnsupportedError(Problem("SMT754", self.place, statement, _OTHER_SESSION))
            yield spark_session_of(spark)

    def _resources(self) -> dict[str, Any]:
        resources: dict[str, Any] = {}
        for one in self._objects:
            if isinstance(one, dg.Definitions):
                for key in self._spark_keys & (one.resources or {}).keys():
                    resources[key] = (one.resources or {})[key]
        # one resource may have several keys, or be in several Definitions objects
        if len(set(map(id, resources.values()))) > 1:
            hint = "name tables of one session with --asset"
            statement = f"the tables have several Spark sessions: {', '.join(sorted(resources))}"
            raise ConfigError(Problem("SMT754", self.place, statement, hint))
        return resources


def places_of(table: PlannedAsset) -> list[str]:
    """Returns the names of the tables and topics that an erasure of ``table`` reads and changes."""
    definition = table.definition
    assert definition.erasure is not None
    places = []
    if isinstance(table.sink, KafkaSink):
        places += [f"topic {topic} of {table.sink.topics.place}" for topic in definition.erasure.topics]
    else:
        kind = "topics below" if isinstance(table.sink, FileTopicSink) else "table"
        places.append(f"{kind} {table.sink.place}")
    if definition.dead_letters is not None or definition.dead_letter_topic:
        letters: Any = definition.dead_letters or table.table.source
        # a table of dead letters has no topic, which would leave two spaces
        places.append(f"dead letters {definition.dead_letter_topic} {letters.place}".replace("  ", " "))
    places.append(f"register {definition.erasure.register_table.place}")
    return places
