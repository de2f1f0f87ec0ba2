"""Remembers records that entered a table although a mask, drop or rename did not change them.

The state of the table (a part of each commit) lists these records until a run reads them again. If the same mask later
changes other records, its path is right. The older records then lacked the field, and are removed from the list.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dagster_smt.model.windows.offsets import OffsetSet

MOST_ENTRIES, MOST_RANGES, MOST_RUNS = 50, 500, 20
"""Three limits for the state of a table: at most 50 entries (``Unmasked``), 500 ranges of offsets in all entries
together, and 20 runs in each entry. Without these limits, commits would grow without end.

If there are more ranges, neighbouring ranges are joined, so that no offset is forgotten.
"""
SEVERAL = "(several)"


@dataclass(frozen=True, slots=True)
class Unmasked:
    """A mask, drop or rename, and the records in the table that it did not change. For example: the mask of ``email``
    changed none of the records ``orders-0 [10, 20)``.

    Attributes:
        entry: Fingerprint of the mask, drop or rename, by which later runs recognize it. If it changes records in a
            later run, its path is right, and the older records are forgotten. Empty if no later run can show that the
            path is right, for example because this object covers several masks, or because the run's chain did not
            contain the mask (``left_out``).
        stage, action, side, path: The stage, the action, ``key`` or ``value``, and the path, as reports show them.
        left_out: True if the chain of the asset's definition contains the mask or drop, but the chain of the run did
            not.
        runs: The last runs, oldest first.
        offsets: The offsets of the records.
    """

    entry: str
    stage: str
    action: str
    side: str
    path: str
    left_out: bool = False
    runs: tuple[str, ...] = ()
    offsets: OffsetSet = field(default_factory=OffsetSet)

    def joined(self, other: "Unmasked") -> "Unmasked":
        """Returns a copy of this object with the runs and records of ``other`` added."""
        runs = tuple(dict.fromkeys((*self.runs, *other.runs)))[-MOST_RUNS:]
        return replace(self, runs=runs, offsets=self.offsets | other.offsets)

    def to_json(self) -> dict[str, Any]:
        """Returns this object as JSON data, which a commit stores in the state of the table."""
        return {
            "entry": self.entry,
            "stage": self.stage,
            "action": self.action,
            "side": self.side,
            "path": self.path,
            "left_out": self.left_out,
            "runs": list(self.runs),
            "offsets": self.offsets.to_json(),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Unmasked":
        """Returns the object from ``data``, the JSON data that ``to_json`` returned."""
        return cls(
            entry=data["entry"],
            stage=data["stage"],
            action=data["action"],
            side=data["side"],
            path=data["path"],
            left_out=data.get("left_out", False),
            runs=tuple(data.get("runs", ())),
            offsets=OffsetSet.from_json(data.get("offsets", {})),
        )


@dataclass(frozen=True, slots=True)
class Accepted:
    """A user's decision to accept records that a mask, drop or rename did not change.

    Attributes:
        run: The run that accepted the records.
        reason: The reason that the person gave.
        paths: The paths of the masks, drops and renames that did not change the records.
        records: The number of accepted records, counted by their offsets.
    """

    run: str
    reason: str
    paths: tuple[str, ...] = ()
    records: int = 0


def remembered(
    before: Sequence[Unmasked], read: OffsetSet, touched: Collection[str], added: Sequence[Unmasked]
) -> tuple[Unmasked, ...]:
    """Returns the unmasked records that a table remembers after a run. They are records that a mask, drop or rename did
    not change.

    Args:
        before: The records that the table remembered before the run.
        read: The offsets that the run has read. Their rows are new, so the old entries are removed.
        touched: Fingerprints of the masks, drops and renames that changed records in this run. Their paths are right,
            so the older records lacked the field. These records are forgotten.
        added: The unmasked records that this run has written.
    """
    left = []
    for u in before:
        # an entry with left_out stays: a later run with the complete chain shows nothing about the rows of the run
        # without the mask
        if u.left_out or u.entry not in touched:
            left.append(replace(u, offsets=u.offsets - read))
    merged: dict[tuple[Any, ...], Unmasked] = {}
    for one in (*(u for u in left if u.offsets), *added):
        key = (one.entry, one.stage, one.action, one.side, one.path, one.left_out)
        merged[key] = merged[key].joined(one) if key in merged else one
    return _bounded(list(merged.values()))


def without_topics(before: Sequence[Unmasked], topics: Collection[str]) -> tuple[Unmasked, ...]:
    """Returns ``before``, a list of unmasked records, without the records of ``topics``."""
    left = (replace(u, offsets=u.offsets.without(topics)) for u in before)
    return tuple(u for u in left if u.offsets)


def offsets_on_record(unmasked: Sequence[Unmasked]) -> OffsetSet:
    """Returns the offsets of all records in ``unmasked``."""
    offsets = OffsetSet()
    for one in unmasked:
        offsets |= one.offsets
    return offsets


def _bounded(unmasked: list[Unmasked]) -> tuple[Unmasked, ...]:
    while len(unmasked) > MOST_ENTRIES:
        # the two oldest entries are merged; the merged entry is a mask if one of the two is a mask
        first, second = unmasked[0], unmasked[1]
        if "masked" in (first.action, second.action):
            action = "masked"
        else:
            action = first.action
        merged = replace(first.joined(second), entry="", stage=SEVERAL, action=action, path=SEVERAL)
        unmasked = [replace(merged, left_out=first.left_out or second.left_out), *unmasked[2:]]
    each = MOST_RANGES // max(1, len(unmasked))
    return tuple(replace(one, offsets=one.offsets.coarse(each)) for one in unmasked)
