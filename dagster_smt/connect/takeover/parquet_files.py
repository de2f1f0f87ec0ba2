"""Converts the Parquet files of a connector into a Delta table in the same folder.

A sink writes a file, and its consumer group then commits the offset after the file. If the sink dies between these two
steps, it later writes a file with the same name again. A file that begins at or after the committed offset is therefore
in flight. The files before that offset contain each record once. The conversion adds a Delta log to the folder, and
changes no file.
"""

import os
import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import unquote

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from dagster_smt.connect.takeover.file_names import FileName, FileNaming
from dagster_smt.connect.takeover.first_commit import DataFile, actions_of, check_columns, write_first_commit
from dagster_smt.errors import Problem, TableError
from dagster_smt.model.windows.offsets import TopicPartition
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.visible import without_partitions

# the scheme of a URI, with the bucket or host: s3a://bucket, file://, file:
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://[^/]*)?")
_HINT_FILES = "let the connector commit its files: run it, stop it cleanly, and run the command again"
_HINT_STRANGE = "move the file out of the folder; or name the folder of one topic as sink.delta.path"


@dataclass(frozen=True)
class ConnectorFile:
    """A Parquet file that a connector has written.

    Attributes:
        path: The path.
        name: The information in the file's name.
        rows: The number of rows.
    """

    path: str
    name: FileName
    rows: int

    @property
    def folder(self) -> str:
        """The folder of the file."""
        return self.path.rpartition("/")[0]

    @property
    def end(self) -> int:
        """The offset after the last record. If the file's name does not contain this offset, it is computed from the
        number of rows. The result is then correct only if each offset has a row.
        """
        return self.name.start + self.rows if self.name.end is None else self.name.end


CountRows = Callable[[Window], int]
"""A function that gets a window (a range of offsets for each topic-partition). The function returns the number of rows
that the chain produces for the records of the window.
"""


class ParquetFolder:
    """A folder with Parquet files that a connector has written.

    Args:
        session: The Spark session.
        path: The folder.
        naming: The names of the files.
    """

    def __init__(self, session: SparkSession, path: str, naming: FileNaming):
        self.session, self.path, self.naming = session, path, naming

    def schema(self) -> StructType | None:
        """Returns the columns of the files, including the columns in folder names. Returns None if there is no file."""
        try:
            schema = self._reader().parquet(self.path).schema
        # Spark finds no Parquet file there, or the folder does not exist
        except PySparkException:
            return None
        # recursiveFileLookup switches off Spark's discovery of partitions. A FieldPartitioner's field is also in the
        # files, so only the columns that the files lack are added.
        others = []
        for name in self.partition_columns():
            if name not in schema.names:
                others.append(name)
        if others:
            discovered = self.session.read.parquet(self.path).schema
            schema = StructType([*schema.fields, *(discovered[name] for name in others)])
        return schema

    def rows_of(self, paths: Sequence[str]) -> DataFrame:
        """Returns the rows of the files at ``paths``."""
        schema = self.schema()
        assert schema is not None
        return self.session.read.schema(schema).option("basePath", self.path).parquet(*paths)

    def _reader(self) -> DataFrameReader:
        return self.session.read.option("mergeSchema", True).option("recursiveFileLookup", True)

    def paths(self) -> dict[str, int]:
        """Maps the path of each file to its number of rows."""
        try:
            frame = self._reader().parquet(self.path)
        except PySparkException:
            return {}
        return rows_by_file(frame)

    def files(self, paths: Mapping[str, int], topics: Iterable[str]) -> list[ConnectorFile]:
        """Returns the files at ``paths`` with the information in their names.

        Raises:
            TableError: SMT797, a file has a name that the connector does not write, or belongs to a topic that is not
                in ``topics``.
        """
        known, files, problems = {*topics}, [], []
        for path, rows in sorted(paths.items()):
            name = self.naming.read(path)
            if name is None:
                statement = f"the connector gives no such name to a file: its names are {self.naming.text}"
                problems.append(Problem("SMT797", without_partitions(path), statement, _HINT_STRANGE))
            elif known and name.topic not in known:
                statement = f"the file is of the topic {name.topic}, which the component does not read"
                problems.append(Problem("SMT797", without_partitions(path), statement, _HINT_STRANGE))
            else:
                files.append(ConnectorFile(path, name, rows))
        if problems:
            raise TableError(problems[:5])
        return files

    def convert(self) -> None:
        """Converts the folder into a Delta table. A column whose values are in folder names becomes a partition
        column.
        """
        schema = self.schema()
        assert schema is not None
        check_columns(self.path, schema)
        names = ("path", "size", "modification_time")
        facts = []
        for name in names:
            facts.append(F.col(f"_metadata.file_{name}").alias(name))
        frame = self._reader().parquet(self.path).select(*facts)
        rows = frame.groupBy(*names).agg(F.count("*").alias("rows")).collect()
        files = []
        for row in sorted(rows, key=lambda row: row["path"]):
            millis = round(row["modification_time"].timestamp() * 1000)
            path = path_below(self.path, unquote(row["path"]))
            files.append(DataFile(path, row["size"], millis, row["rows"]))
        write_first_commit(self.session, self.path, actions_of(files, schema, self.partition_columns()))

    def partition_columns(self) -> list[str]:
        """Returns the names of the columns whose values are in folder names, such as ``day`` for ``day=2026-01-01``."""
        try:
            first = self._reader().parquet(self.path).select("_metadata.file_path").first()
        except PySparkException:
            first = None
        if first is None:
            return []
        return [*DataFile(path_below(self.path, unquote(first["file_path"])), 0, 0, 0).values]


def path_below(folder: str, path: str) -> str:
    """Returns the path of a file relative to a folder.

    Args:
        folder: The folder: an absolute path, a path relative to the working directory, or a URI.
        path: The whole path of the file.

    Raises:
        TableError: SMT797, the file is not in the folder.
    """
    parts, of_folder = _parts(path), _parts(folder)
    if parts[: len(of_folder)] == of_folder:
        return "/".join(parts[len(of_folder) :])
    # Hadoop's working directory may be another one, such as the user's folder in HDFS
    if not folder.startswith("/") and _SCHEME.match(folder) is None:
        names = [*PurePosixPath(folder).parts]
        for start in range(len(parts) - len(names)):
            if parts[start : start + len(names)] == names:
                return "/".join(parts[start + len(names) :])
    hint = "name the folder of the files as sink.delta.path, with its absolute path"
    raise TableError(Problem("SMT797", without_partitions(path), "the file is not in the folder of the table", hint))


def _parts(place: str) -> list[str]:
    """Returns the names in the absolute path of ``place``, without the scheme and the bucket or host. Spark may add a
    scheme, or write it in another way: ``/lake`` becomes ``file:///lake``.
    """
    absolute = posixpath.join(os.getcwd(), place)
    if scheme := _SCHEME.match(place):
        absolute = f"/{place[scheme.end() :]}"
    return [*PurePosixPath(posixpath.normpath(absolute)).parts[1:]]


def rows_by_file(frame: DataFrame) -> dict[str, int]:
    """Maps the path of each file in ``frame`` to its number of rows."""
    counts = frame.groupBy(F.col("_metadata.file_path").alias("path")).agg(F.count("*").alias("rows")).collect()
    rows = {}
    for row in counts:
        # _metadata.file_path is escaped as in a URI
        rows[unquote(row["path"])] = int(row["rows"])
    return rows


def check_files(
    files: Sequence[ConnectorFile],
    offsets: Mapping[TopicPartition, int],
    begins: Mapping[TopicPartition, int],
    count: CountRows,
) -> str:
    """Proves that ``files`` contain exactly the records before the committed offsets, and returns the proof as text.

    Args:
        files: The files.
        offsets: The committed offsets of the connector.
        begins: The first offset that each topic-partition still contains.
        count: Counts the rows that the chain produces for a window. The function is needed if the chain drops records,
            or if an offset has no record.

    Raises:
        TableError: SMT797, the files lack a record before the offsets, contain the same record twice, or contain a
            record at or after the offsets.
    """
    by_place: dict[TopicPartition, list[ConnectorFile]] = defaultdict(list)
    for file in files:
        by_place[(file.name.topic, file.name.partition)].append(file)
    problems, counted = [], 0
    for place, offset in sorted(offsets.items()):
        of_place = sorted(by_place.pop(place, []), key=lambda file: file.name.start)
        # An offset may rightly have no row: a marker of a transaction, or a record that the chain drops. Only in this
        # case is the chain run, to count its rows.
        problem = _ahead(of_place, offset) or _overlap(of_place)
        if problem is None and not _is_complete(of_place, offset):
            problem = _counted(place, of_place, offset, begins.get(place, 0), count)
            counted += 1
        if problem is not None:
            problems.append(problem)
    for place, others in sorted(by_place.items()):
        statement = (
            f"the connector's group has committed no offset for the partition of the file ({place[0]}-{place[1]})"
        )
        problems.append(Problem("SMT797", without_partitions(others[0].path), statement, _HINT_FILES))
    if problems:
        raise TableError(problems)
    how = f"; {counted} partitions compared with the rows of the chain" if counted else ""
    return f"{len(files)} files have {sum(file.rows for file in files)} rows, up to the committed offsets{how}"


def _ahead(files: Sequence[ConnectorFile], offset: int) -> Problem | None:
    """Returns a problem if one of ``files`` contains records that the connector has not committed. Such a file begins
    at or after the committed offset ``offset``, or its name contains an end after ``offset``.
    """
    for file in files:
        beyond = file.name.start >= offset or (file.name.end is not None and file.name.end > offset)
        if beyond:
            statement = f"the file begins at offset {file.name.start}, and the group has committed {offset}"
            if file.name.start < offset:
                statement = f"the file ends before offset {file.name.end}, and the group has committed {offset}"
            return Problem("SMT797", without_partitions(file.path), statement, _HINT_FILES)
    return None


def _overlap(files: Sequence[ConnectorFile]) -> Problem | None:
    """Returns a problem if two of ``files`` in the same folder contain the same records."""
    last: dict[str, ConnectorFile] = {}
    for file in files:
        before = last.get(file.folder)
        # only within a folder: a partitioner by time or field writes the records of one topic-partition into several
        # folders in turn
        if before is not None and before.end > file.name.start:
            other = without_partitions(before.path)
            statement = f"the file begins at offset {file.name.start}, and {other} has {before.rows} rows before it"
            hint = "remove the file whose records are in the other one"
            return Problem("SMT797", without_partitions(file.path), statement, hint)
        last[file.folder] = file
    return None


def _is_complete(files: Sequence[ConnectorFile], offset: int) -> bool:
    """Returns True if ``files`` have a row for each offset from the start of the first file up to ``offset``. If the
    file names contain the last offset of each file, only the names are checked, and rows are not counted.
    """
    if not files:
        return offset == 0
    if files[-1].name.end is not None:
        return max(file.end for file in files) == offset
    return sum(file.rows for file in files) == offset - files[0].name.start


def _counted(
    place: TopicPartition, files: Sequence[ConnectorFile], offset: int, begin: int, count: CountRows
) -> Problem | None:
    """Counts the rows in ``files``, and the rows that the chain produces for the same offsets. Returns a problem if the
    two numbers differ, or if the topic no longer contains all records of these offsets.

    The counts are needed because some offsets may have no record, and because the chain may drop records. If all files
    are in one folder, only the last file is counted, because each file begins after the end of the previous file. In
    several folders, the offsets of files may overlap, so all files are counted.
    """
    where = f"{place[0]}-{place[1]}"
    start = begin
    if files:
        is_one = len({file.folder for file in files}) == 1
        start = files[-1].name.start if is_one else files[0].name.start
    chosen = [file for file in files if file.name.start >= start]
    rows = sum(file.rows for file in chosen)
    hint = "let the connector write and commit more records, stop it cleanly, and run the command again"
    if start < begin:
        statement = (
            f"the files have {rows} rows for the offsets {start} to {offset}, and the topic has lost records of them"
        )
        return Problem("SMT797", where, statement, hint)
    expected = count(Window((Range(*place, start, offset),))) if start < offset else 0
    if rows == expected:
        return None
    statement = f"the files have {rows} rows for the offsets {start} to {offset}, and the chain makes {expected}"
    return Problem("SMT797", where, statement, hint)
