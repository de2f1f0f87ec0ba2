"""Divides a window (the offsets that a run reads) into parts, one for each time partition of the run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dagster_smt.model.windows.offsets import OffsetSet, TopicPartition, offsets_of
from dagster_smt.model.windows.window import Range, Window

_END = 2**63 - 1


@dataclass(frozen=True)
class Division:
    """A rule that divides the offsets of each topic-partition into numbered parts, such as one part for each day.

    Attributes:
        parts: The number of parts.
        begins: For each topic-partition, pairs of an offset and the number of the part that begins at this offset, in
            order. With ``[(10, 1), (20, 2)]``, the offsets 0 to 9 belong to part 0, and 10 to 19 to part 1.
    """

    parts: int = 1
    begins: Mapping[TopicPartition, Sequence[tuple[int, int]]] = field(default_factory=dict)

    def of(self, window: Window) -> list[Window]:
        """Returns one window for each part. Each of these windows contains the offsets of ``window`` that belong to its
        part.
        """
        whole = offsets_of(window)
        windows = []
        for number in range(self.parts):
            windows.append(Window(tuple((whole & self._offsets(number)).ranges())))
        return windows

    def _offsets(self, part: int) -> OffsetSet:
        """Returns all offsets of the part with the number ``part``, for every topic-partition in ``begins``."""
        ranges = []
        for place, begins in self.begins.items():
            # the offsets before the first border belong to part 0
            starts = [(0, 0), *begins]
            ends = [start for start, _ in begins] + [_END]
            for (start, own), end in zip(starts, ends, strict=True):
                if own == part:
                    ranges.append(Range(*place, start, end))
        return offsets_of(ranges)


WHOLE = Division()
"""The division into a single part, which is the whole window."""
