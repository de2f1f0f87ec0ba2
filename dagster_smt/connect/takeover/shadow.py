"""Implements shadow runs. A shadow run sends a connector's records through the chain into a scratch table, and compares
the resulting rows with the connector's rows.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dagster_smt.connect.takeover.audit_record import config_hash, now, user
from dagster_smt.connect.takeover.column_comparison import column_differences, scratch_run, scratch_sink
from dagster_smt.connect.takeover.comparison import RowComparison, compared_rows
from dagster_smt.connect.takeover.connector_stop import Say, Settling
from dagster_smt.connect.takeover.connector_table import TakeOverTable
from dagster_smt.connect.takeover.rest import ConnectRest
from dagster_smt.connect.takeover.takeover_parts import CommittedOffsets, TableHead, TakeOverPlan
from dagster_smt.errors import EngineError, Problem, TableError
from dagster_smt.model.reports.markdown import code, plain, table
from dagster_smt.model.secrets import without_login
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.run.batch import run
from dagster_smt.spark.sql import quoted
from dagster_smt.tables.sink_options import SourceColumns
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sinks.delta import DeltaTable
from dagster_smt.tables.sinks.iceberg import IcebergTable
from dagster_smt.version import __version__

JSON_FILE, PAGE = "shadow.json", "shadow.md"
_PAUSE = 0.3
_NAMES = ("connector", "class", "SHA-256 of the configuration without secrets", "table", "chain")
"""The names of the lines on a report page whose values are displayed as code."""


@dataclass(frozen=True)
class ShadowOptions:
    """The options of a shadow run, which compares the rows of a chain with the rows that a connector has written.

    Attributes:
        scratch: The folder or URI for the scratch table.
        wait: The longest time to wait until no data is in flight, in seconds.
        start: The first offset to compare, by ``topic-partition``. The key "" applies to all topic-partitions.
        end: The offset after the last record to compare, by ``topic-partition`` as in ``start``.
        keys: The columns that identify a row. Rows with the same values in these columns are compared.
        by: The person who compares; empty for the user of the process.
    """

    scratch: str
    wait: float = 120
    start: Mapping[str, int] = field(default_factory=dict)
    end: Mapping[str, int] = field(default_factory=dict)
    keys: Sequence[str] = ()
    by: str = ""


@dataclass
class ShadowReport:
    """The report of a shadow run, which compares the rows of a chain with the rows that a connector has written.
    Without a difference, the report is a certificate; otherwise it shows the first differences. The report contains no
    value of an option or a field.

    Attributes:
        connector: The name of the connector.
        connector_class: The class of the connector.
        config_hash: The SHA-256 of the connector's configuration, without the values of secrets.
        cluster: The address of the worker, without a login.
        table: The table.
        snapshot: The version that was compared.
        chain: The hash of the chain.
        version: The version of this package.
        by: The person who ran the comparison.
        at: The time of the comparison.
        window: The offsets, as ``{topic: {partition: [start, end]}}``.
        whole: True if the window contains all records of the table. Rows that only the table contains are then also
            differences.
        records: The number of records in the window.
        dropped: The number of records that the chain drops.
        failed: The number of records that fail in the chain.
        rows: The comparison of rows.
        columns: The differences between columns.
        same: True if there is no difference.
    """

    connector: str
    connector_class: str
    config_hash: str
    cluster: str
    table: str
    snapshot: str
    chain: str
    version: str
    by: str
    at: str
    window: dict[str, Any]
    whole: bool
    records: int = 0
    dropped: int = 0
    failed: int = 0
    rows: dict[str, Any] = field(default_factory=dict)
    columns: list[dict[str, str]] = field(default_factory=list)
    same: bool = False


class Shadow:
    """A shadow run: compares the rows that a connector writes with the rows that the chain writes. The connector may
    continue to run.

    Args:
        session: The Spark session.
        plan: The connector and its component.
        options: The options.
        say: Receives a line about each step.
    """

    def __init__(self, session: SparkSession, plan: TakeOverPlan, options: ShadowOptions, say: Say):
        self.session, self.plan, self.options, self.say = session, plan, options, say
        self.rest = ConnectRest(plan.url, plan.name, options.wait)
        self.table = TakeOverTable(session, plan)
        self.settling = Settling(plan, self.rest, [self.table], options.wait, say)

    def compare(self) -> ShadowReport:
        """Compares the rows of the connector with the rows of the chain, and writes the report next to the component.

        Raises:
            EngineError: SMT783, data was in flight during the whole wait.
            TableError: SMT790, there is no record to compare; or a topic cannot be read, so its rows would be missing.
        """
        offsets, head = self._moment()
        window, whole = self._window(offsets)
        self.say(f"comparing {window.records} records with version {head.snapshot}")
        scratch = scratch_sink(self.table.sink, self.options.scratch)
        ran = run(scratch_run(self.plan.spec, scratch, window), self.session)
        # a topic that could not be read has no rows of ours, and a comparison of a part of the table would not notice
        if ran.failures:
            raise TableError(problem for problems in ran.failures.values() for problem in problems)
        report = self._report(head, window, whole)
        report.records, report.dropped, report.failed = ran.records_in, ran.dropped, ran.failed
        ours, of_connector = open_table(self.session, scratch).read(), self._rows_of_connector(head, offsets)
        differences = column_differences(self.table.sink, of_connector.schema, ours.schema)
        report.columns = [difference.to_json() for difference in differences]
        source = self.table.sink.source_columns or SourceColumns()
        rows = compared_rows(ours, of_connector, source, self.options.keys)
        report.rows = rows.to_json()
        report.same = not differences and not rows.only_ours and not (whole and rows.only_connectors) and not ran.failed
        _write(report, rows, self.plan.folder)
        return report

    def _moment(self) -> tuple[CommittedOffsets, TableHead]:
        """Returns two items that belong together: committed offsets, and a version of the table that contains all
        records before these offsets.
        """
        end = time.monotonic() + self.options.wait
        while time.monotonic() < end:
            heads = self.settling.heads()
            if self.settling.flight(heads).is_empty:
                offsets = self.settling.offsets()
                again = self.settling.heads()
                # The connector runs: it may have committed between any two of these requests. Only if nothing has
                # changed on either side do the offsets and the version belong together.
                if again == heads and self.settling.flight(heads).is_empty and self.settling.offsets() == offsets:
                    return offsets, heads[0]
            time.sleep(_PAUSE)
        statement = f"something is in flight all the time, for {self.options.wait:g} s"
        hint = "run again with a longer --wait, or stop the connector"
        raise EngineError(Problem("SMT783", self.plan.name, statement, hint))

    def _window(self, offsets: CommittedOffsets) -> tuple[Window, bool]:
        measured, _ = self.table.measured()
        ranges, whole = [], True
        for r in measured.ranges:
            committed = min(offsets.offsets.get((r.topic, r.partition), r.start), r.end)
            start = max(r.start, _bound(self.options.start, r, r.start))
            end = min(committed, _bound(self.options.end, r, committed))
            # If the topic has lost its first records, or only some offsets are compared, the chain cannot make all rows
            # of the table: rows that only the table contains are then no difference.
            whole &= start == 0 and end == committed
            if start < end:
                ranges.append(Range(r.topic, r.partition, start, end))
        if not ranges:
            statement = "there is no record to compare: the connector has committed none in these offsets"
            raise TableError(Problem("SMT790", self.plan.name, statement, "choose other offsets, or wait for a commit"))
        return Window(tuple(ranges)), whole

    def _rows_of_connector(self, head: TableHead, offsets: CommittedOffsets) -> DataFrame:
        """Returns the rows that the connector has written: from the version ``head`` of a table, or from the Parquet
        files that begin before ``offsets``.

        Rows that a run of this package wrote are left out. Only such rows have values in the columns for the record's
        topic, partition and offset.
        """
        if self.table.files is not None and self.table.table.schema() is None:
            return self.table.files_before(offsets)
        table = self.table.table
        if isinstance(table, IcebergTable):
            table._properties()
        frame = table.read()
        if isinstance(table, IcebergTable | DeltaTable) and head.snapshot:
            # the connector may have written a newer version since then
            frame = self.session.sql(f"SELECT * FROM {table.name} VERSION AS OF {head.snapshot}")
        source = self.table.sink.source_columns
        if source is not None and source.topic in frame.columns:
            frame = frame.where(F.col(quoted(source.topic)).isNull()).drop(*source.names)
        return frame

    def _report(self, head: TableHead, window: Window, whole: bool) -> ShadowReport:
        connector, spec = self.plan.connector, self.plan.spec
        return ShadowReport(
            connector=connector.name,
            connector_class=connector.class_name,
            config_hash=config_hash(connector),
            cluster=without_login(self.plan.url),
            table=spec.sink.place,
            snapshot=head.snapshot,
            chain=spec.chain.hash,
            version=__version__,
            by=self.options.by or user(),
            at=now(),
            window=window.to_json(),
            whole=whole,
        )


def _bound(bounds: Mapping[str, int], r: Range, otherwise: int) -> int:
    return bounds.get(f"{r.topic}-{r.partition}", bounds.get("", otherwise))


def _write(report: ShadowReport, rows: RowComparison, folder: Path) -> None:
    text = json.dumps(asdict(report), indent=2, ensure_ascii=False) + "\n"
    (folder / JSON_FILE).write_text(text, encoding="utf-8")
    (folder / PAGE).write_text(_page(report, rows), encoding="utf-8")


def facts_of(report: ShadowReport) -> list[tuple[str, str]]:
    """Returns the lines that a page shows about ``report``, as pairs of a name and a text. The lines name the compared
    tables and offsets, and the numbers of rows.
    """
    rows = report.rows
    return [
        ("connector", report.connector),
        ("class", report.connector_class),
        ("SHA-256 of the configuration without secrets", report.config_hash),
        ("table", report.table),
        ("version of the table", report.snapshot),
        ("chain", report.chain),
        ("dagster_smt", report.version),
        ("by", report.by),
        ("at", report.at),
        ("records", str(report.records)),
        ("all records of the table", "yes" if report.whole else "no"),
        ("records that the chain drops", str(report.dropped)),
        ("records that fail in the chain", str(report.failed)),
        ("rows of the chain", str(rows["ours"])),
        ("rows of the connector", str(rows["of_connector"])),
        ("rows of the chain only", str(rows["only_ours"])),
        ("rows of the connector only", str(rows["only_connectors"])),
    ]


def _page(report: ShadowReport, rows: RowComparison) -> str:
    title = "Certificate" if report.same else "Differences"
    lines = [f"# {title}: shadow run of {plain(report.connector)}", ""]
    both = "The chain gives the rows that the connector wrote." if report.same else "The rows differ."
    lines += [both, ""]
    facts = [("what", "value")]
    for name, text in facts_of(report):
        facts.append((name, code(text) if name in _NAMES else plain(text)))
    lines += [table(facts), "", "## Offsets", ""]
    cells = [("topic", "partition", "from", "to")]
    for topic, partitions in report.window.items():
        for partition, (start, end) in partitions.items():
            cells.append((code(topic), str(partition), str(start), str(end)))
    lines += [table(cells), "", "## Columns", ""]
    columns = [("column", "type")]
    for name, kind in rows.columns.items():
        columns.append((code(name), code(kind)))
    lines += [table(columns), ""]
    if report.columns:
        differences = [("column", "difference", "text")]
        for c in report.columns:
            differences.append((code(c["column"]), c["kind"], plain(c["text"])))
        lines += ["## Columns that differ", "", table(differences), ""]
    if rows.first:
        listed = [("record", "rows", "columns that differ from the most similar row")]
        for one in rows.first:
            names = ", ".join(map(code, one.columns)) or "no row is similar"
            listed.append((code(one.place), str(one.rows), names))
        lines += ["## First differences", "", table(listed), ""]
    return "\n".join(lines)
