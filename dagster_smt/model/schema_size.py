"""Limits for schemas that come from records or a registry, and for the values of one record.

A few lines of Avro or Protobuf can describe billions of fields, because named types can contain one another; a few
bytes of a record can describe billions of values. Anybody who can write to a topic could so exhaust the memory of a
run. Schemas that a topic table declares have no such limits.
"""

import threading

from dagster_smt.errors import data_error
from dagster_smt.model.schema import Schema

MAX_NODES = 20_000
"""Most fields, items and types of a schema, each counted wherever it is used."""
MAX_LEVELS = 100
"""Most levels of nesting."""
MAX_TEXT = 1_000_000
"""Most bytes of a schema inside a record."""
MAX_SCHEMAS = 500
"""Most schemas for which the columns of one window are planned."""
MAX_VALUES = 10_000_000
"""Most values of one record."""
MAX_ITEMS = 2_000_000
"""Most items of one array or map of Avro. Java's reader allocates as many as a record claims, before it reads them."""
MAX_BYTES = 64 * 2**20
"""Most bytes of one record of Avro. Java's reader allocates a text of the length that a record claims."""


def excess(schema: Schema) -> str | None:
    """Returns the limit that a schema exceeds, as text; None if it exceeds none."""
    if schema.nodes > MAX_NODES:
        return f"it has more than {MAX_NODES} fields and types, each counted where it is used"
    if schema.levels > MAX_LEVELS:
        return f"it nests more than {MAX_LEVELS} levels"
    return None


class Room(threading.local):
    """The number of values that the current record may still have.

    Readers take the items of a list before they read them.
    """

    left = MAX_VALUES

    def reset(self) -> None:
        """Begins another record."""
        self.left = MAX_VALUES

    def take(self, values: int) -> None:
        """Takes a number of values.

        Raises:
            DataError: SMT459, the record has too many values.
        """
        self.left -= values
        if self.left < 0:
            statement = f"the record's bytes describe more than {MAX_VALUES} values"
            raise data_error("SMT459", statement, "check the dead letter, and the schema of its arrays and maps")


room = Room()
"""The room of the record that the current thread reads."""
