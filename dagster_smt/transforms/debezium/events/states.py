"""Defines the states of change events, and reads the header that lists fields to drop. The state of an event determines
which row becomes the value.
"""

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
"""The state of a null value with the schema of an event, if records with null values are dropped."""
TOMBSTONE = "tombstone"
"""The state of a null value with the schema of an event, if records with null values pass through."""
DROPPED = "dropped"
"""The state of a dropped event."""
NULL_ROW = "null"
"""The state of an event whose value becomes null."""
DELETED_ROW = "deleted"
"""The state of an event whose value becomes the row before the change."""
CHANGED_ROW = "changed"
"""The state of an event whose value becomes the row after the change."""


def state_of(record: Record, mode: str, drops_fields: bool) -> str | None:
    """Returns the state of a change event, such as ``DELETED_ROW``, if the event has all fields that its transformation
    needs. For example, an event of an inserted row only needs the field ``after``; its state is ``CHANGED_ROW``.

    Returns None in all other cases. The record is then not a change event, or its output schema can only be planned
    from the whole schema of an event.

    Args:
        record: The record.
        mode: ``delete.tombstone.handling.mode``.
        drops_fields: True if a header of the record lists fields to drop. The plan then needs the row and its schema.
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
    """Returns two flags. The first is True if the event has no row after the change. The second is True if the event is
    dropped because it has no such row.
    """
    deleted = record.value.get("after") is None
    return deleted, deleted and (mode == "drop" or record.value.get("before") is None)


@dataclass(frozen=True)
class DropHeader:
    """The record header that lists the fields to drop.

    Attributes:
        name: The name of the header; empty if no header is configured.
        compatible: True if only optional fields are dropped.
    """

    name: str
    compatible: bool

    def names(self, record: Record) -> tuple[str, ...] | None:
        """Returns the fields to drop from ``record``. Returns None if the value of the header is not a list of
        names.
        """
        header = None
        for h in record.headers:
            if h.key == self.name:
                header = h
                break
        if not self.name or header is None or header.value is None:
            return ()
        if isinstance(header.value, list):
            return self._names(whole(header.value))
        return None

    def _names(self, items: list[Any]) -> tuple[str, ...] | None:
        """Returns the field names in ``items``, the value of the header.

        With ``compatible``, items that are not strings are ignored. Without ``compatible``, such an item makes the
        result None. Strings are then split at commas, because Debezium passes them to ReplaceField as one option:
        ``["a,b", "c"]`` gives ``a``, ``b`` and ``c``.
        """
        if self.compatible:
            return tuple(item for item in items if isinstance(item, str))
        if all(isinstance(item, str) for item in items):
            return tuple(split_list(",".join(items)))
        return None

    def planned(self, variant: Hashable, tombstones: bool) -> tuple[str, ...]:
        """Returns the names of the fields to drop from the records for which ``variant`` selects the plan (the output
        schema).

        Args:
            variant: The object that selects the plan. Usually a pair: the names in the header, and True if the row was
                deleted.
            tombstones: True if deleted rows become tombstones.

        Raises:
            PlanError: SMT475 if the header is not a list of names. SMT476 if the plan is made from schemas alone, so
                that the header is unknown. SMT477 if only optional fields may be dropped and the event becomes a
                tombstone, which has no schema.
        """
        if not self.name or isinstance(variant, str):
            return ()
        if not isinstance(variant, tuple):
            raise no_variant()
        names, deleted = variant
        if names is None:
            statement = f"the header '{self.name}' is not a list of names"
            raise refuse("SMT475", statement, 'write a list of names: ["a","b"]', CLASS_CAST)
        if names and deleted and tombstones and self.compatible:
            hint = "set drop.fields.keep.schema.compatible=false"
            raise refuse("SMT477", "a tombstone has no schema with optional fields to drop", hint, NULL_POINTER)
        return tuple(names)
