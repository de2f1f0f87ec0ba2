"""How large a schema may be that records or a registry bring along: whoever writes it does not ask who reads.

A few lines of Avro or Protobuf can stand for billions of fields, as a named type holds others that hold others; and a
few bytes of a record for billions of values. What is declared in a topic table has no such limits.
"""

import threading

from dagster_smt.errors import data_error
from dagster_smt.model.schema import Schema

MAX_NODES = 20_000
"""Fields, items and types of a schema, each counted wherever it is used."""
MAX_LEVELS = 100
"""Levels of nesting."""
MAX_TEXT = 1_000_000
"""Bytes of a schema that a record brings along."""
MAX_SCHEMAS = 500
"""Schemas for which the columns of a window are planned."""
MAX_VALUES = 10_000_000
"""Values that one record may make of its bytes."""
MAX_ITEMS = 2_000_000
"""Items of one array or map of Avro. Java's reader makes room for as many as a record claims, before it looks."""
MAX_BYTES = 64 * 2**20
"""Bytes of one record of Avro. Java's reader makes room for a text of the length that a record claims."""


def excess(schema: Schema) -> str | None:
    """What is too large about a schema; None if nothing is."""
    if schema.nodes > MAX_NODES:
        return f"it has more than {MAX_NODES} fields and types, each counted where it is used"
    if schema.levels > MAX_LEVELS:
        return f"it nests more than {MAX_LEVELS} levels"
    return None


class Room(threading.local):
    """Counts the values that a record makes, before they are made: readers ask for room for the items of each list."""

    left = MAX_VALUES

    def reset(self) -> None:
        """Begin with another record."""
        self.left = MAX_VALUES

    def take(self, values: int) -> None:
        """Ask for room.

        Raises:
            DataError: SMT459, the record has no more of it.
        """
        self.left -= values
        if self.left < 0:
            statement = f"the record's bytes stand for more than {MAX_VALUES} values"
            raise data_error("SMT459", statement, "look at the dead letter, and at the schema of its arrays and maps")


room = Room()
"""That of the record that a thread reads."""
