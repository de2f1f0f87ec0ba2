"""Builds the erasure asset, which erases people by their ids. Each launch records the number of erased rows in each
table, and the result of a search for values that are left.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from dagster_smt.errors import ConfigError, Problem, SmtError, TableError
from dagster_smt.model.reports.erasure_report import ErasureReport
from dagster_smt.orchestration.definitions.op_names import op_name
from dagster_smt.orchestration.definitions.planned_table import PlannedAsset
from dagster_smt.orchestration.metadata.table_values import problem_table, table
from dagster_smt.orchestration.pipes.pipes_spark import PipesSpark
from dagster_smt.orchestration.resources import spark_session_of
from dagster_smt.orchestration.runs.afterwards import UNSEEN
from dagster_smt.orchestration.runs.erasure_work import ErasureWork, erasure_report
from dagster_smt.orchestration.runs.failures import SmtFailure, all_foreseen, problems_as_failure
from dagster_smt.orchestration.runs.tables_of_ops import tables_of
from dagster_smt.tables.erasure.subjects import SubjectSource
from dagster_smt.tables.sink_options import KafkaSink, TableSink
from dagster_smt.tables.topic_table import TableSource
from dagster_smt.visible import visible

NO_RESIDUE = "no_residue"
Events = Iterator[dg.AssetObservation | dg.MaterializeResult[Any]]
_PLACE_COLUMNS = {
    "asset": "string",
    "kind": "string",
    "place": "string",
    "action": "string",
    "rows": "int",
    "files_read": "int",
    "records_read": "int",
    "values_left": "int",
    "result": "string",
}
_CONFIG = {
    "subjects": dg.Field(
        dg.Shape(
            {
                "file": dg.Field(str, is_required=False, description="A text file with an id on each line."),
                "environment": dg.Field(
                    str, is_required=False, description="A variable of the step's environment, an id on each line."
                ),
                "table": dg.Field(
                    dg.Shape(
                        {
                            "name": dg.Field(str, default_value="", description="The name of the table in a catalog."),
                            "path": dg.Field(str, default_value="", description="Or its path."),
                            "format": dg.Field(str, default_value="delta", description="delta, iceberg or parquet."),
                            "column": dg.Field(str, description="The column with the ids."),
                        }
                    ),
                    is_required=False,
                    description="A table with the ids.",
                ),
            }
        ),
        description="Where the ids are. Never write ids here: Dagster keeps and shows the config of each run.",
    ),
    "no_writers": dg.Field(
        bool,
        default_value=False,
        description="True: no run is at work, so files that no version names are removed at once, not after 168 hours.",
    ),
}


def build_erasure_asset(
    assets: Sequence[dg.AssetsDefinition],
    *,
    key: dg.AssetKey | Sequence[str] | str = "erasures",
    records: Path | str | None = None,
    group_name: str | None = None,
    pool: str | None = None,
) -> dg.AssetsDefinition:
    """Builds an asset that erases people from the tables and topics that ``assets`` write, and from their dead letters.
    The topics that ``assets`` read stay as they are.

    Each launch materializes the asset with a record of the erasure. The record lists the actions in each table and
    topic. It also contains the result of the residue scan, which searches all files and topics for values that are
    left. The check ``no_residue`` passes if no value is left. Neither the record nor a log names a person.

    Example:
        .. code-block:: python

            erasures = build_erasure_asset([orders, customers])

        .. code-block:: yaml

            ops:
              erasures:
                config:
                  subjects: {file: /run/secrets/erase.txt}

    Args:
        assets: Assets that ``build_smt_asset`` or ``build_smt_assets`` returned. Each of their tables must have an
            ``erasure``.
        key: The key of the asset.
        records: A folder into which each launch writes its record of the erasure, as JSON and as Markdown. If None, the
            record is only in Dagster's metadata.
        group_name: As in ``dg.AssetSpec``.
        pool: The Dagster pool of the step. If it is the pool of a table, runs of the table wait for the erasure.

    Raises:
        ConfigError: SMT754, in three cases. A table has no erasure. An asset does not come from this package. Or the
            assets have several Spark sessions, but the erasure can use only one.
    """
    tables = _tables(assets)
    asset_key = dg.AssetKey.from_coercible(key)
    name = op_name(asset_key)
    spark_key = _spark_key(assets, name)
    described = ", ".join(table.name for table in tables)

    @dg.multi_asset(
        name=name,
        specs=[
            dg.AssetSpec(
                asset_key,
                deps=[table.key for table in tables],
                group_name=group_name,
                description=f"Records of the people erased from {described}.",
            )
        ],
        check_specs=[
            dg.AssetCheckSpec(
                NO_RESIDUE, asset=asset_key, description="No value of an erased person is left in a file."
            )
        ],
        config_schema=_CONFIG,
        required_resource_keys={spark_key},
        pool=pool,
    )
    def erasures(context: dg.AssetExecutionContext) -> Events:
        with problems_as_failure():
            yield from _erased(context, tables, getattr(context.resources, spark_key), asset_key, records)

    return erasures


def _tables(assets: Sequence[dg.AssetsDefinition]) -> list[PlannedAsset]:
    tables: list[PlannedAsset] = []
    problems = []
    for asset in assets:
        planned = list(tables_of(asset).values())
        tables += planned
        if not planned:
            place = ", ".join(key.to_user_string() for key in asset.keys)
            hint = "name assets of build_smt_asset or build_smt_assets"
            problems.append(Problem("SMT754", place, "the asset is not of this package", hint))
    for one in tables:
        problems += not_erasable(one)
    if problems or not tables:
        raise ConfigError(problems or [Problem("SMT754", "assets", "no asset is given", "name the assets")])
    return tables


def _spark_key(assets: Sequence[dg.AssetsDefinition], name: str) -> str:
    """Returns the resource key of the Spark session that all ``assets`` use. ``name`` is the name of the erasure."""
    spark_keys: set[str] = set()
    for asset in assets:
        spark_keys |= asset.op.required_resource_keys
    if len(spark_keys) > 1:
        statement = f"the tables have several Spark sessions: {', '.join(sorted(spark_keys))}"
        hint = "build an erasure asset for the tables of each session"
        raise ConfigError(Problem("SMT754", name, statement, hint))
    return spark_keys.pop()


def not_erasable(table: PlannedAsset) -> Iterator[Problem]:
    """Yields a problem for each reason why people cannot be erased from ``table``. For example, the table does not
    declare the columns that name a person.
    """
    erasure, sink = table.definition.erasure, table.sink
    if erasure is None:
        hint = "give its SmtTable an erasure: SmtErasure(register_table=…, key_ring=…, records=…, columns=…)"
        yield Problem("SMT754", table.name, "the table does not say how its rows name a person", hint)
        return
    if isinstance(sink, TableSink) and sink.kind == "columns" and not erasure.columns:
        hint = "name the columns that hold the id in columns of SmtErasure"
        yield Problem("SMT754", f"{table.name} columns", "is empty: no row of the table would be erased", hint)
    if isinstance(sink, KafkaSink) and not erasure.topics:
        hint = "name the topics that the chain writes in topics of SmtErasure"
        yield Problem("SMT754", f"{table.name} topics", "is empty: no record of the cluster would be erased", hint)


def subject_source(config: Mapping[str, Any]) -> SubjectSource:
    """Returns the source of people's ids that ``config``, a run config, names.

    Raises:
        ConfigError: SMT757, the run config names no location, or several.
    """
    of_table = config.get("table")
    if of_table is None:
        return SubjectSource(config.get("file", ""), config.get("environment", ""))
    source = TableSource(of_table["name"], of_table["path"], of_table["format"])
    return SubjectSource(config.get("file", ""), config.get("environment", ""), source, of_table["column"])


def _erased(
    context: dg.AssetExecutionContext,
    tables: Sequence[PlannedAsset],
    spark: Any,
    key: dg.AssetKey,
    records: Path | str | None,
) -> Events:
    config = context.op_execution_context.op_config
    source = subject_source(config["subjects"])
    run = f"{context.run.run_id}-{context.op_execution_context.op_handle}"
    work = ErasureWork(tables, source, run, bool(config["no_writers"]), f"dagster-{run}")
    if isinstance(spark, PipesSpark):
        report = spark.erasure_report(work, context.op_execution_context)
    else:
        session = spark_session_of(spark)
        report = erasure_report(work, session, lambda line: context.log.info(visible(line)))
    # the record is written even if the erasure has failed in part
    metadata = erasure_metadata(report) | _written(report, records, context)
    if report.problems:
        raise _failure(report, metadata)
    for observed in tables:
        of_table = [place for place in report.places if place.asset == observed.name]
        rows = sum(place.rows for place in of_table)
        counts: dict[str, Any] = {"dagster_smt/erasure": report.erasure, "dagster_smt/rows_erased": rows}
        yield dg.AssetObservation(observed.key, metadata=counts)
    yield dg.MaterializeResult(key, metadata=metadata, check_results=[_check(report, key)])


def _written(
    report: ErasureReport, records: Path | str | None, context: dg.AssetExecutionContext
) -> dict[str, dg.TableMetadataValue]:
    """Writes the record of an erasure into the folder ``records``. The step does not fail if the record cannot be
    written, because the rows have already been erased.

    Returns:
        Metadata with a table of the problems that prevented the writing; empty if the record was written. The asset's
        metadata contains the whole record in any case.
    """
    problems = record_problems(report, records)
    for problem in problems:
        context.log.warning(str(problem))
    return {UNSEEN: problem_table(problems)} if problems else {}


def record_problems(report: ErasureReport, records: Path | str | None) -> tuple[Problem, ...]:
    """Writes the record of an erasure into the folder ``records``. Returns the problems with writing it.

    If ``records`` is None, writes nothing and returns no problem.
    """
    from dagster_smt.run.spark_failures import coded_failures  # loads PySpark

    if records is None:
        return ()
    try:
        with coded_failures(str(records)):
            write_record(report, Path(records))
    except SmtError as error:
        return error.problems
    return ()


def write_record(report: ErasureReport, folder: Path) -> None:
    """Writes ``report``, the record of an erasure, into ``folder``, as JSON and as Markdown."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{report.erasure}.json").write_text(report.to_json(), encoding="utf-8")
    (folder / f"{report.erasure}.md").write_text(report.to_markdown(), encoding="utf-8")


def erasure_metadata(report: ErasureReport) -> dict[str, Any]:
    """Returns Dagster metadata for ``report``: counts and locations, but nothing that names a person."""
    rows = []
    for place in report.places:
        rows.append(
            {
                "asset": place.asset,
                "kind": place.kind,
                "place": place.place,
                "action": place.action,
                "rows": place.rows,
                "files_read": place.scan.files if place.scan is not None else 0,
                "records_read": place.scan.records if place.scan is not None else 0,
                "values_left": sum(one.count for one in place.residue),
                "result": place.verdict,
            }
        )
    metadata = {
        "dagster_smt/report": dg.MetadataValue.md(report.to_markdown()),
        "dagster_smt/erasure": report.erasure,
        "dagster_smt/persons": report.persons,
        "dagster_smt/new_persons": report.new,
        "dagster_smt/rows_erased": report.rows,
        "dagster_smt/values_left": report.residue,
        "dagster_smt/proven": report.proven,
        "dagster_smt/places": table(rows, _PLACE_COLUMNS),
        "dagster_smt/record": dg.MetadataValue.json(report.to_data()),
    }
    if report.problems:
        metadata["dagster_smt/problems"] = problem_table(report.problems)
    return metadata


def _failure(report: ErasureReport, metadata: Mapping[str, Any]) -> dg.Failure:
    """Returns the failure of an erasure step, with ``metadata``. A failed step yields no other event, so the failure
    must carry this metadata about the erasure.
    """
    failure = SmtFailure(description=str(TableError(report.problems)), metadata=metadata)
    failure.foreseen = all_foreseen(report.problems)
    return failure


def _check(report: ErasureReport, key: dg.AssetKey) -> dg.AssetCheckResult:
    not_proven = [place for place in report.places if not place.proven]
    only_waits = all(place.verdict == "waits for retention" or place.waits for place in not_proven)
    statement = "; ".join(f"{place.place}: {place.verdict}" for place in not_proven[:5]) or "no value is left"
    severity = dg.AssetCheckSeverity.WARN if only_waits else dg.AssetCheckSeverity.ERROR
    return dg.AssetCheckResult(
        passed=report.proven,
        asset_key=key,
        check_name=NO_RESIDUE,
        severity=severity,
        description=statement,
        metadata={"dagster_smt/values_left": report.residue},
    )
