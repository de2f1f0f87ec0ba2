"""Lists, reads and removes the files under a folder. The folder is on this machine, or in a file system that the Spark
session can reach.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pyspark.sql import SparkSession

from dagster_smt.spark.java_classes import java_class
from dagster_smt.tables.erasure.row_erasure import LakeTable
from dagster_smt.tables.locations import location_of
from dagster_smt.tables.sinks.delta import DeltaTable


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file under a folder.

    Attributes:
        path: The path or URI of the file.
        inside: The path of the file relative to the folder.
        size: The size in bytes.
    """

    path: str
    inside: str
    size: int


class Files(Protocol):
    """A file system whose files an erasure reads and removes."""

    def below(self, folder: str) -> Iterator[StoredFile]:
        """Yields all files under ``folder``, including hidden files."""
        ...

    def read(self, file: StoredFile) -> bytes:
        """Returns the content of ``file``."""
        ...

    def remove(self, file: StoredFile) -> None:
        """Removes ``file``."""
        ...


class LocalFiles:
    """The file system of this machine. The class implements the protocol ``Files``."""

    def below(self, folder: str) -> Iterator[StoredFile]:
        """Yields all files under ``folder``, including hidden files."""
        root = Path(location_of(folder).path)
        for path in sorted(root.rglob("*")):
            with suppress(FileNotFoundError):  # a running job has removed the file meanwhile
                if path.is_file():
                    yield StoredFile(str(path), str(path.relative_to(root)), path.stat().st_size)

    def read(self, file: StoredFile) -> bytes:
        """Returns the content of ``file``."""
        return Path(file.path).read_bytes()

    def remove(self, file: StoredFile) -> None:
        """Removes ``file``, and the checksum file that Hadoop keeps next to ``file``."""
        path = Path(file.path)
        path.unlink(missing_ok=True)
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


class HadoopFiles:
    """A file system that Hadoop can reach. The class implements the protocol ``Files``. It needs a classic Spark
    session, because it calls the session's JVM.
    """

    def __init__(self, session: SparkSession):
        self._path_class: Any = java_class(session, "org.apache.hadoop.fs.Path")
        self._io_utils: Any = java_class(session, "org.apache.commons.io.IOUtils")
        self.configuration: Any = session._jsparkSession.sessionState().newHadoopConf()

    def _path(self, text: str) -> Any:
        return self._path_class(text)

    def below(self, folder: str) -> Iterator[StoredFile]:
        """Yields all files under ``folder``, including hidden files."""
        root = self._path(folder)
        files = root.getFileSystem(self.configuration)
        top = str(files.makeQualified(root).toString()).rstrip("/")
        remaining = files.listFiles(root, True)
        while remaining.hasNext():
            status = remaining.next()
            path = str(status.getPath().toString())
            yield StoredFile(path, path.removeprefix(top).lstrip("/"), int(status.getLen()))

    def read(self, file: StoredFile) -> bytes:
        """Returns the content of ``file``."""
        path = self._path(file.path)
        stream = path.getFileSystem(self.configuration).open(path)
        try:
            return bytes(self._io_utils.toByteArray(stream))
        finally:
            stream.close()

    def remove(self, file: StoredFile) -> None:
        """Removes ``file``."""
        path = self._path(file.path)
        path.getFileSystem(self.configuration).delete(path, False)


def files_of(session: SparkSession, folder: str) -> Files | None:
    """Returns the file system that contains ``folder``; None if this process cannot reach the folder.

    Args:
        session: The Spark session.
        folder: A path or URI.
    """
    if not location_of(folder).store:
        return LocalFiles()
    if hasattr(session, "_jsparkSession"):
        return HadoopFiles(session)
    return None


_OF_ICEBERG = ("write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path")
"""The properties of an Iceberg table that name folders for its files. The last two exist only in older versions of
Iceberg.
"""


def folders_of(session: SparkSession, table: LakeTable) -> list[str]:
    """Returns the folders that contain files of ``table``: its own folder, and the folders that its properties name."""
    if isinstance(table, DeltaTable):
        return [str(session.sql(f"DESCRIBE DETAIL {table.name}").collect()[0].location)]
    rows = session.sql(f"DESCRIBE TABLE EXTENDED {table.name}").collect()
    own = [str(row.data_type) for row in rows if row.col_name == "Location"][-1].rstrip("/")
    properties = {row.key: row.value for row in session.sql(f"SHOW TBLPROPERTIES {table.name}").collect()}
    others = [properties[name] for name in _OF_ICEBERG if name in properties]
    # a folder inside the table's own folder must not be scanned twice
    return [own, *(folder for folder in dict.fromkeys(others) if not location_of(own).holds(location_of(folder)))]
