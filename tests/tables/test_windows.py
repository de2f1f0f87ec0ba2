"""Which offsets a run reads: one table of cases, no Spark."""

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dagster_smt.errors import ConfigError, SmtError, TableError
from dagster_smt.model.window import Range, Window
from dagster_smt.tables.spec import FileTopics, TopicTable, WindowRequest
from dagster_smt.tables.windows import choose_topics, covers, describe, overlaps, replaced_windows, resolve_window


def ranges(text: str) -> tuple[Range, ...]:
    """``a-0 0:5, a-1 2:9``"""
    found = re.findall(r"([\w.]+)-(\d+) (\d+):(\d+)", text)
    return tuple(Range(t, int(p), int(a), int(b)) for t, p, a, b in found)


def window(text: str) -> Window:
    return Window(ranges(text))


@dataclass
class Case:
    name: str
    available: str
    expected: str
    progress: dict[tuple[str, int], int] = field(default_factory=dict)
    explicit: str | None = None
    max_records: int | None = None


RESOLVED = [
    Case("first run reads all", "a-0 0:5, a-1 0:3", "a-0 0:5, a-1 0:3"),
    Case("first run starts at the earliest record", "a-0 7:9", "a-0 7:9"),
    Case("goes on per partition", "a-0 0:5, a-1 0:3", "a-0 2:5", {("a", 0): 2, ("a", 1): 3}),
    Case("a new partition starts at its beginning", "a-0 0:5, a-1 4:6", "a-1 4:6", {("a", 0): 5}),
    Case("nothing new", "a-0 0:5", "", {("a", 0): 5}),
    Case("nothing there", "a-0 0:0", ""),
    Case("at most so many per partition", "a-0 0:5, a-1 0:1", "a-0 2:4, a-1 0:1", {("a", 0): 2}, max_records=2),
    Case("old records deleted after they were read", "a-0 4:9", "a-0 5:9", {("a", 0): 5}),
    Case("progress of topics not asked for is left alone", "a-0 0:5", "a-0 0:5", {("b", 0): 50}),
    Case("explicit", "a-0 0:9", "a-0 2:4", {("a", 0): 9}, explicit="a-0 2:4"),
    Case("explicit is not shortened", "a-0 0:9", "a-0 2:8", explicit="a-0 2:8", max_records=1),
    Case("empty explicit ranges vanish", "a-0 0:9", "", explicit="a-0 2:2"),
]


@pytest.mark.parametrize("case", RESOLVED, ids=[c.name for c in RESOLVED])
def test_resolve(case):
    request = WindowRequest((), window(case.explicit) if case.explicit is not None else None, case.max_records)
    assert resolve_window(request, ranges(case.available), case.progress) == window(case.expected)


REFUSED = [
    (
        Case("retention", "a-0 4:9, b-0 3:9", "", {("a", 0): 2, ("b", 0): 1}),
        [
            "SMT511 a-0: offsets 2 to 4 were deleted before they were read",
            "SMT511 b-0: offsets 1 to 3 were deleted before they were read",
        ],
    ),
    (
        Case("created anew", "a-0 0:3", "", {("a", 0): 5}),
        ["SMT515 a-0: the sink has read up to offset 5, but it ends at 3"],
    ),
    (
        Case("partition gone", "a-0 0:3", "", {("a", 1): 5}),
        ["SMT515 a-1: the sink has read up to offset 5, but the partition is gone"],
    ),
    (Case("no records", "a-0 0:3", "", max_records=0), ["SMT513 max_records: 0 records is no window"]),
    (
        Case("explicit not there", "a-0 2:5", "", explicit="a-0 1:3, a-1 0:1, b-0 4:3"),
        [
            "SMT510 a-0: offsets 1 to 3 are not all there",
            "SMT510 a-1: there is no such partition",
            "SMT510 b-0: the range ends at 3, before it starts at 4",
        ],
    ),
    (
        Case("two ranges of a partition", "a-0 0:9", "", explicit="a-0 1:3, a-0 5:6"),
        ["SMT510 a-0: two ranges of one partition"],
    ),
]


@pytest.mark.parametrize(("case", "expected"), REFUSED, ids=[c.name for c, _ in REFUSED])
def test_resolve_refuses(case, expected):
    with pytest.raises(SmtError) as caught:
        resolve_window(
            WindowRequest((), window(case.explicit) if case.explicit else None, case.max_records),
            ranges(case.available),
            case.progress,
        )
    assert [str(p).split("\n")[0] for p in caught.value.problems] == expected
    assert all(p.hint for p in caught.value.problems)


def table(*topics: str, pattern: str = "") -> TopicTable:
    return TopicTable(FileTopics(Path("topics")), topics, pattern)


TOPICS = [
    (table("b", "a"), WindowRequest(), ("a", "b")),
    (table("a", pattern=r"x\..*"), WindowRequest(), ("a", "x.1", "x.2")),
    (table(pattern="x.1"), WindowRequest(), ("x.1",)),
    (table("a", "b"), WindowRequest(("b",)), ("b",)),
    (table("not.there"), WindowRequest(), ("not.there",)),
    (table("a", "b"), WindowRequest((), window("b-0 0:1")), ("b",)),
]


@pytest.mark.parametrize(("spec", "request_", "expected"), TOPICS)
def test_choose_topics(spec, request_, expected):
    assert choose_topics(spec, request_, ["a", "b", "x.1", "x.2", "xy"]) == expected


@pytest.mark.parametrize(
    ("spec", "request_", "error", "message"),
    [
        (table(), WindowRequest(), ConfigError, "SMT508 topics: the topic table names no topic"),
        (table(pattern="("), WindowRequest(), ConfigError, "SMT509 pattern: not a regular expression: "),
        (table("orders"), WindowRequest(("order",)), TableError, "SMT512 order: not a topic of this table"),
        (table("a"), WindowRequest((), window("b-0 0:1")), TableError, "SMT512 b: not a topic of this table"),
    ],
)
def test_choose_topics_refuses(spec, request_, error, message):
    with pytest.raises(error) as caught:
        choose_topics(spec, request_, ["a", "b"])
    assert str(caught.value).startswith(message)


COMMITTED = {1: window("a-0 0:5, a-1 0:5"), 2: window("a-0 5:9"), 3: window("b-0 0:4")}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("a-0 5:9", (2,)),
        ("a-0 0:9, a-1 0:5", (1, 2)),
        ("a-0 0:9, a-1 0:5, b-0 0:4", (1, 2, 3)),
        ("a-0 9:12", ()),
        ("a-0 5:12", (2,)),
        ("c-0 0:4", ()),
    ],
)
def test_explicit_replaces_whole_windows(asked, expected):
    assert replaced_windows(window(asked), COMMITTED) == expected


@pytest.mark.parametrize(
    ("asked", "places"),
    [
        ("a-0 0:5", ["a-0 [0, 5), a-1 [0, 5)"]),
        ("a-0 6:9", ["a-0 [5, 9)"]),
        ("a-0 4:6, b-0 0:4", ["a-0 [0, 5), a-1 [0, 5)", "a-0 [5, 9)"]),
    ],
)
def test_explicit_never_cuts_a_window(asked, places):
    with pytest.raises(TableError) as caught:
        replaced_windows(window(asked), COMMITTED)
    assert [(p.code, p.place) for p in caught.value.problems] == [("SMT514", place) for place in places]


def test_overlap_and_cover():
    assert not overlaps(window("a-0 0:5"), window("a-0 5:6, a-1 0:5"))
    assert overlaps(window("a-0 0:5, a-1 4:5"), window("a-1 3:9"))
    assert covers(window("a-0 0:5, a-1 0:5"), window("a-1 2:5"))
    assert not covers(window("a-0 0:5"), window("a-0 0:6"))
    assert not covers(window("a-0 0:5"), window("a-1 0:1"))


def test_describe():
    assert describe(window("a-0 0:5")) == "a-0 [0, 5)"
    assert describe(window("a-0 0:5, a-1 0:5, a-2 0:5"), 2) == "a-0 [0, 5), a-1 [0, 5) and 1 more"
    assert describe(Window()) == "nothing"


def test_window_id_holds_offsets_only_and_any_order():
    assert window("a-0 0:5, b-0 1:2").id == window("b-0 1:2, a-0 0:5").id
    assert Window.from_json(window("b-0 1:2, a-0 0:5").to_json()) == window("a-0 0:5, b-0 1:2")
