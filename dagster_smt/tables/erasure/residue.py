"""The residue scan, which reads every file of a table and counts the values of erased people in these files.

The scan does not ask Delta or Iceberg which files belong to a table. It reads all files in the folder: the data files
of every version, statistics, checkpoints, manifests, change data, and files that no version references.
"""

import gzip
import io
import json
import re
import struct
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dagster_smt.model.reports.erasure_report import Residue, Scan
from dagster_smt.tables.erasure.needles import Needles
from dagster_smt.tables.erasure.stored_files import Files, StoredFile
from dagster_smt.values.numbers import EXACT

_BEAT_FILES = 20
_LONG = 1 << 16
_UUID_BYTES = 16
_ROWS = 1 << 17
_MOST_NAMED = 50
"""The largest number of files in each of two lists: the files with residue (values of erased people), and the files
that could not be read.
"""
_RETRIED = "launch the erasure again: it removes what runs have written meanwhile"
_DECIMAL = re.compile(r"decimal\(\d+, *(?P<scale>\d+)\)")
"""Iceberg's name of a decimal type, such as ``decimal(10, 2)``."""
MANIFEST = "a manifest"
_REMEDIES = {
    "a data file": "launch the erasure again when no run is at work",
    "change data": "vacuum the table without a retention",
    "statistics in the log": "launch the erasure again; or wait until the log is removed",
    MANIFEST: "expire the snapshots that need it: a branch, a tag or a running query may hold them",
    "another file": "look at the file, and remove it",
}


@dataclass
class ResidueScan:
    """A scan that counts the values of erased people in the files under some folders.

    Attributes:
        needles: The values to count.
        say: Is called between files. An error that it raises stops the scan.
    """

    needles: Needles
    say: Callable[[str], None] = lambda line: None
    files: int = 0
    bytes: int = 0
    unread: list[str] = field(default_factory=list)
    _left: Counter[tuple[str, str]] = field(default_factory=Counter)

    def folder(self, files: Files, folder: str) -> None:
        """Scans all files under ``folder``. ``files`` is the file system that contains the folder."""
        for file in files.below(folder):
            if file.inside.endswith(".crc") and file.inside.rpartition("/")[2].startswith("."):
                continue  # Hadoop's checksum files contain no values
            if self.files % _BEAT_FILES == 0:
                self.say("")
            self.file(files, file)

    def file(self, files: Files, file: StoredFile) -> None:
        """Scans the path and the content of ``file``."""
        count = self.needles.in_bytes(file.inside.encode(errors="surrogatepass"))
        name = self._name(file)
        try:
            count += count_in(file.inside, files.read(file), self.needles)
        except Exception as error:  # noqa: BLE001 - a file that cannot be read proves nothing, whatever the reason
            self.unread.append(f"{name}: {type(error).__name__}")
        self.files += 1
        self.bytes += file.size
        if count:
            self._left[kind_of(file.inside), name] += count

    def _name(self, file: StoredFile) -> str:
        """Returns the name of ``file`` for messages. The name lacks the folders, because the names of folders may
        contain values of people. If the file's own name contains such a value, the result is "a file with a value in
        its name".
        """
        name = file.inside.rpartition("/")[2]
        if self.needles.in_bytes(name.encode(errors="surrogatepass")):
            return "a file with a value in its name"
        return name

    @property
    def residue(self) -> tuple[Residue, ...]:
        """The values that are left, counted by kind of file and by file."""
        listed = []
        for (kind, name), count in self._left.items():
            listed.append(Residue(kind, name, count, _REMEDIES.get(kind, _RETRIED)))
        rest = listed[_MOST_NAMED:]
        if not rest:
            return tuple(listed)
        more = Residue("further files", f"{len(rest)} files", sum(one.count for one in rest), _RETRIED)
        return (*listed[:_MOST_NAMED], more)

    @property
    def scan(self) -> Scan:
        """The numbers of files and bytes that the scan read, and the first files that it could not read."""
        return Scan(self.files, self.bytes, 0, not self.unread, tuple(self.unread[:_MOST_NAMED]))


def kind_of(path: str) -> str:
    """Returns the kind of the file ``path`` of a table, such as ``change data`` or ``a manifest``. The function derives
    the kind from the path alone.
    """
    if "_delta_log/" in path:
        return "statistics in the log"
    if "_change_data/" in path:
        return "change data"
    if path.endswith(".avro") or "metadata/" in path:
        return MANIFEST
    if path.endswith((".parquet", ".orc")):
        return "a data file"
    return "another file"


def count_in(path: str, data: bytes, needles: Needles) -> int:
    """Returns the number of values that ``data``, the content of the file ``path``, contains.

    Raises:
        ValueError: The scan cannot read this kind of file.
        Exception: The file is damaged, so its reader fails.
    """
    # the first bytes show the format, whatever the file's name: PAR1 for Parquet, Obj\x01 for Avro, 1f 8b for gzip
    if data[:4] == b"PAR1":
        return _in_parquet(data, needles)
    if data[:4] == b"Obj\x01":
        return _in_avro(data, needles)
    if data[:3] == b"ORC" or path.endswith(".orc"):
        raise ValueError("no reader of ORC")
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    # Arrow preselects whole items, so a long file is searched line by line
    lines = data.split(b"\n") if len(data) > _LONG else [data]
    return _in_texts(pa.array(lines, pa.binary()), needles, names_person=False, has_json=True)


# --- Parquet ---


def _in_parquet(data: bytes, needles: Needles) -> int:
    """Counts the values in ``needles`` that ``data``, the content of a Parquet file, contains. The function searches
    two parts of the file: the key-value metadata, and the rows. In a Delta checkpoint, which is also a Parquet file,
    the rows contain statistics as JSON.
    """
    file = pq.ParquetFile(io.BytesIO(data))
    count = 0
    for value in (file.metadata.metadata or {}).values():
        count += needles.in_bytes(value)
    for batch in file.iter_batches(batch_size=_ROWS):
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            count += _in_array(column, name, needles)
    return count


def _in_array(array: pa.Array, name: str, needles: Needles) -> int:
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _in_array(array.dictionary_decode(), name, needles)
    if isinstance(array, pa.ExtensionArray):
        return _in_array(array.storage, name, needles)
    if pa.types.is_struct(kind):
        fields = zip(kind, array.flatten(), strict=True)
        return sum(_in_array(child, field.name, needles) for field, child in fields)
    if pa.types.is_map(kind):
        return _in_maps(array, needles)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _in_array(array.flatten(), name, needles)
    names_person = name in needles.names
    if _is_text(kind):
        # the column ``stats`` of a Delta checkpoint contains statistics as JSON
        return _in_texts(array, needles, names_person=names_person, has_json=name == "stats")
    if names_person and (pa.types.is_integer(kind) or pa.types.is_decimal(kind)):
        texts = array.cast(pa.string())
        return int(pc.sum(pc.is_in(texts, pa.array(sorted(needles.ids), pa.string()))).as_py() or 0)
    if names_person and pa.types.is_floating(kind):
        ids = pa.array(sorted(needles.floats), pa.float64())
        return int(pc.sum(pc.is_in(array.cast(pa.float64()), ids)).as_py() or 0)
    return 0


def _in_maps(array: pa.Array, needles: Needles) -> int:
    count = 0
    # in a Delta checkpoint, a map contains the partition values of a file by column name
    for pairs in array.to_pylist():
        for key, value in pairs or ():
            count += needles.is_value(key, names_person=False)
            count += needles.is_bound(value, names_person=key in needles.names)
    return count


def _is_text(kind: pa.DataType) -> bool:
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return any(test(kind) for test in texts) or pa.types.is_fixed_size_binary(kind)


def _in_texts(array: pa.Array, needles: Needles, *, names_person: bool, has_json: bool = False) -> int:
    """Counts the strings in ``array`` that contain a value of ``needles``, or that are the truncated beginning of such
    a value. Arrow preselects candidates, and only these are converted into Python objects.

    Args:
        array: The strings.
        needles: The values to count.
        names_person: True if the column contains ids of people. Then short ids, such as ``42``, are also counted.
        has_json: True if the strings may be statistics in JSON. Statistics contain only the beginnings of long values,
            so truncated beginnings inside the JSON are also counted.
    """
    whole = needles.anywhere | needles.cuts | (needles.ids if names_person else frozenset())
    values = []
    for text in sorted(whole):
        values.append(text.encode(errors="surrogatepass"))
    if pa.types.is_fixed_size_binary(array.type):
        if array.type.byte_width == _UUID_BYTES:  # Parquet stores UUIDs in this form
            values.extend(sorted(needles.uuids))
        array = array.cast(pa.binary())
    kind = array.type
    is_whole = pc.is_in(array, pa.array(values, pa.binary()).cast(kind))
    rest = array.filter(pc.invert(is_whole))
    count = int(pc.sum(is_whole).as_py() or 0)
    patterns = [*needles.candidates, *(needles.cut_candidates if has_json else ())]
    chosen = [pc.match_substring_regex(rest, pattern) for pattern in patterns]
    for value in _any_of(rest, chosen):
        data = value if isinstance(value, bytes) else value.encode(errors="surrogatepass")
        count += bool(needles.in_bytes(data) or (has_json and needles.cut_in_bytes(data)))
    return count


def _any_of(array: pa.Array, chosen: Sequence[pa.Array]) -> list[Any]:
    """Returns the items of ``array`` for which at least one mask in ``chosen`` is True. A mask has a Boolean for each
    item.
    """
    if not chosen or not len(array):
        return []
    mask = chosen[0]
    for more in chosen[1:]:
        mask = pc.or_kleene(mask, more)
    return list(array.filter(pc.fill_null(mask, False)).to_pylist())


# --- Avro ---


def _in_avro(data: bytes, needles: Needles) -> int:
    """Counts the values in ``needles`` that the metadata and the rows of an Avro file contain. ``data`` is the content
    of the file. Iceberg's manifests are such files. For each column number, a manifest contains the least and the
    greatest value of the column, as bytes.
    """
    import fastavro  # part of the extra that reads Avro

    reader = fastavro.reader(io.BytesIO(data))
    columns = _columns(reader.metadata.get("schema"))
    count = 0
    for value in reader.metadata.values():
        count += needles.in_bytes(str(value).encode(errors="surrogatepass"))
    for record in reader:
        count += _in_value(record, "", needles, columns)
    return count


def _columns(schema: str | None) -> Mapping[int, tuple[str, str]]:
    """Returns the name and the type of each column of an Iceberg table, by column number: ``{1: ("user_id", "long")}``.
    ``schema`` is the table's schema as JSON.
    """
    if not schema:
        return {}
    columns: dict[int, tuple[str, str]] = {}

    def walk(fields: Any) -> None:
        for one in fields or ():
            kind = one.get("type")
            columns[one["id"]] = (one.get("name", ""), kind if isinstance(kind, str) else "")
            while isinstance(kind, dict):
                walk(kind.get("fields"))
                kind = kind.get("element") or kind.get("value")

    whole = json.loads(schema)
    if isinstance(whole, dict):
        walk(whole.get("fields"))
    return columns


def _in_value(value: Any, name: str, needles: Needles, columns: Mapping[int, tuple[str, str]]) -> int:
    if isinstance(value, dict):
        # a manifest stores the bounds of columns as a list of pairs: the number of the column, and the bound
        if set(value) == {"key", "value"} and isinstance(value["value"], bytes):
            return _in_bound(value["key"], value["value"], needles, columns)
        # the value is a partition summary in a manifest list
        if set(value) >= {"contains_null", "lower_bound", "upper_bound"}:
            return sum(_is_any_bound(value[end], needles) for end in ("lower_bound", "upper_bound"))
        return sum(_in_value(child, key, needles, columns) for key, child in value.items())
    if isinstance(value, list):
        return sum(_in_value(child, name, needles, columns) for child in value)
    return int(needles.is_bound(value, names_person=name in needles.names))


def _in_bound(number: Any, data: bytes, needles: Needles, columns: Mapping[int, tuple[str, str]]) -> int:
    name, kind = columns.get(number, ("", ""))
    names_person = name in needles.names
    if kind in ("float", "double"):
        return int(names_person and _float_of(data) in needles.floats)
    if kind in ("date", "time", "boolean") or "timestamp" in kind:
        return 0
    if kind == "uuid":
        return int(data in needles.uuids)
    # Iceberg stores the bounds of numbers in little-endian order, except those of decimals
    if kind in ("int", "long"):
        value: Any = int.from_bytes(data, "little", signed=True)
    elif match := _DECIMAL.fullmatch(kind):
        # Python's default context would round a number of more than 28 digits
        value = Decimal(int.from_bytes(data, "big", signed=True)).scaleb(-int(match["scale"]), EXACT)
    else:
        value = data.decode(errors="replace")
    return int(needles.is_bound(value, names_person=names_person))


def _float_of(data: bytes) -> float | None:
    """Returns the number that ``data``, the bound of a column of floats or doubles, contains. If the number of bytes is
    wrong, returns None.
    """
    code = {4: "<f", 8: "<d"}.get(len(data))
    return struct.unpack(code, data)[0] if code else None


def _is_any_bound(data: bytes | None, needles: Needles) -> bool:
    """Returns True if ``data`` is a value of one of the people, or the truncated beginning of such a value. ``data`` is
    the least or the greatest value of a partition column, as bytes. The file states neither the name nor the type of
    the column. So the function treats the column as a column with ids, and tries strings, integers and floats.

    The function does not try decimals: their bytes are often the bytes of short strings. The country ``US``, for
    example, has the bytes of 21843, which may be the id of a person.
    """
    if data is None:
        return False
    if needles.is_bound(data.decode(errors="replace"), names_person=True) or _float_of(data) in needles.floats:
        return True
    return len(data) in (4, 8) and needles.is_value(int.from_bytes(data, "little", signed=True), names_person=True)
