"""Computes what previewed records would do to a table with keys (a table that has one row for each key). For example:
the first record inserts a row, and the second one updates it. This needs no Spark.

A run computes the same with different code (``tables.keyed``). A test applies this code and the run's code to the same
records, and compares the results.
"""

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from dagster_smt.errors import Problem
from dagster_smt.interpret.preview import Previewed, Sample
from dagster_smt.model.reports.run_report import KeyCounts
from dagster_smt.model.topics.keyed import CROSSING, NO_SEQUENCE, NULL_KEY, KeyedRows

Action = Literal[
    "insert",
    "update",
    "delete",
    "soft delete",
    "begin",
    "close",
    "superseded",
    "no row",
    "ignored",
    "dropped",
    "refused",
]
Row = dict[str, Any]
Key = tuple[str, ...]
Order = tuple[Any, ...]


@dataclass(frozen=True)
class RowChange:
    """The effect of one record on a table that has one row for each key, or in mode ``scd2`` one row for each version
    of a key.

    Attributes:
        action: The effect in one word, such as ``insert``. In mode ``scd2``, ``begin`` closes the current version and
            begins a new version, and ``close`` only closes the current version. ``no row`` is a deletion of a key
            without a row.
        columns: The columns whose values change.
        incomplete: The columns that still lack a value, because every event of the key contained only Debezium's
            placeholder for them.
        note: The reason, if the record changes nothing in the table.
    """

    action: Action
    columns: tuple[str, ...] = ()
    incomplete: tuple[str, ...] = ()
    note: str = ""

    @property
    def text(self) -> str:
        """A summary of the effect, such as ``update: name``."""
        text = _TEXTS[self.action]
        if self.action in ("update", "begin"):
            text += f": {', '.join(self.columns)}" if self.columns else ": no column changes"
        if self.note:
            text += f": {self.note}"
        if self.incomplete:
            text += f" (incomplete: no event has {', '.join(self.incomplete)})"
        return text


_TEXTS: Mapping[Action, str] = {
    "insert": "insert",
    "update": "update",
    "delete": "delete",
    "soft delete": "soft delete: the row stays, marked as deleted",
    "begin": "close the version, begin another",
    "close": "delete: close the version",
    "superseded": "superseded: a later event of the key is in the table",
    "no row": "delete: the key has no row",
    "ignored": "ignored: the table ignores deletions",
    "dropped": "no row",
    "refused": "dead letter",
}


@dataclass(frozen=True)
class TableChanges:
    """The effects of records on a table with keys (one row for each key). The table is empty at first.

    Attributes:
        changes: The effect of each record, if the records were applied one after the other.
        counts: Maps a topic to the counts of one run over all records. A run combines all events of a key into one
            change.
    """

    changes: tuple[RowChange, ...]
    counts: Mapping[str, KeyCounts]


def table_changes(previewed: Sequence[Previewed], keyed: KeyedRows, *, keeps_key: bool = True) -> TableChanges:
    """Returns the effects of previewed records on an empty table with keys, which has one row for each key.

    Args:
        previewed: The records, in the order of their offsets.
        keyed: The options of the table.
        keeps_key: False if the format of the record's key has no schema. Key columns then come only from the value.
    """
    reader = _EventReader(keyed, keeps_key)
    read = [reader.event(record) for record in previewed]
    events = [event for event in read if isinstance(event, _Event)]
    if keyed.sequence_by:
        _set_sequences(events)
        crossing = set[Key]()
    else:
        # without a sequence, only offsets order the events of a key, and offsets of two partitions cannot be compared
        crossing = _keys_of_several_partitions(events)
    states: dict[Key, _KeyState] = {}
    changes, ordered = [], []
    for event in read:
        if isinstance(event, RowChange):
            changes.append(event)
        elif event.key in crossing:
            changes.append(_refused(CROSSING))
        else:
            ordered.append(event)
            changes.append(states.setdefault(event.key, _KeyState(keyed)).after(event))
    return TableChanges(tuple(changes), _counts(ordered, keyed))


@dataclass
class _Event:
    """An event: a record that changes or deletes the row of its key.

    Attributes:
        sample: The record.
        key: The values of the key columns, as strings.
        row: The columns of the new row; None if the event deletes the row.
        sequence: The value of the column ``sequence_by``, by which events are ordered.
        unchanged: The columns for which the event contains no value, but Debezium's placeholder for an unchanged value.
    """

    sample: Sample
    key: Key
    row: Row | None
    sequence: Any = None
    unchanged: frozenset[str] = frozenset()

    @property
    def partition(self) -> tuple[str, int]:
        return self.sample.topic, self.sample.partition

    @property
    def order(self) -> Order:
        """A tuple by which the events of one key are sorted: first by sequence, then by topic, partition and offset. An
        event without a sequence comes first.
        """
        # the rank comes first, because Python cannot compare a string with a number
        rank: tuple[int, Any] = (0, 0)
        if isinstance(self.sequence, str):
            rank = (2, self.sequence)
        elif self.sequence is not None:
            rank = (1, self.sequence)
        return (*rank, *self.partition, self.sample.offset)


@dataclass(frozen=True)
class _EventReader:
    """A reader that turns records, as they are after the chain, into events: changes or deletions of a row in a table
    with keys.
    """

    keyed: KeyedRows
    keeps_key: bool

    def event(self, previewed: Previewed) -> _Event | RowChange:
        """Returns the event of ``previewed``. If the record changes nothing in the table, returns a ``RowChange`` with
        the reason instead.
        """
        last = previewed.last
        if last.record is None:
            return RowChange("refused") if last.failed else RowChange("dropped", note="the chain drops the record")
        value = _decoded(previewed.value)
        if not isinstance(value, dict | None):
            return RowChange("refused", note="the value has no fields")
        record_key = _decoded(previewed.key) if self.keeps_key else None
        flag = value.pop(self.keyed.delete_flag, None) if value is not None else None
        is_deletion = value is None or str(flag).lower() == "true"
        # the flag for deletions has already been removed from the value, because it is not a column of the table
        columns = self._key_columns(record_key, value or {})
        ignores = is_deletion and self.keyed.deletes == "ignore"
        if not columns or None in columns.values():
            return RowChange("ignored") if ignores else _refused(NULL_KEY)
        sequence = (value or {}).get(self.keyed.sequence_by)
        # a tombstone has no value, and gets its sequence from the event before it (``_set_sequences``)
        if self.keyed.sequence_by and value is not None and sequence is None:
            return _refused(NO_SEQUENCE)
        if ignores:
            return RowChange("ignored")
        row = {**columns, **value} if value is not None and not is_deletion else None
        unchanged = frozenset(name for name in row or () if name not in columns and self._is_unchanged(row, name))
        return _Event(previewed.sample, tuple(map(_key_text, columns.values())), row, sequence, unchanged)

    def _key_columns(self, record_key: Any, value: Row) -> Row:
        """Returns the key columns of a record, by name. Each key column comes from ``record_key``. If the key lacks the
        column, the column comes from ``value``.

        There is an exception: the key is not a struct, such as ``7``, and the table has only one key column. This
        column then comes from the value, if the value has a column of this name. Otherwise the key itself is the
        column. A tombstone has no value, so its key columns come from the key.
        """
        fields = record_key if isinstance(record_key, dict) else {}
        columns: Row = {}
        for name in self.keyed.keys or tuple(fields):
            first, second = fields.get(name), value.get(name)
            if not isinstance(record_key, dict) and len(self.keyed.keys) == 1:
                first, second = second, record_key
            columns[name] = second if first is None else first
        return columns

    def _is_unchanged(self, row: Row | None, name: str) -> bool:
        """Returns True if the column ``name`` of ``row`` contains Debezium's placeholder for a value that an update
        left unchanged. The placeholder has several forms (``tables.keyed.unavailable``).
        """
        text = self.keyed.unavailable_value
        if not text or row is None:
            return False
        data, value = text.encode(), row[name]
        texts = (text, base64.b64encode(data).decode())
        if isinstance(value, dict):
            return list(value) == [text]
        if isinstance(value, list):
            return value == list(data) or (len(value) == 1 and value[0] in texts)
        return value in texts


@dataclass
class _KeyState:
    """The row of one key, while the events of the key are processed in their order.

    Attributes:
        keyed: The options of the table.
        row: The columns of the row, or of the current version; None if the key has no row.
        missing: The columns that still lack a value, because every event of the key contained only Debezium's
            placeholder for them.
        is_deleted: True if the row is marked as deleted, but stays in the table.
        order: The ``order`` of the last event.
    """

    keyed: KeyedRows
    row: Row | None = None
    missing: frozenset[str] = frozenset()
    is_deleted: bool = False
    order: Order | None = None

    def after(self, event: _Event) -> RowChange:
        """Applies ``event`` to the row of its key, and returns its effect, such as an insert or an update."""
        if self.keyed.sequence_by:
            if self.order is not None and event.order < self.order:
                return RowChange("superseded")
            self.order = event.order
        if event.row is None:
            return self._deleted()
        return self._upserted(event, event.row)

    def _deleted(self) -> RowChange:
        if self.keyed.deletes == "soft" and self.keyed.mode == "upsert":
            # a soft deletion of a key without a row also creates a row, without columns
            self.row, self.is_deleted = self.row or {}, True
            return RowChange("soft delete")
        had_row, self.row, self.missing = self.row is not None, None, frozenset()
        if not had_row:
            return RowChange("no row")
        return RowChange("close" if self.keyed.mode == "scd2" else "delete")

    def _upserted(self, event: _Event, row: Row) -> RowChange:
        before, was_deleted = self.row, self.is_deleted
        known = before or {}
        self.row = {name: known.get(name) if name in event.unchanged else row[name] for name in row}
        # a row without columns exists if the first event of the key was a deletion
        self.missing = event.unchanged & self.missing if known else event.unchanged
        self.is_deleted = False
        incomplete = tuple(sorted(self.missing))
        if before is None:
            return RowChange("insert", incomplete=incomplete)
        names = []
        for name in {**before, **self.row}:
            if before.get(name) != self.row.get(name):
                names.append(name)
        columns = tuple(names)
        if was_deleted:
            columns = (*columns, self.keyed.soft.deleted)
        tracked = self.keyed.track or columns
        is_version = self.keyed.mode == "scd2" and any(name in tracked for name in columns)
        return RowChange("begin" if is_version else "update", columns, incomplete)


@dataclass
class _Total:
    """The counts of one topic, and the number of its events."""

    counts: KeyCounts = field(default_factory=KeyCounts)
    events: int = 0


def _counts(events: Sequence[_Event], keyed: KeyedRows) -> dict[str, KeyCounts]:
    """Returns the counts that one run over all ``events`` would report, by topic. ``tables.keyed.row_actions`` computes
    the same counts for a real run.
    """
    totals: dict[str, _Total] = {}
    by_key: dict[Key, list[_Event]] = {}
    for event in events:
        totals.setdefault(event.sample.topic, _Total()).events += 1
        by_key.setdefault(event.key, []).append(event)
    for of_key in by_key.values():
        _add_key(sorted(of_key, key=lambda event: event.order), keyed, totals)
    if keyed.mode != "scd2":  # a table of versions supersedes no event
        for total in totals.values():
            total.counts.superseded = max(0, total.events - total.counts.keys)
    counts = {}
    for topic, total in sorted(totals.items()):
        counts[topic] = total.counts
    return counts


def _add_key(events: Sequence[_Event], keyed: KeyedRows, totals: Mapping[str, _Total]) -> None:
    """Adds the effects of ``events``, all events of one key, to ``totals``. A run combines these events, so together
    they count as one inserted row. If no row remains, they count as one deletion without a row. In mode ``scd2``, each
    version counts as an inserted row.
    """
    state = _KeyState(keyed)
    counts = totals[events[-1].sample.topic].counts
    for event in events:
        change = state.after(event)
        if keyed.mode == "scd2" and change.action in ("insert", "begin"):
            totals[event.sample.topic].counts.add("insert", 1, bool(change.incomplete))
    if keyed.mode == "scd2":
        return
    if state.row is None:
        counts.add("nothing", 1, 0)
    else:
        counts.add("insert", 1, bool(state.missing) and events[-1].row is not None)


def _set_sequences(events: Iterable[_Event]) -> None:
    """Copies to each tombstone in ``events`` the sequence of the previous event with the same key and topic-partition.
    A tombstone has no value, and therefore no sequence of its own. Events are later ordered by their sequences.
    """
    last: dict[tuple[Key, tuple[str, int]], Any] = {}
    for event in sorted(events, key=lambda event: (event.partition, event.sample.offset)):
        place = event.key, event.partition
        if event.sequence is None:
            event.sequence = last.get(place)
        last[place] = event.sequence


def _keys_of_several_partitions(events: Iterable[_Event]) -> set[Key]:
    partitions: dict[Key, set[tuple[str, int]]] = {}
    for event in events:
        partitions.setdefault(event.key, set()).add(event.partition)
    keys = set()
    for key, places in partitions.items():
        if len(places) > 1:
            keys.add(key)
    return keys


def _refused(problem: Problem) -> RowChange:
    return RowChange("refused", note=f"{problem.code} {problem.statement}")


def _decoded(side: bytes | None) -> Any:
    if side is None:
        return None
    return json.loads(side, parse_float=_exact)


def _exact(text: str) -> Decimal | str:
    """Returns the exact value of the JSON number ``text``. If its exponent is too large for a ``Decimal``, returns
    ``text`` itself.
    """
    try:
        return Decimal(text)
    except ArithmeticError:
        return text


def _key_text(value: Any) -> str:
    """Returns the value of a key column as a string. So ``"7"`` in the key of one record and ``7`` in the value of a
    second record are the same key.
    """
    if isinstance(value, str):
        return value
    return json.dumps(value, default=str, sort_keys=True)
