"""What sinks say in SQL: which rows a commit replaces, and texts as properties keep them."""

import zlib

from dagster_smt.spark.sql import quoted, text
from dagster_smt.tables.sinks.protocol import Replaced
from dagster_smt.tables.spec import SourceColumns


def replaced_rows(replaced: Replaced, columns: SourceColumns) -> str:
    """Returns the rows that go, as a SQL condition. Its depth grows with the logarithm of the number of ranges.

    Args:
        replaced: What is replaced; not everything.
        columns: The table's source columns.
    """
    topic, partition, offset = map(quoted, columns.names)
    if replaced.topics:
        parts = [f"{topic} IN ({', '.join(map(text, replaced.topics))})"]
    else:
        parts = []
    groups: dict[tuple[int, int, int], list[str]] = {}  # topics whose ranges have the same bounds share a condition
    for r in replaced.offsets.ranges():
        groups.setdefault((r.partition, r.start, r.end), []).append(r.topic)
    for (number, start, end), topics in groups.items():
        names = f"{topic} IN ({', '.join(map(text, topics))})"
        parts.append(f"{names} AND {partition} = {number} AND {offset} >= {start} AND {offset} < {end}")
    return _any_of(parts)


def _any_of(parts: list[str]) -> str:
    if len(parts) == 1:
        return f"({parts[0]})"
    middle = len(parts) // 2
    return f"({_any_of(parts[:middle])} OR {_any_of(parts[middle:])})"


def packed(plain: str) -> str:
    """Returns a text as a table property keeps it.

    Spark blots out properties in which it sees words such as ``url``.
    """
    return zlib.compress(plain.encode()).hex()


def unpacked(packed: str) -> str:
    """Reads what ``packed`` wrote.

    Raises:
        ValueError: It is damaged.
    """
    try:
        return zlib.decompress(bytes.fromhex(packed)).decode()
    except zlib.error:
        raise ValueError("damaged") from None
