"""Defines limits for schemas that come from records or from a registry, and for the values of one record.

A few lines of Avro or Protobuf can describe billions of fields, because named types can contain one another. A few
bytes of a record can describe billions of values. Without limits, anybody who can write to a topic could exhaust the
memory of a run. Schemas that a topic table declares have no such limits.
"""

import threading

from dagster_smt.errors import data_error
from dagster_smt.model.schema import Schema

MAX_NODES = 20_000
"""The largest number of fields, items and types in a schema. A type that is used several times is counted each time."""
MAX_LEVELS = 100
"""The largest number of nested levels in a schema."""
MAX_TEXT = 1_000_000
"""The largest size of a schema inside a record, in bytes."""
MAX_SCHEMAS = 500
"""The largest number of schemas in one window (a run's range of offsets) for which a run plans columns."""
MAX_VALUES = 10_000_000
"""The largest number of values in one record."""
MAX_ITEMS = 2_000_000
"""The largest number of items in one Avro array or map. Before Java's reader reads the items, it allocates memory for
the number that the record claims.
"""
MAX_BYTES = 64 * 2**20
"""The largest size of one Avro record, in bytes.

For a string, Java's reader allocates as much memory as the record claims to need.
"""


def excess(schema: Schema) -> str | None:
    """Returns a phrase about the limit that ``schema`` exceeds, such as "it nests more than 100 levels". Returns None
    if it exceeds no limit.
    """
    if schema.nodes > MAX_NODES:
        return f"it has more than {MAX_NODES} fields and types, each counted where it is used"
    if schema.levels > MAX_LEVELS:
        return f"it nests more than {MAX_LEVELS} levels"
    return None


class Room(threading.local):
    """A counter of the values that the current record may still contain.

    Before a reader reads the items of a list, it subtracts their number from the counter.
    """

    left = MAX_VALUES

    def reset(self) -> None:
        """Resets the counter for a new record."""
        self.left = MAX_VALUES

    def take(self, values: int) -> None:
        """Subtracts ``values`` from the number of values that the record may still have.

        Raises:
            DataError: SMT459 if the record has too many values.
        """
        self.left -= values
        if self.left < 0:
            statement = f"the record's bytes describe more than {MAX_VALUES} values"
            raise data_error("SMT459", statement, "check the dead letter, and the schema of its arrays and maps")


room = Room()
"""The counter for the record that the current thread reads."""
