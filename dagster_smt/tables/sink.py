"""Parquet sinks: the committed table, data files, schemas. The commit protocol is in ``commit_log``."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from dagster_smt.errors import Problem, TableError
from dagster_smt.tables import local
from dagster_smt.tables.commit_log import Commit, CommitLog, DataFile, live
from dagster_smt.tables.spec import ParquetSink


def open_log(root: Path) -> CommitLog:
    """The commit log of a sink.

    Raises:
        UnsupportedError: SMT951, the root is a URI.
    """
    return CommitLog(local.local_folder(root))


def committed_files(root: Path) -> list[Path]:
    """The data files of the table as committed, in the order of the commits."""
    log = open_log(root)
    return [log.root / f.path for c in live(log.commits()) for f in c.files]


def read_table(session: SparkSession, root: Path) -> DataFrame:
    """Read what is committed. Columns that older windows lack are null there.

    Raises:
        TableError: SMT522 a data file is missing, SMT524 nothing is committed.
    """
    log = open_log(root)
    commits = live(log.commits())
    if not commits:
        raise TableError(Problem("SMT524", str(root), "no window is committed", "run the chain first"))
    paths = [log.root / f.path for c in commits for f in c.files]
    missing = [p for p in paths if not p.is_file()]
    if missing:
        hint = "restore it, or replay its window"
        raise TableError([Problem("SMT522", str(p.relative_to(log.root)), "data file missing", hint) for p in missing])
    schema = table_schema(commits)
    if not paths:
        return session.createDataFrame([], schema)
    return session.read.schema(schema).parquet(*map(local.spark_path, paths))


def table_schema(commits: Iterable[Commit]) -> StructType:
    """The columns of the commits, merged by name, in order of appearance. Every column may be null."""
    merged = StructType()
    for text in dict.fromkeys(json.dumps(c.schema) for c in commits):
        merged = _merge(merged, StructType.fromJson(json.loads(text)), "", [])
    return merged


def check_schema(sink: ParquetSink, commits: Iterable[Commit], schema: StructType, *, case_sensitive: bool) -> None:
    """Refuse data that cannot stand in the table beside the commits that stay.

    Raises:
        TableError: All of SMT521 a column of another type, SMT525 another kind of table, SMT526 two columns or fields
            that differ only in case, SMT527 no column at all, SMT529 a struct without fields.
    """
    commits = list(commits)
    problems: list[Problem] = []
    if any(c.kind != sink.kind for c in commits):
        statement = f"the table holds {next(c.kind for c in commits)}, the run would write {sink.kind}"
        problems.append(Problem("SMT525", str(sink.root), statement, "use another folder, or rebuild the table"))
    else:
        _refuse_twins(_merge(table_schema(commits), schema, "", problems), case_sensitive, problems)
    if not schema.fields:
        problems.append(Problem("SMT527", str(sink.root), "the chain leaves no column to write", "keep one field"))
    for prefix, struct in _structs(schema, ""):
        if prefix and not struct.fields:
            place = prefix.removesuffix(".")
            statement = "a struct without fields cannot be written to Parquet"
            problems.append(Problem("SMT529", place, statement, "drop the field with ReplaceField"))
    if problems:
        raise TableError(problems)


def _merge(old: StructType, new: StructType, prefix: str, problems: list[Problem]) -> StructType:
    fields = {f.name: f for f in old.fields}
    for column in new.fields:
        known, kind = fields.get(column.name), column.dataType
        if known is not None:
            kind = _merge_type(known.dataType, kind, f"{prefix}{column.name}", problems)
        fields[column.name] = StructField(column.name, _nullable(kind), True, column.metadata)
    return StructType(list(fields.values()))


def _merge_type(old: DataType, new: DataType, place: str, problems: list[Problem]) -> DataType:
    if isinstance(old, StructType) and isinstance(new, StructType):
        return _merge(old, new, f"{place}.", problems)
    if isinstance(old, ArrayType) and isinstance(new, ArrayType):
        return ArrayType(_merge_type(old.elementType, new.elementType, f"{place}[]", problems))
    if isinstance(old, MapType) and isinstance(new, MapType):
        keys = _merge_type(old.keyType, new.keyType, f"{place}.key", problems)
        return MapType(keys, _merge_type(old.valueType, new.valueType, f"{place}.value", problems))
    if old != new:
        statement = f"the table has {old.simpleString()}, the run would write {new.simpleString()}"
        problems.append(
            Problem("SMT521", place, statement, "cast or rename the field in the chain, or rebuild the table")
        )
    return old


def _nullable(kind: DataType) -> DataType:
    if isinstance(kind, StructType):
        return StructType([StructField(f.name, _nullable(f.dataType), True, f.metadata) for f in kind.fields])
    if isinstance(kind, ArrayType):
        return ArrayType(_nullable(kind.elementType))
    if isinstance(kind, MapType):
        return MapType(_nullable(kind.keyType), _nullable(kind.valueType))
    return kind


def _refuse_twins(schema: StructType, case_sensitive: bool, problems: list[Problem]) -> None:
    for prefix, struct in _structs(schema, ""):
        seen: dict[str, str] = {}
        for name in struct.names:
            twin = seen.setdefault(name if case_sensitive else name.lower(), name)
            if twin != name:
                statement = f"columns '{prefix}{twin}' and '{prefix}{name}' differ only in case"
                hint = "rename one, or set spark.sql.caseSensitive=true"
                problems.append(Problem("SMT526", prefix + name, statement, hint))


def _structs(kind: DataType, prefix: str) -> Iterator[tuple[str, StructType]]:
    """A struct and those inside it, each with what stands before the names of its fields."""
    if isinstance(kind, StructType):
        yield prefix, kind
        for field in kind.fields:
            yield from _structs(field.dataType, f"{prefix}{field.name}.")
    elif isinstance(kind, ArrayType):
        yield from _structs(kind.elementType, f"{prefix.removesuffix('.')}[].")
    elif isinstance(kind, MapType):
        yield from _structs(kind.valueType, f"{prefix}value.")


def write_files(frame: DataFrame, folder: Path) -> None:
    """Write a frame as Parquet files into a new folder."""
    frame.write.mode("error").parquet("file://" + str(folder))


def list_files(log: CommitLog, attempt: str) -> tuple[DataFile, ...]:
    """The data files of an attempt, made durable. Files without rows are left out."""
    import pyarrow.parquet as pq

    found: list[DataFile] = []
    for path in sorted(log.data_folder(attempt).iterdir()):
        if path.is_file():
            local.sync(path)  # the checksums beside the data too: Spark refuses data whose checksum is lost
        rows = pq.read_metadata(path).num_rows if path.match("part-*.parquet") else 0
        if rows:
            found.append(DataFile(str(path.relative_to(log.root)), rows, path.stat().st_size))
    local.sync(log.data_folder(attempt))
    local.sync(log.root / "data")
    return tuple(found)
