"""What a table holds of records in which a mask, drop or rename touched nothing: it stays on record until run again."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dagster_smt.model.windows.offsets import OffsetSet

MOST_ENTRIES, MOST_RANGES, MOST_RUNS = 50, 500, 20
"""So much a table remembers one by one: a commit must not grow with it. Beyond it ranges are joined, none forgotten."""
SEVERAL = "(several)"


@dataclass(frozen=True, slots=True)
class Unmasked:
    """A path that somebody relied on, and the records that are in the table as if it had not been there.

    Attributes:
        entry: Fingerprint of the ledger entry; empty if no later run can tell that it was right.
        stage, action, side, path: The entry, as people know it.
        left_out: Whether the run's chain did not have it, though the definition's has.
        runs: The runs, oldest first; of many the last ones.
        offsets: The records.
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
        """Both as one."""
        runs = tuple(dict.fromkeys((*self.runs, *other.runs)))[-MOST_RUNS:]
        return replace(self, runs=runs, offsets=self.offsets | other.offsets)

    def to_json(self) -> dict[str, Any]:
        """As a state keeps it."""
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
        """Read what ``to_json`` wrote."""
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
    """That somebody found what was on record to be fine.

    Attributes:
        run: The run that said so.
        reason: Why.
        paths: The paths that were on record.
        records: How many offsets.
    """

    run: str
    reason: str
    paths: tuple[str, ...] = ()
    records: int = 0


def remembered(
    before: Sequence[Unmasked], read: OffsetSet, touched: Collection[str], found: Sequence[Unmasked]
) -> tuple[Unmasked, ...]:
    """What is on record after a run.

    Args:
        before: What was on record.
        read: The offsets that the run has read, and so replaced.
        touched: Fingerprints of entries that touched records: what they did not touch before had no such field.
        found: What the run adds.
    """
    left = []
    for u in before:
        if u.left_out or u.entry not in touched:
            left.append(replace(u, offsets=u.offsets - read))
    merged: dict[tuple[Any, ...], Unmasked] = {}
    for one in (*(u for u in left if u.offsets), *found):
        key = (one.entry, one.stage, one.action, one.side, one.path, one.left_out)
        merged[key] = merged[key].joined(one) if key in merged else one
    return _bounded(list(merged.values()))


def without_topics(before: Sequence[Unmasked], topics: Collection[str]) -> tuple[Unmasked, ...]:
    """What is on record of other topics."""
    left = (replace(u, offsets=u.offsets.without(topics)) for u in before)
    return tuple(u for u in left if u.offsets)


def offsets_on_record(unmasked: Sequence[Unmasked]) -> OffsetSet:
    """All records that are on record."""
    found = OffsetSet()
    for one in unmasked:
        found |= one.offsets
    return found


def _bounded(found: list[Unmasked]) -> tuple[Unmasked, ...]:
    while len(found) > MOST_ENTRIES:
        # the oldest come first; whether a mask was among them still decides how bad it is
        first, second = found[0], found[1]
        if "masked" in (first.action, second.action):
            action = "masked"
        else:
            action = first.action
        merged = replace(first.joined(second), entry="", stage=SEVERAL, action=action, path=SEVERAL)
        found = [replace(merged, left_out=first.left_out or second.left_out), *found[2:]]
    each = MOST_RANGES // max(1, len(found))
    return tuple(replace(one, offsets=one.offsets.coarse(each)) for one in found)
