"""Compares the folders of tables and file topics, even if two paths name the same folder differently."""

import os
import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pyspark.sql import SparkSession

from dagster_smt.spark.sql import parts_of, quoted
from dagster_smt.tables.local import is_uri
from dagster_smt.tables.sink_options import Sink
from dagster_smt.tables.topic_table import FileTopics, TableSource

# s3, s3n and s3a are Hadoop's connectors for the same buckets; abfss and wasbs are abfs and wasb with TLS
_SAME_SCHEME = {"s3": "s3a", "s3n": "s3a", "abfs": "abfss", "wasb": "wasbs"}
_LOCAL = ("", "file")
_OF_SPARK = "spark_catalog"


@dataclass(frozen=True)
class Location:
    """A folder, such as ``s3a://bucket/orders``, as a pair of a store and a path.

    Attributes:
        store: Scheme and authority, such as ``s3a://bucket``. An empty string for the file system of this machine.
        path: The absolute path without ``.`` and ``..``. Symbolic links are resolved if possible.
    """

    store: str
    path: str

    def holds(self, other: "Location") -> bool:
        """Returns True if the folder ``other`` is this folder, or is inside this folder."""
        if self.store != other.store:
            return False
        inside = other.path == self.path or other.path.startswith(f"{self.path.rstrip('/')}/")
        return inside or (not self.store and _same_folder_above(self.path, other.path))


def location_of(path: str | Path, default_store: str = "") -> Location:
    """Returns the location that ``path``, a path or URI, names.

    Args:
        path: The path or URI.
        default_store: The store of paths without a scheme. If empty, these paths are on this machine.
    """
    text = str(path)
    parts = urlsplit(text) if is_uri(text) else None
    scheme = parts.scheme.lower() if parts is not None else ""
    if parts is None and default_store:
        return location_of(f"{default_store.rstrip('/')}/{text.lstrip('/')}")
    if scheme in _LOCAL:
        local = text if parts is None else _path_of_uri(text)
        return Location("", os.path.realpath(local))
    assert parts is not None
    store = f"{_SAME_SCHEME.get(scheme, scheme)}://{parts.netloc.lower()}"
    return Location(store, posixpath.normpath("/" + _path_of_uri(text).lstrip("/")))


def locations(session: SparkSession, place: Sink | TableSource | FileTopics) -> frozenset[Location]:
    """Returns the folders of ``place``, which is a sink or a source. The set is empty if the session cannot determine
    them.

    If a table does not exist yet, its folder is the one in which the catalog would create it.
    """
    default = _default_store(session)
    if isinstance(place, FileTopics):
        return frozenset({location_of(place.root)})
    name = place.name if isinstance(place, TableSource) else place.table
    if not name:
        return frozenset({location_of(place.path, default)} if place.path else ())
    places = []
    for text in _texts(_of_name(session, _parts(session, name))):
        places.append(location_of(text, default))
    return frozenset(places)


def overlap(one: Iterable[Location], other: Iterable[Location]) -> bool:
    """Returns True if a folder in ``one`` overlaps with a folder in ``other``: the folders are equal, or one contains
    the other.
    """
    others = list(other)
    for a in one:
        for b in others:
            if a.holds(b) or b.holds(a):
                return True
    return False


def same_name(session: SparkSession, one: str, other: str) -> bool:
    """Returns True if the names ``one`` and ``other`` refer to the same table of a catalog. An empty name does not
    refer to any table.
    """
    if not one or not other:
        return False
    return [p.lower() for p in _parts(session, one)] == [p.lower() for p in _parts(session, other)]


def _path_of_uri(text: str) -> str:
    """Returns the path in the URI ``text``, such as ``/lake/a%20b`` for ``file:///lake/a%20b``.

    As in Hadoop, escapes are not decoded, and ``?`` and ``#`` are ordinary characters.
    """
    rest = text.partition(":")[2]
    if not rest.startswith("//"):
        return rest
    return "/" + rest[2:].partition("/")[2]


def _same_folder_above(folder: str, inside: str) -> bool:
    """Returns True if ``inside`` is the folder ``folder`` or is somewhere inside it.

    The function compares inodes, not names. Two paths can name one folder differently: some file systems ignore case,
    and a folder may be mounted twice.
    """
    try:
        target = os.stat(folder)
    except OSError:
        return False
    for above in (Path(inside), *Path(inside).parents):
        try:
            there = above.stat()
        except OSError:
            continue
        if (there.st_dev, there.st_ino) == (target.st_dev, target.st_ino):
            return True
    return False


def _default_store(session: SparkSession) -> str:
    """Returns the file system that ``session`` uses for paths without a scheme. The result is empty if the settings
    name no file system, or name a local one.
    """
    store = session.conf.get("spark.hadoop.fs.defaultFS", "") or ""
    if urlsplit(store).scheme in _LOCAL:
        return ""
    return store


def _texts(texts: Iterable[str]) -> Iterator[str]:
    """Yields each location in ``texts`` twice: first unchanged, then with escapes such as ``%20`` decoded.

    Some catalogs escape characters that a URI cannot contain, and some do not.
    """
    for text in texts:
        yield text
        yield unquote(text)


def _parts(session: SparkSession, name: str) -> list[str]:
    """Splits a table name into catalog, database and table. ``orders`` becomes ``["spark_catalog", "default",
    "orders"]``.

    If ``name`` lacks a catalog or a database, the session's current catalog and database are added.
    """
    parts = parts_of(name)
    if len(parts) > 2 or (len(parts) == 2 and _is_catalog(session, parts[0])):
        return parts
    catalog, database = session.catalog.currentCatalog(), session.catalog.currentDatabase()
    if len(parts) == 2:
        return [catalog, *parts]
    return [catalog, database, *parts]


def _is_catalog(session: SparkSession, name: str) -> bool:
    return name == _OF_SPARK or bool(session.conf.get(f"spark.sql.catalog.{name}", None))


def _of_name(session: SparkSession, parts: list[str]) -> list[str]:
    name = ".".join(map(quoted, parts))
    if described := _described(session, f"DESCRIBE TABLE EXTENDED {name}"):
        return described
    above = _described(session, f"DESCRIBE NAMESPACE EXTENDED {'.'.join(map(quoted, parts[:-1]))}")
    warehouse = session.conf.get(f"spark.sql.catalog.{parts[0]}.warehouse", None)
    if warehouse:
        above = [*above, "/".join([warehouse.rstrip("/"), *parts[1:-1]])]
    paths = []
    for folder in above:
        paths.append(f"{folder.rstrip('/')}/{parts[-1]}")
    return paths


def _described(session: SparkSession, statement: str) -> list[str]:
    """Runs ``statement``, such as ``DESCRIBE TABLE EXTENDED orders``. Returns a list with the location in its output.

    The list is empty if the output contains no location, or if the statement fails.
    """
    try:
        rows = session.sql(statement).collect()
    except Exception:  # noqa: BLE001 - of PySpark or Py4J: there is no such table, or its catalog cannot describe it
        return []
    pairs = []
    for row in rows:
        pairs.append((str(row[0]).strip().lower(), str(row[1] or "").strip()))
    values = []
    for name, value in pairs:
        if name == "location" and value:
            values.append(value)
    return values[-1:]  # a column may also have that name, but columns come first, so the last row is the location
