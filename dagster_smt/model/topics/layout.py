"""Describes the layout of a table as plain data: how rows are divided into files, and the properties and the comment of
the table.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from dagster_smt.errors import Problem

TIMES = ("year", "month", "day", "hour")
NUMBERED = ("bucket", "truncate")
OWN_PREFIX = "dagster_smt."
"""The prefix of the table properties that belong to this package."""
# a name in backticks, in which two backticks mean one, or a name without special characters
_PART = r"`(?:[^`]|``)+`|[^\s`.,()]+"
_PATH = re.compile(rf"\s*((?:{_PART})(?:\.(?:{_PART}))*)\s*")
_CALL = re.compile(r"\s*([A-Za-z]+)\s*\((.*)\)\s*", re.DOTALL)
_ALIASES = {f"{name}s": name for name in TIMES}
_SIZE = re.compile(r"(\d+)\s*([a-z]*)", re.IGNORECASE)
_UNITS = {"": 0, "b": 0, "k": 10, "kb": 10, "kib": 10, "m": 20, "mb": 20, "mib": 20, "g": 30, "gb": 30, "gib": 30}
_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_OF_TABLES = ("provider", "location", "owner", "external", "is_managed_location", "option.serialization.format")

T = TypeVar("T")
Path = tuple[str, ...]
"""A path to a column or to a field inside a column, such as ``("address", "city")``."""


def path_text(path: Path) -> str:
    """Returns ``path`` in the spelling of ``partition_by`` and ``cluster_by``. A name with unusual characters is
    written in backticks.
    """
    parts = []
    for name in path:
        if _PLAIN.fullmatch(name):
            parts.append(name)
        else:
            parts.append("`" + name.replace("`", "``") + "`")
    return ".".join(parts)


@dataclass(frozen=True)
class PartitionField:
    """One field of a partitioning.

    Attributes:
        path: The column.
        transform: The function of the column's value: ``year``, ``month``, ``day``, ``hour``, ``bucket`` or
            ``truncate``. Empty for the value itself.
        number: The number in ``bucket(16, id)``, which is the number of buckets, or in ``truncate(4, name)``, which is
            the length.
    """

    path: Path
    transform: str = ""
    number: int = 0

    @property
    def text(self) -> str:
        """The field in the spelling of ``partition_by``, such as ``day(at)`` or ``bucket(16, id)``."""
        if self.transform in NUMBERED:
            return f"{self.transform}({self.number}, {path_text(self.path)})"
        if self.transform:
            return f"{self.transform}({path_text(self.path)})"
        return path_text(self.path)


@dataclass(frozen=True)
class Layout:
    """The layout that a definition requests. An empty attribute requests nothing.

    Attributes:
        partition_by: The partitioning.
        cluster_by: The columns by which rows are clustered: rows with similar values are stored close to each other.
        properties: Table properties.
        comment: The description of the table.
        target_file_size: The size of files, in bytes; 0 for the default of the table format.
    """

    partition_by: tuple[PartitionField, ...] = ()
    cluster_by: tuple[Path, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str = ""
    target_file_size: int = 0

    def __bool__(self) -> bool:
        return self.places_rows or bool(self.properties) or bool(self.comment) or bool(self.target_file_size)

    @property
    def places_rows(self) -> bool:
        """True if the layout partitions or clusters the rows, so that it determines which rows share a file."""
        return bool(self.partition_by or self.cluster_by)


def partition_field(text: str) -> PartitionField:
    """Parses ``text``, one item of ``partition_by``, such as ``day(at)`` or ``bucket(16, id)``. Iceberg's plural names,
    such as ``days``, are also accepted.

    Raises:
        ValueError: The string is not such an item.
    """
    call = _CALL.fullmatch(text)
    if call is None:
        return PartitionField(column_path(text))
    name = call[1].lower()
    transform = _ALIASES.get(name, name)
    if transform in TIMES:
        return PartitionField(column_path(call[2]), transform)
    number, comma, column = call[2].partition(",")
    # a positive number with at most nine digits, which fits into 32 bits
    if transform not in NUMBERED or not comma or not re.fullmatch(r"\s*0*[1-9]\d{0,8}\s*", number, re.ASCII):
        raise ValueError(text)
    return PartitionField(column_path(column), transform, int(number))


def column_path(text: str) -> Path:
    """Parses ``text``, one item of ``cluster_by``: ``address.city`` becomes ``("address", "city")``.

    Raises:
        ValueError: The string is not such an item.
    """
    match = _PATH.fullmatch(text)
    if match is None:
        raise ValueError(text)
    names = []
    for part in re.findall(_PART, match[1]):
        names.append(part[1:-1].replace("``", "`") if part.startswith("`") else part)
    return tuple(names)


def size_in_bytes(size: int | str) -> int:
    """Returns ``size`` in bytes. The argument is a number of bytes, or a string such as ``128 MB`` (1 MB is 1024 KB).
    An empty string is 0.

    Raises:
        ValueError: The string is not a size.
    """
    if size == "":
        return 0
    match = _SIZE.fullmatch(str(size).strip())
    if match is None or match[2].lower() not in _UNITS or not int(match[1]):
        raise ValueError(size)
    return int(match[1]) << _UNITS[match[2].lower()]


def layout_of(
    partition_by: Sequence[str],
    cluster_by: Sequence[str],
    properties: Mapping[str, str],
    comment: str,
    target_file_size: int | str,
    hints: Mapping[str, str],
) -> tuple[Layout, list[Problem]]:
    """Returns the layout that the options of a sink request, and the problems of these options (SMT568).

    Args:
        partition_by, cluster_by, properties, comment, target_file_size: The options.
        hints: The properties that users must not set, because the sink sets them. Maps the name of each of these
            properties to a hint for the error message.
    """
    problems: list[Problem] = []
    hint = "write a column, or a transform of one: day(at), bucket(16, id)"
    fields = _entries("partition_by", partition_by, partition_field, hint, problems)
    paths = _entries("cluster_by", cluster_by, column_path, "write a column, odd names in backticks", problems)
    size = 0
    try:
        size = size_in_bytes(target_file_size)
    except ValueError:
        problems.append(_wrong("target_file_size", "is not a size", "write bytes, or a text such as '128 MB'"))
    problems += _property_problems(properties, hints)
    return Layout(fields, paths, dict(properties), comment, size), problems


def _wrong(place: str, statement: str, hint: str) -> Problem:
    return Problem("SMT568", place, statement, hint)


def _entries(
    option: str, texts: Sequence[str], read: Callable[[str], T], hint: str, problems: list[Problem]
) -> tuple[T, ...]:
    """Parses each of ``texts``, the items of the option ``option``, with the function ``read``. Adds a problem for each
    invalid or repeated item. The problem of an invalid item contains ``hint``.
    """
    # a string is a sequence of strings, too: without this check, "day" would be the columns d, a and y
    if isinstance(texts, str):
        problems.append(_wrong(option, "is a text, not a list", f"write {option}=['{texts}']"))
        return ()
    entries: list[T] = []
    for text in texts:
        try:
            entry = read(text)
        except ValueError:
            problems.append(_wrong(f"{option}: {text}", "is not an entry of this option", hint))
            continue
        if entry in entries:
            problems.append(_wrong(f"{option}: {text}", "appears twice", "leave one out"))
        entries.append(entry)
    return tuple(entries)


def _property_problems(properties: Mapping[str, str], hints: Mapping[str, str]) -> Iterator[Problem]:
    for name, value in properties.items():
        place = f"properties: {name}"
        if not name or not isinstance(value, str):
            yield _wrong(place, "a property is a name and a text", "put the value into quotes")
        elif name.lower().startswith(OWN_PREFIX):
            yield _wrong(place, "this package keeps the name for itself", "choose another name")
        elif name.lower() in hints:
            yield _wrong(place, "the sink sets the property itself", hints[name.lower()])
        elif name.lower() in _OF_TABLES:
            yield _wrong(place, "Spark keeps the name for itself", "choose another name")
