"""Windows: a bounded range of offsets, fixed before anything is read."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Range:
    """Offsets ``start`` (included) to ``end`` (excluded) of one topic-partition."""

    topic: str
    partition: int
    start: int
    end: int

    @property
    def records(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Window:
    """A bounded range of topic-partitions. Its identity holds offsets only, not the chain."""

    ranges: tuple[Range, ...] = ()

    @property
    def records(self) -> int:
        """Number of offsets in the window."""
        return sum(r.records for r in self.ranges)

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(sorted({r.topic for r in self.ranges}))

    @property
    def id(self) -> str:
        """Sixteen hex digits that identify the window."""
        text = json.dumps(self.to_json(), separators=(",", ":"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, dict[str, list[int]]]:
        """``{topic: {partition: [start, end]}}``"""
        found: dict[str, dict[str, list[int]]] = {}
        for r in sorted(self.ranges):
            found.setdefault(r.topic, {})[str(r.partition)] = [r.start, r.end]
        return found

    @classmethod
    def from_json(cls, data: Mapping[str, Mapping[str, list[int]]]) -> "Window":
        """Read what ``to_json`` wrote."""
        return cls(tuple(sorted(Range(t, int(p), a, b) for t, parts in data.items() for p, (a, b) in parts.items())))
