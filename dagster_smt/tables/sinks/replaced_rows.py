"""Writes SQL conditions for the rows that a commit replaces, and encodes strings for table properties."""

import zlib
from typing import Any

from dagster_smt.errors import Problem, UnsupportedError
from dagster_smt.spark.sql import quoted, text
from dagster_smt.spark.versions import missing
from dagster_smt.tables.sink_options import SourceColumns
from dagster_smt.tables.sinks.protocol import Replaced
from dagster_smt.tables.sql import literal

_ESCAPES = "spark.sql.parser.escapedStringLiterals"
"""The setting that makes Spark treat a backslash in a literal as an ordinary character."""


def procedure_argument(session: Any, value: str) -> str:
    """Returns ``value`` as SQL for an argument of a ``CALL`` statement, such as ``'orders'``. In Spark 3.5, Iceberg
    accepts only literals as arguments, not expressions.

    Raises:
        UnsupportedError: SMT664, Spark 3.5 cannot express ``value`` as a literal with the session's current settings.
    """
    argument = text(value)
    if argument.startswith("'") or "expressions in CALL" not in missing():
        return argument
    if str(session.conf.get(_ESCAPES, "false")).lower() == "true":
        statement = "on Spark 3.5, the name of an Iceberg table with a quote, a backslash or a dollar needs escapes"
        raise UnsupportedError(
            Problem("SMT664", value, statement, f"set {_ESCAPES} to false, or choose another location")
        )
    return literal(value)


def replaced_rows(replaced: Replaced, columns: SourceColumns) -> str:
    """Returns an SQL condition that matches the rows that a commit replaces. For the offsets ``orders-0 [10, 20)``, the
    condition is true if the topic is ``orders``, the partition is 0, and the offset is from 10 to 19.

    The conditions for many ranges are nested as a balanced tree of ``OR``, so that Spark can parse them.

    Args:
        replaced: The replaced rows. Its attribute ``everything`` must be false.
        columns: The names of the table's columns with the topic, partition and offset of each row's record.
    """
    topic, partition, offset = map(quoted, columns.names)
    if replaced.topics:
        parts = [f"{topic} IN ({', '.join(map(text, replaced.topics))})"]
    else:
        parts = []
    groups: dict[tuple[int, int, int], list[str]] = {}  # topics with equal ranges share a condition
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
    """Encodes the string ``plain`` for a table property.

    Spark would redact a plain property that contains words such as ``url``.
    """
    return zlib.compress(plain.encode()).hex()


def unpacked(packed: str) -> str:
    """Decodes a string that ``packed`` has encoded.

    Raises:
        ValueError: The string is damaged.
    """
    try:
        return zlib.decompress(bytes.fromhex(packed)).decode()
    except zlib.error:
        # callers catch ValueError, which fromhex and decode raise themselves
        raise ValueError("damaged") from None
