"""What each record says of a change event: which of its rows counts, and which fields a header drops from it."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from dagster_smt.authoring.options import split_list
from dagster_smt.authoring.transform import refuse
from dagster_smt.model.record import Record
from dagster_smt.transforms.debezium.events.shape import CLASS_CAST, NULL_POINTER, no_variant
from dagster_smt.transforms.debezium.events.values import is_change_event
from dagster_smt.values.json.lazy import whole

NO_EVENT = "no event"
"""A null under the schema of an event, which is dropped."""
TOMBSTONE = "tombstone"
"""A null under the schema of an event, which passes."""
DROPPED = "dropped"
"""An event that is dropped."""
NULL_ROW = "null"
"""An event that leaves null in the place of a row."""
DELETED_ROW = "deleted"
"""An event that leaves the row before the change."""
CHANGED_ROW = "changed"
"""An event that leaves the row after the change."""


def state_of(record: Record, mode: str, drops_fields: bool) -> str | None:
    """What is left of an event that needs less of its schema than others: one of the texts above, or None.

    Args:
        record: The record.
        mode: ``delete.tombstone.handling.mode``.
        drops_fields: Whether a header drops fields from it, which needs the row and its schema.
    """
    if not is_change_event(record.value_schema):
        return None
    event = record.value
    if event is None:
        if mode == "rewrite-with-tombstone":
            return TOMBSTONE
        return NO_EVENT
    if "after" not in event:
        return None
    if event["after"] is not None:
        if drops_fields:
            return None
        return CHANGED_ROW
    if "before" not in event:
        return None
    if mode == "drop" or event["before"] is None:
        return DROPPED
    if drops_fields:
        return None
    if mode.startswith("rewrite"):
        return DELETED_ROW
    return NULL_ROW


def without_row(record: Record, mode: str) -> tuple[bool, bool]:
    """Whether an event has no row after the change, and whether it is dropped for that."""
    deleted = record.value.get("after") is None
    return deleted, deleted and (mode == "drop" or record.value.get("before") is None)


@dataclass(frozen=True)
class DropHeader:
    """The header that names the fields to drop.

    Attributes:
        name: Its name; empty: there is none.
        compatible: Whether only optional fields are dropped.
    """

    name: str
    compatible: bool

    def names(self, record: Record) -> tuple[str, ...] | None:
        """The fields that are dropped from a record; None if the header is no list of names."""
        header = next((h for h in record.headers if h.key == self.name), None)
        if not self.name or header is None or header.value is None:
            return ()
        if isinstance(header.value, list):
            return self._names(whole(header.value))
        return None

    def _names(self, items: list[Any]) -> tuple[str, ...] | None:
        """The names in a list. Where all kinds of fields are dropped, ReplaceField gets them joined by commas."""
        if self.compatible:
            return tuple(item for item in items if isinstance(item, str))
        if all(isinstance(item, str) for item in items):
            return tuple(split_list(",".join(items)))
        return None

    def planned(self, variant: Hashable, tombstones: bool) -> tuple[str, ...]:
        """The fields that are dropped, in a plan for records of a variant: names, and whether the row was deleted.

        Args:
            variant: The variant.
            tombstones: Whether deleted rows become tombstones.

        Raises:
            PlanError: SMT475, the header is no list of names; SMT476, only schemas are known; SMT477, a tombstone has
                no schema.
        """
        if not self.name or isinstance(variant, str):
            return ()
        if not isinstance(variant, tuple):
            raise no_variant()
        names, deleted = variant
        if names is None:
            statement = f"the header '{self.name}' is no list of names"
            raise refuse("SMT475", statement, 'write a list of names: ["a","b"]', CLASS_CAST)
        if names and deleted and tombstones and self.compatible:
            hint = "set drop.fields.keep.schema.compatible=false"
            raise refuse("SMT477", "a tombstone has no schema that says which fields are optional", hint, NULL_POINTER)
        return tuple(names)
