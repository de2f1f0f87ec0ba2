"""Determines the person to whom a record belongs. The code reads the ids at the paths that the erasure names, and
compares their keyed hashes with the hashes of erased people.

Spark's executors get paths and hashes, but never the id of a person to search for.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa

from dagster_smt.authoring.stage import Chain
from dagster_smt.errors import DataError, problem_of_record
from dagster_smt.formats.parsing import parse_json
from dagster_smt.interpret.leaves import parsed
from dagster_smt.interpret.preview import Sample, preview
from dagster_smt.model.key_references import KeyReference
from dagster_smt.model.paths.steps import Step
from dagster_smt.model.topics.format import Format
from dagster_smt.privacy.field_paths import covers, path_steps, value_paths
from dagster_smt.tables.erasure.spec import reference_of

_TOKEN = re.compile(r"[\w.@+~-]+")
_PLAIN_JSON = ("json", "json_schema", "envelope")
_REMEMBERED = 100_000
"""The number of ids for which a process remembers whether the person has been erased."""
PLACE_SCHEMA = "topic STRING, partition INT, offset BIGINT"
RECORD_SCHEMA = f"{PLACE_SCHEMA}, key BINARY, value BINARY"
_PLACE = ("topic", "partition", "offset")
_PLACE_KINDS = (pa.string(), pa.int32(), pa.int64())


class UnreadableRecord(Exception):
    """Raised for a key or value that cannot be decoded with its format."""


@dataclass(frozen=True)
class SubjectPaths:
    """The paths at which records contain the id of a person.

    Attributes:
        paths: The paths, such as ``value.user_id``.
        key, value: The formats of keys and values.
    """

    paths: tuple[str, ...]
    key: Format
    value: Format

    @cached_property
    def steps(self) -> Mapping[str, list[tuple[Step, ...]]]:
        """The parsed paths, grouped by the part of the record. The path ``value.user_id`` becomes
        ``{"value": [("user_id",)]}``.
        """
        by_part: dict[str, list[tuple[Step, ...]]] = {}
        for text in self.paths:
            part, _, rest = text.partition(".")
            if part == "headers":
                steps: tuple[Step, ...] = (rest,)
            else:
                steps = path_steps(rest, text) if rest else ()
            by_part.setdefault(part, []).append(steps)
        return by_part

    def subjects(self, sample: Sample) -> set[str]:
        """Returns the ids of people that the record ``sample`` contains.

        If the key or the value cannot be decoded, the result contains every word of the key and of the value, because
        any of these words may be the id. If a header cannot be read, the result contains every word of the header.
        """
        ids = _ids_or_words(self._of_sides(sample), sample.key, sample.value)
        for (name,) in self.steps.get("headers", ()):
            for header, content in sample.headers:
                if header == name and content is not None:
                    ids |= _ids_or_words(_texts(parsed(content.decode(errors="replace"))), content)
        return ids

    def _of_sides(self, sample: Sample) -> Iterator[str]:
        readable = {"key": self.key, "value": self.value}
        contents = {"key": sample.key, "value": sample.value}
        for part, form in readable.items():
            if part not in self.steps or contents[part] is None:
                continue
            whole = self._read(part, form, sample)
            for steps in self.steps[part]:
                for content in values_at(whole, steps):
                    yield from _texts(content)

    def _read(self, part: str, form: Format, sample: Sample) -> Any:
        data = sample.key if part == "key" else sample.value
        assert data is not None
        if form.kind in _PLAIN_JSON and not form.arrays_as_rows:
            try:
                whole = parse_json(data)
            except DataError:
                raise UnreadableRecord from None
            if form.kind == "envelope" and isinstance(whole, dict) and "payload" in whole:
                return whole["payload"]
            return whole
        if form.kind in ("string", "bytes"):
            return parsed(data.decode(errors="replace"))
        return [parsed(text) for text in _as_json(sample, part, form)]


def _as_json(sample: Sample, part: str, form: Format) -> Iterator[str]:
    """Yields the key or the value of ``sample`` as JSON. If the value is an array of rows, yields the JSON of each
    row.
    """
    # the other side is read as bytes, which never fails
    ignored = Format("bytes")
    formats = (form, ignored) if part == "key" else (ignored, form)
    for _, steps in preview(Chain(()), [sample], *formats):
        if steps[0].failed:
            raise UnreadableRecord
        record = steps[0].record
        text = getattr(record, part) if record is not None else None
        if text is not None:
            yield text


def values_at(whole: Any, steps: Sequence[Step]) -> Iterator[Any]:
    """Yields the values at the path ``steps`` inside ``whole``, a parsed JSON value. For the path ``("user", "id")``
    and ``{"user": {"id": 7}}``, this is 7. If ``whole`` is an array of rows, yields the values in each row.
    """
    if isinstance(whole, list):
        for row in whole:
            yield from values_at(row, steps)
        return
    if all(isinstance(step, str) for step in steps):
        for step in steps:
            if not isinstance(whole, dict) or step not in whole:
                return
            whole = whole[step]
        yield whole
        return
    # a covered value inside a covered value is left out, because the outer value contains it
    for path, content in value_paths(whole):
        if covers(steps, path) and not covers(steps, path[:-1]):
            yield content


def _texts(value: Any) -> Iterator[str]:
    """Yields the id in ``value`` as a string. If ``value`` is a list of ids, yields each of them."""
    if isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
        yield str(value)


def _ids_or_words(ids: Iterator[str], *contents: bytes | None) -> set[str]:
    """Returns ``ids`` as a set. If a record cannot be decoded, reading ``ids`` raises an error. Then the function
    returns every word of ``contents``, the bytes of the record, because any of these words may be the id. So a single
    unreadable record does not end a run.

    Raises:
        Exception: An error with another cause than the record, such as a registry that does not answer.
    """
    try:
        # ``ids`` is a generator, so this line raises the errors of the decoder
        return set(ids)
    except Exception as error:  # noqa: BLE001 - whatever it is, this record has it
        problem_of_record(error)
    words = set()
    for data in contents:
        for match in _TOKEN.finditer((data or b"").decode(errors="replace")):
            # a full stop may be the last character of the id, or end a sentence: in "ask x.", the id may be "x." or "x"
            words |= {match[0], match[0].strip(".-")}
    return words


@dataclass
class Erased:
    """The erased people of one kind, as keyed hashes of their ids. ``subject in erased`` is True if the person with the
    id ``subject`` has been erased. The object can be sent to another process.

    Attributes:
        kind: The kind of the ids, such as ``person``.
        keys: References to the secret HMAC keys with which the hashes were computed.
        hashes: Maps the id of a key, such as ``e1``, to the hashes that were computed with this key.
    """

    kind: str
    keys: tuple[KeyReference, ...]
    hashes: Mapping[str, frozenset[str]]
    _known: dict[str, bool] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        return sum(map(len, self.hashes.values()))

    def __contains__(self, subject: object) -> bool:
        assert isinstance(subject, str)
        if subject not in self._known:
            # a topic may have any number of ids, so the cache must not grow without end
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[subject] = self._is_erased(subject)
        return self._known[subject]

    def _is_erased(self, subject: str) -> bool:
        for key in self.keys:
            if self.hashes.get(key.id) and reference_of(key, self.kind, subject) in self.hashes[key.id]:
                return True
        return False

    def __reduce__(self) -> tuple[Callable[..., "Erased"], tuple[Any, ...]]:
        # without the cache, which contains ids in clear text
        return Erased, (self.kind, self.keys, self.hashes)


@dataclass(frozen=True)
class RecordMatch:
    """A test for records. A record passes the test if it contains the id of an erased person.

    Attributes:
        paths: The paths at which records contain the id of a person.
        erased: The erased people.
    """

    paths: SubjectPaths
    erased: Erased

    def __call__(self, sample: Sample) -> bool:
        return any(subject in self.erased for subject in self.paths.subjects(sample))


@dataclass(frozen=True)
class MatchBatches:
    """A function for ``map_in_arrow``. It takes batches of records, and returns the coordinates of those records that
    belong to erased people.

    Attributes:
        match: The erased people, and the paths at which records contain their ids.
        place: The columns that identify a record, such as ``topic``, ``partition`` and ``offset``.
        sides: True to return also the columns ``key`` and ``value``.
    """

    match: RecordMatch
    place: tuple[str, str, str] = ("topic", "partition", "offset")
    sides: bool = False

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = []
            for row in batch.to_pylist():
                if self.match(sample_of(row)):
                    rows.append(row)
            columns: dict[str, pa.Array] = {}
            for name, column, kind in zip(_PLACE, self.place, _PLACE_KINDS, strict=True):
                columns[name] = pa.array([row[column] for row in rows], kind)
            if self.sides:
                for name in ("key", "value"):
                    columns[name] = pa.array([as_bytes(row[name]) for row in rows], pa.binary())
            yield pa.RecordBatch.from_pydict(columns)


def sample_of(row: Mapping[str, Any]) -> Sample:
    """Converts ``row``, a row with Kafka's columns such as ``key`` and ``value``, into a ``Sample``."""
    pairs = []
    for header in row.get("headers") or ():
        pairs.append((header["key"], header["value"]))
    headers = tuple(pairs)
    return Sample(
        row.get("topic") or "", key=as_bytes(row.get("key")), value=as_bytes(row.get("value")), headers=headers
    )


def as_bytes(data: Any) -> bytes | None:
    """Returns ``data``, the key or value of a record, as bytes. In some tables of records, keys and values are
    strings.
    """
    if isinstance(data, str):
        return data.encode()
    return None if data is None else bytes(data)
