"""Which offsets a run reads: one table of cases, no Spark."""

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from dagster_smt.errors import ConfigError, TableError
from dagster_smt.model.topics.state import TableState
from dagster_smt.model.windows.offsets import offsets_of
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from dagster_smt.tables.window_request import WindowRequest
from dagster_smt.tables.windows import Available, choose_topics, describe, resolve_window


def ranges(text: str) -> tuple[Range, ...]:
    """``a-0 0:5, a-1 2:9``"""
    matches = re.findall(r"([\w.]+)-(\d+) (\d+):(\d+)", text)
    return tuple(Range(t, int(p), int(a), int(b)) for t, p, a, b in matches)


def window(text: str) -> Window:
    return Window(ranges(text))


@dataclass
class Case:
    """``there`` is what the topics hold, ``held`` and ``gaps`` what the table says, ``expected`` the window."""

    name: str
    there: str
    expected: str
    held: str = ""
    gaps: str = ""
    request: WindowRequest = field(default_factory=WindowRequest)
    rebuild: bool = False
    new_gaps: str = ""
    before: dict[str, str] = field(default_factory=dict)
    now: dict[str, str] = field(default_factory=dict)
    on_data_loss: str = "fail"
    begins: str = ""
    """``a-0 3:3`` for a partition that the table saw when it began at 3."""

    @property
    def state(self):
        held, gaps = offsets_of(ranges(self.held)), offsets_of(ranges(self.gaps))
        begins = {(r.topic, r.partition): r.start for r in ranges(self.begins)}
        return TableState(1, "x", "records", held=held, gaps=gaps, begins=begins, identities=self.before)

    def resolve(self):
        state = self.state
        available = Available(ranges(self.there), self.now, offsets_at, lambda group: {**COMMITTED[group]})
        if not self.held and not self.begins:
            state = None
        return resolve_window(self.request, available, state, rebuild=self.rebuild, on_data_loss=self.on_data_loss)


COMMITTED = {"g": {("a", 0): 4, ("b", 0): 1, ("b", 1): 99}, "other": {("z", 0): 1}}


def offsets_at(topics, millis):
    """Every topic has one record per 10 ms, in partition 0 and 1."""
    return {(t, p): millis // 10 for t in topics for p in (0, 1)}


def asked(text: str, **more) -> WindowRequest:
    return WindowRequest(explicit=window(text), **more)


RESOLVED = [
    Case("first run reads all", "a-0 0:5, a-1 0:3", "a-0 0:5, a-1 0:3"),
    Case("first run starts at the earliest record", "a-0 7:9", "a-0 7:9"),
    Case("goes on per partition", "a-0 0:5, a-1 0:3", "a-0 2:5", "a-0 0:2, a-1 0:3"),
    Case("a new partition starts at its beginning", "a-0 0:5, a-1 4:6", "a-1 4:6", "a-0 0:5"),
    Case("nothing new", "a-0 0:5", "", "a-0 0:5"),
    Case("nothing there", "a-0 0:0", ""),
    Case("at most so many per partition", "a-0 0:5, a-1 0:1", "a-0 2:4, a-1 0:1", "a-0 0:2",
         request=WindowRequest(max_records=2)),
    Case("old records deleted after they were read", "a-0 4:9", "a-0 5:9", "a-0 0:5"),
    Case("progress of topics not asked for is left alone", "a-0 0:5", "a-0 0:5", "b-0 0:50"),
    Case("what lies before an explicit window beyond the progress is read later", "a-0 0:90", "a-0 10:50",
         "a-0 0:10, a-0 50:60"),
    Case("then what lies after it", "a-0 0:90", "a-0 60:90", "a-0 0:50, a-0 50:60"),
    Case("also before the first window of all", "a-0 0:90", "a-0 0:50", "a-0 50:60"),
    Case("gaps that were asked for are not read", "a-0 0:90", "a-0 60:90", "a-0 0:10, a-0 50:60", "a-0 10:50"),
    Case("explicit", "a-0 0:9", "a-0 2:4", "a-0 0:9", request=asked("a-0 2:4")),
    Case("explicit is not shortened", "a-0 0:9", "a-0 2:8", request=asked("a-0 2:8", max_records=1)),
    Case("empty explicit ranges vanish", "a-0 0:9", "", request=asked("a-0 2:2")),
    Case("explicit beyond the progress", "a-0 0:90", "a-0 50:60", "a-0 0:10", request=asked("a-0 50:60")),
    Case("with a gap that is wanted", "a-0 0:90", "a-0 50:60", "a-0 0:10", request=asked("a-0 50:60", accept_gap=True),
         new_gaps="a-0 10:50"),
    Case("from some offset on", "a-0 3:90", "a-0 50:60", request=asked("a-0 50:60", accept_gap=True),
         new_gaps="a-0 3:50"),
    Case("one range for all, as far as it is there", "a-0 0:9, a-1 3:4, b-0 7:9", "a-0 2:6, a-1 3:4",
         request=WindowRequest(everywhere=(2, 6))),
    Case("by time", "a-0 0:9, a-1 0:20", "a-0 4:7, a-1 4:7", "a-0 0:9", request=WindowRequest(since=40, until=70)),
    Case("since", "a-0 0:9", "a-0 4:9", "a-0 0:9", request=WindowRequest(since=40)),
    Case("until", "a-0 2:9", "a-0 2:7", "a-0 2:9", request=WindowRequest(until=70)),
    Case("retention, accepted", "a-0 4:9", "a-0 4:9", "a-0 0:2", request=WindowRequest(accept_gap=True),
         new_gaps="a-0 2:4"),
    Case("retention of something between, accepted", "a-0 20:30", "a-0 20:30", "a-0 0:2, a-0 10:12",
         request=WindowRequest(accept_gap=True), new_gaps="a-0 2:10, a-0 12:20"),
    Case("rebuild", "a-0 4:9", "a-0 4:9", "a-0 0:2", rebuild=True),
    Case("rebuild of a topic made anew", "a-0 0:3", "a-0 0:3", "a-0 0:9", rebuild=True,
         before={"a": "one"}, now={"a": "two"}),
    Case("identities that are not known say nothing", "a-0 0:9", "a-0 3:9", "a-0 0:3", before={"a": "one"}),
]  # fmt: skip


@pytest.mark.parametrize("case", RESOLVED, ids=[c.name for c in RESOLVED])
def test_resolve(case):
    resolved_window = case.resolve()
    assert resolved_window.problems == {}
    assert (resolved_window.window, resolved_window.notes.gaps) == (
        window(case.expected),
        offsets_of(ranges(case.new_gaps)),
    )


REBUILD = "launch with window.rebuild: true and window.topics: [a], which replaces the rows of this topic"
ANEW = f"launch once with window.begin_anew: true, which keeps the rows of the former topic; or {REBUILD}"
REFUSED = [
    (Case("retention", "a-0 4:9, b-0 3:9", "b-0 3:9", "a-0 0:2"),
     ["SMT511 a-0: offsets 2 to 4 were deleted before they were read",
      "launch with window.accept_gap: true to continue at offset 4; the table notes the gap"]),
    (Case("the topic ends before what was read", "a-0 0:3, b-0 0:1", "b-0 0:1", "a-0 0:5"),
     ["SMT515 a-0: the table has read up to offset 5, but the partition ends at 3", REBUILD]),
    (Case("a partition is gone", "a-1 0:3", "", "a-0 0:5"),
     ["SMT515 a-0: the table has read up to offset 5, but the partition is gone", REBUILD]),
    (Case("made anew and longer than before", "a-0 0:9, b-0 0:1", "b-0 0:1", "a-0 0:5", before={"a": "1", "b": "1"},
          now={"a": "2", "b": "1"}),
     ["SMT516 a: the topic was deleted and created again since the table read it", ANEW]),
    (Case("a log that lost its end does not begin anew", "a-0 0:3, b-0 0:9", "b-0 4:9", "a-0 0:5, b-0 0:4",
          request=WindowRequest(begin_anew=True)),
     ["SMT515 a-0: the table has read up to offset 5, but the partition ends at 3", REBUILD]),
    (Case("explicit, not there", "a-0 2:9", "", request=asked("a-0 0:4")),
     ["SMT510 a-0: offsets 0 to 4 are not all there", "the topic holds 2 to 9"]),
    (Case("explicit, backwards", "a-0 2:9", "", request=asked("a-0 5:4")),
     ["SMT510 a-0: the range ends at 4, before it starts at 5", "the end is the offset after the last record"]),
    (Case("explicit, no such partition", "a-0 2:9", "", request=asked("a-3 5:6")),
     ["SMT510 a-3: there is no such partition", "list the topic's partitions"]),
    (Case("explicit, twice", "a-0 2:9", "", request=asked("a-0 5:7, a-0 6:8")),
     ["SMT510 a-0: two ranges of one partition hold the same offsets", "name each offset once"]),
]  # fmt: skip


LOST = [
    ("a partition that held nothing", "a-0 0:9, a-1 10:30", "a-0 0:9", "a-0 0:0, a-1 0:0", "a-1 0:10"),
    ("the same, never empty again", "a-0 0:9, a-1 10:10", "a-0 0:9", "a-0 0:0, a-1 0:0", "a-1 0:10"),
    ("a topic without a record", "a-0 10:30", "", "a-0 0:0", "a-0 0:10"),
    ("a topic that had expired as a whole", "a-0 120:130", "", "a-0 100:100", "a-0 100:120"),
    ("an added partition", "a-0 0:9, a-1 10:30", "a-0 0:9", "a-0 0:0", "a-1 0:10"),
    ("what came before a range of its own", "a-0 20:90", "a-0 50:60", "a-0 0:0", "a-0 0:20"),
    ("between ranges", "a-0 20:90", "a-0 0:5, a-0 50:60", "a-0 0:0", "a-0 5:20"),
]  # fmt: skip


@pytest.mark.parametrize(("there", "held", "begins", "gone"), [c[1:] for c in LOST], ids=[c[0] for c in LOST])
def test_what_was_deleted_before_it_was_read_is_told_or_a_gap(there, held, begins, gone):
    case = Case("", there, "", held, begins=begins)
    (lost,) = ranges(gone)
    (problem,) = case.resolve().problems["a"]
    assert (problem.code, problem.place) == ("SMT511", f"a-{lost.partition}")
    assert f"offsets {lost.start} to {lost.end} were deleted" in problem.statement
    for accepted in (replace(case, on_data_loss="gap"), replace(case, request=WindowRequest(accept_gap=True))):
        resolved_window = accepted.resolve()
        assert not resolved_window.problems and not offsets_of([lost]) - resolved_window.notes.gaps
        state = case.state.with_window(resolved_window.window, resolved_window.notes)
        again = resolve_window(WindowRequest(), Available(ranges(there)), state)
        assert not again.problems and not again.warnings


def test_partitions_of_a_state_of_an_earlier_version_begin_with_what_is_there():
    resolved_window = Case("", "a-0 5:9, a-1 10:30", "", "a-0 0:9", begins="").resolve()
    assert not resolved_window.problems and resolved_window.notes.begins == {("a", 0): 0, ("a", 1): 10}


@pytest.mark.parametrize(("case", "problem"), REFUSED, ids=[c.name for c, _ in REFUSED])
def test_a_topic_that_cannot_be_read_is_left_out_with_the_reason(case, problem):
    resolved_window = case.resolve()
    (topic,) = resolved_window.problems
    assert topic == "a" and resolved_window.window == window(case.expected)
    assert [
        line.strip().removeprefix("hint: ") for line in str(resolved_window.problems[topic][0]).splitlines()
    ] == problem


NONSENSE = [
    (WindowRequest(max_records=0), "SMT513 max_records: 0 records are not a window"),
    (WindowRequest(since=5, until=4), "SMT513 until: the window ends before it starts"),
    (WindowRequest(everywhere=(5, 4)), "SMT513 everywhere: the window ends before it starts"),
    (WindowRequest(everywhere=(5, 6), since=4), "SMT513 window: the window is fixed in more than one way"),
    (WindowRequest(explicit=Window(), until=4), "SMT513 window: the window is fixed in more than one way"),
]


@pytest.mark.parametrize(("request_", "message"), NONSENSE, ids=[m for _, m in NONSENSE])
def test_requests_that_make_no_sense(request_, message):
    with pytest.raises(ConfigError) as caught:
        resolve_window(request_, Available(ranges("a-0 0:9")), None)
    assert str(caught.value).splitlines()[0] == message


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


def test_describe():
    assert describe(window("a-0 0:5")) == "a-0 [0, 5)"
    assert describe(window("a-0 0:5, a-1 0:5, a-2 0:5"), 2) == "a-0 [0, 5), a-1 [0, 5) and 1 more"
    assert describe(Window()) == "nothing"


def test_window_id_holds_offsets_only_and_any_order():
    assert window("a-0 0:5, b-0 1:2").id == window("b-0 1:2, a-0 0:5").id
    assert Window.from_json(window("b-0 1:2, a-0 0:5").to_json()) == window("a-0 0:5, b-0 1:2")


def starting(where: str, **more) -> WindowRequest:
    return WindowRequest(start=where, **more)


STARTS = [
    Case("earliest", "a-0 2:9", "a-0 2:9", request=starting("earliest")),
    Case("latest", "a-0 2:9, a-1 0:0", "", request=starting("latest"), new_gaps="a-0 2:9"),
    Case("a moment", "a-0 2:9, a-1 5:9", "a-0 3:9, a-1 5:9", request=starting("1970-01-01T00:00:00.030Z"),
         new_gaps="a-0 2:3"),
    Case("a moment after all", "a-0 2:9", "", request=starting("1000"), new_gaps="a-0 2:9"),
    Case("a group", "a-0 2:9, a-1 5:9", "a-0 4:9, a-1 5:9", request=starting("group:g"), new_gaps="a-0 2:4"),
    Case("a group beyond both ends", "b-0 3:9, b-1 0:4", "b-0 3:9", request=starting("group:g"), new_gaps="b-1 0:4"),
    Case("a topic that has been read goes on, its new partition from its beginning", "a-0 0:9, a-1 0:5, b-0 0:9",
         "a-0 3:9, a-1 0:5", "a-0 0:3", request=starting("latest"), new_gaps="b-0 0:9"),
    Case("a topic that was read when it held nothing", "a-0 0:9, b-0 0:5", "a-0 3:9, b-0 0:5", "a-0 0:3",
         before={"a": "", "b": ""}, request=starting("latest")),
    Case("at most so many", "a-0 2:9", "a-0 4:6", request=starting("group:g", max_records=2), new_gaps="a-0 2:4"),
    Case("a rebuild begins with the earliest", "a-0 2:9", "a-0 2:9", "a-0 2:5", rebuild=True,
         request=starting("latest")),
    Case("a fixed range is as it is", "a-0 2:9", "a-0 3:5", request=asked("a-0 3:5", start="latest")),
    Case("lost records are a gap", "a-0 4:9, b-0 3:9", "a-0 4:9, b-0 3:9", "a-0 0:2", on_data_loss="gap",
         new_gaps="a-0 2:4"),
]  # fmt: skip


@pytest.mark.parametrize("case", STARTS, ids=lambda c: c.name)
def test_where_a_table_begins(case):
    test_resolve(case)
    new = {r.topic for r in ranges(case.there)} - {r.topic for r in ranges(case.held)} - set(case.before)
    assert case.resolve().news is (not case.rebuild and not case.request.fixed and bool(new))


def test_lost_records_are_told_as_a_warning():
    case = next(c for c in STARTS if c.on_data_loss == "gap")
    (warning,) = case.resolve().warnings
    assert (warning.code, warning.place) == ("SMT518", "a-0") and "a gap of 2 now" in warning.statement


def test_a_group_that_has_committed_nothing_of_a_topic():
    resolved_window = Case("", "a-0 2:9, z-0 0:4", "", request=starting("group:other")).resolve()
    assert resolved_window.window == window("z-0 1:4") and [p.code for p in resolved_window.problems["a"]] == ["SMT517"]


@pytest.mark.parametrize("start", ["", "Earliest", "group:", "yesterday", "2026-13-01"])
def test_what_is_no_start(start):
    with pytest.raises(ConfigError, match="SMT584"):
        TopicTable(FileTopics(Path("x")), ("a",), start=start)
