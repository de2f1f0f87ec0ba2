"""The first commit of a Delta table that is created from Parquet files. The commit lists the files, and does not change
them.

``CONVERT TO DELTA`` would write the same commit. In Delta 4.0, however, it fails on PySpark 4.0.2 and later, because
the Parquet reader has a different constructor. This module therefore writes the commit itself. Delta's log store
creates the commit file. The file thus appears as a whole or not at all, and only if no other process has created it.

Source of the format: Delta's protocol, https://github.com/delta-io/delta/blob/master/PROTOCOL.md
"""

import json
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from dagster_smt.errors import Problem, TableError, UnsupportedError
from dagster_smt.spark.java_classes import java_class

_NULL = "__HIVE_DEFAULT_PARTITION__"
_SAFE = "/+=:,@!$&'()*;~-._"
_UNREADABLE = set(" ,;{}()\n\t=")
"""Characters that column names in a Delta table may contain only with column mapping. Parquet files of a connector have
no column mapping.
"""
_NEW_TYPES = ("timestamp_ntz", "variant")


@dataclass(frozen=True)
class DataFile:
    """A data file of a Delta table.

    Attributes:
        path: The path relative to the folder of the table.
        size: The size in bytes.
        millis: The time at which the file was written, in milliseconds since the epoch.
        rows: The number of rows.
    """

    path: str
    size: int
    millis: int
    rows: int

    @property
    def values(self) -> dict[str, str | None]:
        """The partition values of the file, which are part of its folders' names: ``day=2026-01-01``."""
        values: dict[str, str | None] = {}
        for part in self.path.split("/")[:-1]:
            name, equals, value = part.partition("=")
            if equals:
                # a folder's name may be escaped: day=a%3Ab contains the value a:b
                values[unquote(name)] = None if value == _NULL else unquote(value)
        return values


def check_columns(place: str, schema: StructType) -> None:
    """Raises an error if ``schema`` has columns that are not possible in a Delta table of plain Parquet files.

    Raises:
        UnsupportedError: SMT798.
    """
    text = schema.json()
    hint = "let the asset begin with a table of its own: table.start: group:connect-NAME"
    odd = []
    for name in _names(schema):
        if _UNREADABLE & set(name):
            odd.append(name)
    new = []
    for kind in _NEW_TYPES:
        if f'"{kind}"' in text:
            new.append(kind)
    if odd:
        statement = (
            f"a Delta table of these files cannot have the column '{odd[0]}', because of a character in its name"
        )
        raise UnsupportedError(Problem("SMT798", place, statement, hint))
    if new:
        statement = f"a Delta table of these files cannot have the type {new[0]}"
        raise UnsupportedError(Problem("SMT798", place, statement, hint))


def _names(schema: StructType) -> Iterable[str]:
    for column in schema.fields:
        yield column.name
        kind: Any = column.dataType
        # the elements of arrays of arrays, down to a struct
        while hasattr(kind, "elementType"):
            kind = kind.elementType
        if isinstance(kind, StructType):
            yield from _names(kind)


def actions_of(files: Sequence[DataFile], schema: StructType, partition_by: Sequence[str]) -> list[str]:
    """Returns the lines of the first commit of a Delta table. The lines create a table with the columns ``schema``,
    partitioned by ``partition_by``, and add ``files`` to it.
    """
    now = round(time.time() * 1000)
    parameters: Mapping[str, str] = {"numFiles": str(len(files)), "partitionedBy": json.dumps([*partition_by])}
    actions: list[dict[str, Any]] = [
        {
            "commitInfo": {
                "timestamp": now,
                "operation": "CONVERT",
                "operationParameters": parameters,
                "isBlindAppend": True,
                "txnId": str(uuid.uuid4()),
            }
        },
        # Versions without table features: check_columns has refused types that need a feature, and names that need
        # column mapping.
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {
            "metaData": {
                "id": str(uuid.uuid4()),
                "format": {"provider": "parquet", "options": {}},
                "schemaString": schema.json(),
                "partitionColumns": [*partition_by],
                "configuration": {},
                "createdTime": now,
            }
        },
    ]
    for file in files:
        add = {
            # The path is a URI (Delta's protocol): the folder day=a%3Ab is escaped again, to day=a%253Ab.
            "path": quote(file.path, safe=_SAFE),
            "partitionValues": {name: file.values.get(name) for name in partition_by},
            "size": file.size,
            "modificationTime": file.millis,
            "dataChange": True,
            "stats": json.dumps({"numRecords": file.rows}),
        }
        actions.append({"add": add})
    return [json.dumps(action) for action in actions]


def write_first_commit(session: SparkSession, folder: str, lines: Sequence[str]) -> None:
    """Creates the first file of a Delta log.

    Args:
        session: A classic session with Delta.
        folder: The folder of the table.
        lines: The lines of the commit.

    Raises:
        UnsupportedError: SMT798, the session cannot write a Delta log.
        TableError: SMT798, another process has created the file.
    """
    try:
        log_class = java_class(session, "org.apache.spark.sql.delta.DeltaLog")
        delta_log = log_class.forTable(session._jsparkSession, folder)
        path = java_class(session, "org.apache.hadoop.fs.Path")(delta_log.logPath(), f"{0:020}.json")
        converters = java_class(session, "scala.collection.JavaConverters")
        iterator = converters.asScalaIteratorConverter(_java_list(session, lines).iterator())
        delta_log.createLogDirectoriesIfNotExists()
        # False: never overwrite, so the second of two processes fails
        delta_log.store().write(path, iterator.asScala(), False, delta_log.newDeltaHadoopConf())
        log_class.invalidateCache(session._jsparkSession, delta_log.dataPath())
    except Exception as error:  # noqa: BLE001 - of Py4J or Python: what is not there depends on version and session
        if "FileAlreadyExistsException" in str(error):
            hint = "run again: the command continues with the table that is there"
            raise TableError(Problem("SMT798", folder, "somebody else has made a Delta table of it", hint)) from None
        statement = "the session cannot write the log of a Delta table"
        hint = "use a session in this process with Delta, not Spark Connect"
        raise UnsupportedError(Problem("SMT798", folder, statement, hint)) from None


def _java_list(session: SparkSession, lines: Sequence[str]) -> Any:
    result = java_class(session, "java.util.ArrayList")()
    for line in lines:
        result.add(line)
    return result
