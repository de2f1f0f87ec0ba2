"""Divides a window among the time partitions for which it was read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dagster_smt.model.windows.offsets import OffsetSet, TopicPartition, offsets_of
from dagster_smt.model.windows.window import Range, Window

_END = 2**63 - 1


@dataclass(frozen=True)
class Division:
    """The division of a window into parts, by offsets.

    Attributes:
        parts: The number of parts.
        begins: By topic-partition: pairs of an offset and the number of the part that begins at this offset, in order.
            Offsets before the first pair belong to part 0.
    """

    parts: int = 1
    begins: Mapping[TopicPartition, Sequence[tuple[int, int]]] = field(default_factory=dict)

    def of(self, window: Window) -> list[Window]:
        """Divides ``window``. Returns a window for each part, with the offsets that belong to this part."""
        whole = offsets_of(window)
        windows = []
        for number in range(self.parts):
            windows.append(Window(tuple((whole & self._offsets(number)).ranges())))
        return windows

    def _offsets(self, part: int) -> OffsetSet:
        """Returns all offsets that belong to the part with the number ``part``, whether or not a window contains
        them.
        """
        ranges = []
        for place, begins in self.begins.items():
            starts = [(0, 0), *begins]
            ends = [start for start, _ in begins] + [_END]
            for (start, own), end in zip(starts, ends, strict=True):
                if own == part:
                    ranges.append(Range(*place, start, end))
        return offsets_of(ranges)


WHOLE = Division()
"""The division into a single part, which is the whole window."""
