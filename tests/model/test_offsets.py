"""Sets of offsets: joined, subtracted, intersected; checked against sets of numbers."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagster_smt.model.windows.offsets import OffsetSet, common, minus, offsets_of, union
from dagster_smt.model.windows.window import Range, Window

INTERVALS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=5)


def numbers(intervals) -> set[int]:
    return {n for start, end in intervals for n in range(start, end)}


@given(INTERVALS, INTERVALS)
def test_as_sets_of_numbers(one, other):
    for ours, original in ((union, set.union), (minus, set.difference), (common, set.intersection)):
        result = ours(one, other)
        assert numbers(result) == original(numbers(one), numbers(other))
        assert all(a < b for a, b in result)
        assert all(left[1] < right[0] for left, right in itertools.pairwise(result)), "sorted, apart"


@pytest.mark.parametrize(
    ("one", "other", "joined", "left", "shared"),
    [
        ([(0, 5)], [(5, 9)], ((0, 9),), ((0, 5),), ()),
        ([(0, 5), (7, 9)], [(3, 8)], ((0, 9),), ((0, 3), (8, 9)), ((3, 5), (7, 8))),
        ([], [(3, 3)], (), (), ()),
    ],
)
def test_intervals(one, other, joined, left, shared):
    assert (union(one, other), minus(one, other), common(one, other)) == (joined, left, shared)


def test_of_topic_partitions():
    held = offsets_of(Window((Range("a", 0, 0, 5), Range("a", 1, 2, 3), Range("b", 0, 0, 1))))
    more = offsets_of([Range("a", 0, 7, 9), Range("a", 0, 4, 6)])
    assert (held | more).of("a", 0) == ((0, 6), (7, 9))
    assert (held - more).of("a", 0) == ((0, 4),) and (held & more).parts == {("a", 0): ((4, 5),)}
    assert held.without(["a"]).parts == {("b", 0): ((0, 1),)} and held.records == 7
    assert not (held - held) and OffsetSet.from_json(held.to_json()) == held
    assert list(more.ranges()) == [Range("a", 0, 4, 6), Range("a", 0, 7, 9)]


COARSE = [
    ([(0, 1), (2, 3), (9, 10)], 3, [(0, 1), (2, 3), (9, 10)]),
    ([(0, 1), (2, 3), (9, 10)], 2, [(0, 3), (9, 10)]),
    ([(0, 1), (7, 8), (9, 10)], 2, [(0, 1), (7, 10)]),
    ([(0, 1), (2, 3), (9, 10)], 1, [(0, 10)]),
    ([(0, 1), (2, 3), (9, 10)], 0, [(0, 10)]),
    ([], 1, []),
]


@pytest.mark.parametrize(("parts", "most", "left"), COARSE)
def test_the_smallest_holes_are_filled_first(parts, most, left):
    ranges = [Range("t", 0, a, b) for a, b in parts]
    assert offsets_of(ranges).coarse(most) == offsets_of(Range("t", 0, a, b) for a, b in left)


def test_holes_are_filled_in_the_partition_that_has_them():
    offsets = offsets_of([Range("a", 0, 0, 1), Range("a", 0, 9, 10), Range("b", 0, 0, 1), Range("b", 0, 2, 3)])
    assert offsets.coarse(3) == offsets_of([Range("a", 0, 0, 1), Range("a", 0, 9, 10), Range("b", 0, 0, 3)])
