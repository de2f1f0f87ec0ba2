"""Stores the state of a topic sink in the committed offsets of a consumer group. Kafka's tools can show and reset these
offsets.

For each partition, the group commits an offset together with a metadata string. The string contains the last run, and
the exact set of offsets whose records have been processed. If somebody resets an offset to 500 with Kafka's own tools,
there is no such string. The sink then behaves as if the records at the offsets 0 to 499 have been processed.
"""

import json
from collections.abc import Mapping
from typing import Any

from dagster_smt.model.topics.state import CommittedRun, NewerState, TableState
from dagster_smt.model.windows.offsets import Intervals, OffsetSet, union
from dagster_smt.model.windows.time_spans import Span, Spans
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.tables.kafka.client import Committed, Place
from dagster_smt.tables.kafka.unmasked import accepted_in, texts_of, unmasked_in

FORMAT = 1
LIMIT = 4000
"""The largest size in bytes of the metadata that this module writes to a commit. Brokers accept 4096 bytes
(``offset.metadata.max.bytes``).
"""
COPIES = 16
"""The number of topics whose commits repeat the list of the last runs. If a topic is deleted, the brokers delete the
group's commits for the topic, but the list survives in the other commits.
"""
_KEY = "dagster_smt"


def to_commits(state: TableState) -> dict[Place, Committed]:
    """Returns the commits that store ``state``. The commit of a partition contains two things: the offset at which the
    next run starts to read, and a metadata string with the other parts of the state.

    Raises:
        ValueError: A metadata string would be longer than brokers accept. The message names the topic-partition.
    """
    commits = {}
    window = {(r.topic, r.partition): [r.start, r.end] for r in state.window.ranges}
    ends = state.ends_by_partition()
    places = sorted(ends)
    on_record = texts_of(state, places)
    with_runs = _first_partitions(places)[:COPIES]
    for place in places:
        # one-letter keys, and no empty parts, because the string has little space (LIMIT)
        data: dict[str, Any] = {"n": state.number, "a": state.attempt, "k": state.kind}
        data["h"] = state.held.of(*place)
        data |= {"g": state.gaps.of(*place)} if state.gaps.of(*place) else {}
        data |= {"b": state.begins[place]} if place in state.begins else {}
        data |= {"e": state.epochs[place]} if place in state.epochs else {}
        data |= {"t": [[s.since, s.until, s.end] for s in state.spans[place]]} if place in state.spans else {}
        data |= {"w": window[place]} if place in window else {}
        data |= {"i": state.identities[place[0]]} if place[0] in state.identities else {}
        data |= {"r": state.rows[place[0]]} if place[0] in state.rows else {}
        data |= on_record.get(place, {})
        text = _text(data)
        if place in with_runs:
            text = _with_runs(data, state)
        if len(text.encode()) > LIMIT:
            raise ValueError(f"{place[0]}-{place[1]}")
        commits[place] = Committed(ends[place], text)
    return commits


def _first_partitions(places: list[Place]) -> list[Place]:
    """Returns the first partition of each topic in ``places``. The list ``places`` must be sorted."""
    first: dict[str, Place] = {}
    for place in places:
        first.setdefault(place[0], place)
    return list(first.values())


def _text(data: Mapping[str, Any]) -> str:
    return json.dumps({_KEY: FORMAT, **data}, separators=(",", ":"))


def _with_runs(data: dict[str, Any], state: TableState) -> str:
    """Returns ``data`` as a metadata string, together with two more parts of ``state``: the last runs, and the offsets
    at which the next search for dead letters starts.

    If the string would be too long, the oldest runs are left out, one after the other. If the string would be too long
    even without any run, the offsets are left out instead, and the string contains as many of the latest runs as fit.
    """
    runs = [[r.key, r.request, r.number, r.window, list(r.left_out)] for r in state.runs]
    letters = {"d": dict(state.dead_letters)} if state.dead_letters else {}
    for extra in (letters, {}):
        for first in range(len(runs) + 1):
            text = _text({**data, **extra, "u": runs[first:]})
            if len(text.encode()) <= LIMIT:
                return text
    return _text(data)


def from_commits(commits: Mapping[Place, Committed]) -> TableState | None:
    """Returns the state that ``to_commits`` has stored in ``commits``. Without commits, returns None.

    Raises:
        ValueError: A metadata string of this package has an unknown format or is damaged.
    """
    if not commits:
        return None
    texts = {}
    for place, committed in commits.items():
        texts[place] = _data(committed.metadata)
    attempts = []
    for data in texts.values():
        attempts.append((data.get("n", 0), data.get("a", "")))
    number, attempt = max(attempts)
    held: dict[Place, Intervals] = {}
    gaps: dict[Place, Intervals] = {}
    ranges: list[Range] = []
    identities: dict[str, str] = {}
    rows: dict[str, int] = {}
    runs: list[Any] = []
    letters: dict[str, int] = {}
    kind = "records"
    for place, data in sorted(texts.items()):
        held[place] = _intervals(data.get("h", [[0, commits[place].offset]]))
        gaps[place] = _intervals(data.get("g", []))
        if (data.get("n"), data.get("a")) == (number, attempt) and "w" in data:
            ranges.append(Range(*place, *data["w"]))
        identities |= {place[0]: data["i"]} if "i" in data else {}
        rows |= {place[0]: data["r"]} if "r" in data else {}
        kind, letters = data.get("k", kind), data.get("d", letters)
        # commits may contain different numbers of runs, depending on the space that was left
        runs = max(runs, data.get("u", []), key=len)
    return TableState(
        number=number,
        attempt=attempt,
        kind=kind,
        window=Window(tuple(ranges)),
        held=OffsetSet({place: parts for place, parts in held.items() if parts}),
        gaps=OffsetSet({place: parts for place, parts in gaps.items() if parts}),
        # a commit without data comes from another tool, which has reset the offset; the partition is treated as held
        # from 0 on
        begins={place: data.get("b", 0) for place, data in texts.items() if "b" in data or not data},
        epochs={place: data["e"] for place, data in texts.items() if "e" in data},
        spans={place: _spans(data["t"]) for place, data in texts.items() if "t" in data},
        identities=identities,
        rows=rows,
        runs=tuple(CommittedRun(key, request, n, w, tuple(left_out)) for key, request, n, w, left_out in runs),
        dead_letters=letters,
        unmasked=unmasked_in(texts),
        accepted=accepted_in(texts),
    )


def _spans(numbers: list[list[int]]) -> Spans:
    return tuple(Span(*of_span) for of_span in numbers)


def _intervals(pairs: list[list[int]]) -> Intervals:
    return union(((start, end) for start, end in pairs), ())


def _data(text: str) -> dict[str, Any]:
    # other tools may write metadata of their own; _text() always writes this key first
    if not text.startswith('{"' + _KEY + '":'):
        return {}
    try:
        data = json.loads(text)
    except json.JSONDecodeError:
        raise ValueError("damaged") from None
    version = data.pop(_KEY)
    if not isinstance(version, int):
        raise ValueError("damaged")
    if version > FORMAT:
        raise NewerState
    if not {"n", "a", "h"} <= data.keys():
        raise ValueError("damaged")
    return dict(data)
