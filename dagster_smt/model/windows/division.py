"""How a window that was read for several partitions of time is divided among them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dagster_smt.model.windows.offsets import OffsetSet, TopicPartition, offsets_of
from dagster_smt.model.windows.window import Range, Window

_END = 2**63 - 1


@dataclass(frozen=True)
class Division:
    """A window's parts, by offsets.

    Attributes:
        parts: How many there are.
        begins: Per topic-partition from which offset on records are of which part, in order. What lies before the
            first of them is of part 0.
    """

    parts: int = 1
    begins: Mapping[TopicPartition, Sequence[tuple[int, int]]] = field(default_factory=dict)

    def of(self, window: Window) -> list[Window]:
        """The part of a window that each part has."""
        whole = offsets_of(window)
        return [Window(tuple((whole & self._offsets(number)).ranges())) for number in range(self.parts)]

    def _offsets(self, part: int) -> OffsetSet:
        """All offsets of a part, be they in a window or not."""
        ranges = []
        for place, begins in self.begins.items():
            starts = [(0, 0), *begins]
            ends = [start for start, _ in begins] + [_END]
            ranges += [Range(*place, start, end) for (start, own), end in zip(starts, ends, strict=True) if own == part]
        return offsets_of(ranges)


WHOLE = Division()
"""Of a window that is not divided."""
