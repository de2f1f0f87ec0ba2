"""The judge of killed runs: reads topics and tables without Spark and without this package, and says what is wrong.

It knows what was produced (``Ledger``), what a run was asked (``order``) and what rows, states and dead letters are
there now (``Found``), and works on single offsets: slow, and without any of the arithmetic that it judges.
"""

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Offset = tuple[str, int, int]
Row = tuple[str, int, int, bytes | None]
State = Mapping[str, Any]
Fate = Literal["kept", "dropped", "refused"]
SECRET = b"secret-4711"
ROW = ("source_topic", "partition", "offset", "value")
"""The columns of a row of a table of records."""
_HEADER = "__connect.errors."


@dataclass(frozen=True)
class Entry:
    """A record as it was produced, and what has to become of it.

    Attributes:
        fate: What the chain does with it.
        value: Its value in the topic.
        output: Its value in the table, if it is kept.
        timestamp: In milliseconds.
    """

    fate: Fate
    value: bytes | None
    output: Any
    timestamp: int


@dataclass
class Ledger:
    """Everything that was produced, by offset."""

    entries: dict[Offset, Entry] = field(default_factory=dict)

    def of(self, *fates: Fate) -> set[Offset]:
        """The offsets of the records with one of these fates."""
        return {offset for offset, entry in self.entries.items() if entry.fate in fates}

    def ends(self) -> dict[tuple[str, int], int]:
        """The next offset of each partition."""
        return {place: end + 1 for place, end in sorted(_last(self.entries).items())}


@dataclass
class Evidence:
    """What is there.

    Attributes:
        rows: Topic, partition, offset and value of each row of the table.
        states: The state of each commit that led to the table as it is, oldest first.
        letters: Topic, partition, offset of the record in each dead letter, and the letter's value.
    """

    rows: list[Any] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    letters: list[Row] = field(default_factory=list)

    @property
    def state(self) -> State | None:
        return self.states[-1] if self.states else None


def _last(offsets: Iterable[Offset]) -> dict[tuple[str, int], int]:
    results: dict[tuple[str, int], int] = {}
    for topic, partition, offset in offsets:
        results[topic, partition] = max(offset, results.get((topic, partition), -1))
    return results


# --- what is there ---


def of_intervals(data: Mapping[str, Mapping[str, Iterable[list[int]]]]) -> set[Offset]:
    """The offsets of ``{topic: {partition: [[start, end], …]}}``."""
    return {
        (topic, int(partition), offset)
        for topic, parts in data.items()
        for partition, intervals in parts.items()
        for start, end in intervals
        for offset in range(start, end)
    }


def of_window(state: State) -> set[Offset]:
    """The offsets that a commit read."""
    return of_intervals({t: {p: [r] for p, r in parts.items()} for t, parts in state["window"].items()})


def held(state: State | None) -> set[Offset]:
    """The offsets that a table says it has taken in."""
    return of_intervals(state["held"]) if state is not None else set()


def state_of(text: str | None) -> State | None:
    """The state in a commit's text; None if it is none of ours."""
    return json.loads(text)["dagster_smt"] if text and text.startswith('{"dagster_smt":') else None


def read_delta(folder: Path, columns: Sequence[str] = ROW) -> Evidence:
    """A Delta table as ``deltalake`` reads it."""
    from deltalake import DeltaTable

    if not (folder / "_delta_log").is_dir() or not any((folder / "_delta_log").glob("*.json")):
        return Evidence()
    table = DeltaTable(str(folder))
    commits = sorted(table.history(), key=lambda commit: commit["version"])
    states = [state_of(commit.get("userMetadata")) for commit in commits]
    data = table.to_pyarrow_table(columns=list(columns))
    return Evidence(list(_rows(data, columns)), [state for state in states if state is not None])


def read_iceberg(folder: Path, columns: Sequence[str] = ROW) -> Evidence:
    """An Iceberg table as ``pyiceberg`` reads it."""
    from pyiceberg.table import StaticTable

    versions = [int(f.name[1:].split(".")[0]) for f in (folder / "metadata").glob("v*.metadata.json")]
    if not versions:
        return Evidence()
    table = StaticTable.from_metadata(str(folder / "metadata" / f"v{max(versions)}.metadata.json"))
    states, at = [], table.current_snapshot()
    while at is not None:
        if at.summary and (mark := at.summary["dagster_smt.commit"]):
            states.append(_marked(mark, table.properties))
        at = table.snapshot_by_id(at.parent_snapshot_id) if at.parent_snapshot_id is not None else None
    data = table.scan(selected_fields=tuple(columns)).to_arrow()
    return Evidence(list(_rows(data, columns)), states[::-1])


def _marked(mark: str, properties: Mapping[str, str]) -> State:
    """The state of a mark, or of an old one, whose state is gone, what the mark says."""
    text = properties.get(f"dagster_smt.state.{mark}")
    number, attempt = mark.split(".")
    if text is None:
        return {"number": int(number), "attempt": attempt}
    state: State = json.loads(zlib.decompress(bytes.fromhex(text)))["dagster_smt"]
    return state


READERS = {"delta": read_delta, "iceberg": read_iceberg}


def _rows(data: Any, columns: Sequence[str]) -> Iterator[Any]:
    yield from zip(*(data.column(name).to_pylist() for name in columns), strict=True)


def read_letters(topic: Path) -> list[Row]:
    """The letters in a file topic, in the order of its lines."""
    results = []
    for segment in sorted(topic.glob("[0-9]*/*.jsonl")):
        for line in segment.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            names = {header["key"]: header["value"] for header in record["headers"]}
            place = [names[_HEADER + part] for part in ("topic", "partition", "offset")]
            value = record["value"]
            results.append((place[0], int(place[1]), int(place[2]), None if value is None else value.encode()))
    return results


def leftovers(folder: Path, topics: Path) -> list[str]:
    """Files of killed runs that should be gone, and files outside of the topics that hold raw values."""
    results = [f"left over: {p.name}" for p in sorted(topics.rglob(".*tmp")) + sorted(topics.glob(".staging-*"))]
    for path in sorted(folder.rglob("*")):
        if path.is_file() and topics not in path.parents and SECRET in path.read_bytes():
            results.append(f"raw values in {path.relative_to(folder)}")
    return results


# --- what is wrong with it ---


def check(ledger: Ledger, result: Evidence) -> list[str]:
    """What must hold at any time: the table is what its state says, and no letter is missing, doubled or wrong."""
    there = held(result.state)
    results = {offset: ledger.entries[offset] for offset in there & ledger.of("kept")}
    rows = Counter(row[:3] for row in result.rows)
    problems = [f"{_text(o)} is held, but was never produced" for o in _few(there - ledger.entries.keys())]
    problems += [f"{_text(o)} is {n} times in the table" for o, n in sorted(rows.items()) if n > 1]
    problems += [f"{_text(o)} is missing in the table" for o in _few(results.keys() - rows.keys())]
    strange = rows.keys() - results.keys()
    problems += [f"{_text(o)} is in the table, but {_fate(ledger, o)}" for o in _few(strange - ledger.of("kept"))]
    problems += [f"{_text(o)} is in the table, but is not held" for o in _few(strange & ledger.of("kept"))]
    for topic, partition, offset, value in result.rows:
        entry = results.get((topic, partition, offset))
        if entry is not None and (value is None or json.loads(value) != entry.output):
            problems.append(f"{_text((topic, partition, offset))} has another value in the table")
    if result.state is not None:
        problems += _check_counts(result) + _check_failed(ledger, result.state, there)
    return problems + _check_letters(ledger, result, there)


def _fate(ledger: Ledger, offset: Offset) -> str:
    entry = ledger.entries.get(offset)
    return "was never produced" if entry is None else f"is {entry.fate}"


def _check_counts(result: Evidence) -> list[str]:
    assert result.state is not None
    counts = Counter(row[0] for row in result.rows)
    said = {topic: count for topic, count in result.state["rows"].items() if count}
    problems = [] if said == dict(counts) else [f"the state counts rows {said}, the table has {dict(counts)}"]
    if result.state["gaps"]:
        problems.append(f"the state has gaps {result.state['gaps']}")
    asked = Counter((key, request) for key, request, *_, left_out in result.state["runs"] if key and not left_out)
    problems += [f"the run {key} committed {n} times" for (key, _), n in asked.items() if n > 1]
    return problems


def _check_failed(ledger: Ledger, state: State, there: set[Offset]) -> list[str]:
    """The state names what failed, of what was read; progress in a consumer group does not."""
    if "failed" not in state:
        return []
    said, refused = of_intervals(state["failed"]), there & ledger.of("refused")
    problems = [f"the state does not name {_text(o)}, which failed" for o in _few(refused - said)]
    return problems + [f"the state says that {_text(o)} failed" for o in _few(said - refused)]


def _check_letters(ledger: Ledger, result: Evidence, there: set[Offset]) -> list[str]:
    letters, refused = Counter(letter[:3] for letter in result.letters), ledger.of("refused")
    problems = [f"{_text(o)} has {n} dead letters" for o, n in sorted(letters.items()) if n > 1]
    problems += [f"{_text(o)} has no dead letter" for o in _few((there & refused) - letters.keys())]
    problems += [f"{_text(o)} has a dead letter, but {_fate(ledger, o)}" for o in _few(letters.keys() - refused)]
    for topic, partition, offset, value in result.letters:
        entry = ledger.entries.get((topic, partition, offset))
        if entry is not None and entry.value != value:
            problems.append(f"{_text((topic, partition, offset))} has another value in its dead letter")
    return problems


def check_end(ledger: Ledger, result: Evidence) -> list[str]:
    """What must hold when nothing is new: everything that was produced is taken in, in one piece."""
    everything = set(ledger.entries)
    problems = [f"{_text(o)} was not taken in" for o in _few(everything - held(result.state))]
    parts = [i for parts in (result.state or {"held": {}})["held"].values() for i in parts.values()]
    problems += [f"the state is in pieces: {intervals}" for intervals in parts if len(intervals) != 1]
    letters = {letter[:3] for letter in result.letters}
    problems += [f"{_text(o)} has no dead letter" for o in _few(ledger.of("refused") - letters)]
    return problems


def check_commits(ledger: Ledger, before: Evidence, now: Evidence, order: Mapping[str, Any]) -> list[str]:
    """The commits since the last look are those that the order asked for, whole windows each.

    Args:
        ledger: What was produced.
        before: What was there.
        now: What is there.
        order: What was asked: ``kind`` and its details.
    """
    known = {state["attempt"] for state in before.states}
    new = [state for state in now.states if state["attempt"] not in known]
    if [s["attempt"] for s in now.states] != [s["attempt"] for s in (*before.states, *new)]:
        return ["commits are gone, or in another order"]
    most = {"rejected": 0, "micro": order.get("max_batches", 0)}.get(order["kind"], 1)
    problems = [] if len(new) <= most else [f"{order['kind']} made {len(new)} commits"]
    last = before.state
    for state in new:
        expected_number = (last["number"] if last else 0) + 1
        if state["number"] != expected_number:
            problems.append(f"commit {state['number']} follows {expected_number - 1}")
        problems += _check_commit(ledger, last, state, order)
        last = state
    return problems


def _check_commit(ledger: Ledger, last: State | None, state: State, order: Mapping[str, Any]) -> list[str]:
    read, had, problems = of_window(state), held(last), []
    if not read:
        return ["a commit that read nothing"]
    if order["kind"] == "rebuild":
        had = {o for o in had if order["topics"] and o[0] not in order["topics"]}
    if held(state) != had | read:
        problems.append("the state does not hold what it held and the window")
    if order["kind"] == "explicit" and read != {(t, p, o) for t, p, a, b in order["window"] for o in range(a, b)}:
        problems.append("another window than the explicit one was read")
    if order["kind"] == "time":
        times = [ledger.entries[o].timestamp for o in read]
        if not all((order["since"] or 0) <= t < (order["until"] or 2**62) for t in times):
            problems.append("records outside of the time were read")
    if order["kind"] in ("plain", "max", "micro", "rebuild"):
        problems += _check_prefix(read, had, order.get("max_records"))
    return problems


def _check_prefix(read: set[Offset], had: set[Offset], most: int | None) -> list[str]:
    """Every partition was read on from where what the table had ends, without a break and nothing twice."""
    problems = [f"{_text(o)} was read again" for o in _few(read & had)]
    for topic, partition in sorted({o[:2] for o in read}):
        numbers = sorted(o[2] for o in read if o[:2] == (topic, partition))
        first = next(n for n in range(len(had) + 1) if (topic, partition, n) not in had)
        if numbers != list(range(first, first + len(numbers))):
            problems.append(f"{topic}-{partition} was read from {numbers[0]} on, not from {first} on, or with breaks")
        if most is not None and len(numbers) > most:
            problems.append(f"{topic}-{partition}: {len(numbers)} records in a window of at most {most}")
    return problems


def check_topic(ledger: Ledger, before: Evidence, now: Evidence) -> list[str]:
    """What must hold of records in topics: each that is held is there once or more often, each copy told by its source.

    Letters are there once, as beside a table. A group only goes on.
    """
    there, copies = held(now.state), {row[:3] for row in now.rows}
    problems = [f"{_text(o)} is missing in the topic" for o in _few((there & ledger.of("kept")) - copies)]
    problems += [f"{_text(o)} is in the topic, but {_fate(ledger, o)}" for o in _few(copies - ledger.of("kept"))]
    for row in now.rows:
        entry = ledger.entries.get(row[:3])
        if entry is not None and (row[3] is None or json.loads(row[3]) != entry.output):
            problems.append(f"{_text(row[:3])} has another value in the topic")
    problems += [f"{_text(o)} was held" for o in _few(held(before.state) - there)]
    numbers = [state["number"] if state is not None else 0 for state in (before.state, now.state)]
    if numbers[1] < numbers[0] or (numbers[1] == numbers[0] and held(before.state) != there):
        problems.append(f"commit {numbers[1]} follows {numbers[0]}")
    return problems + _check_letters(ledger, now, there)


def _few(offsets: Iterable[Offset]) -> list[Offset]:
    return sorted(offsets)[:5]


def _text(offset: Offset) -> str:
    return "{}-{}@{}".format(*offset)
