"""Describes an erasure as plain data: the location of a person's id in records and rows, and the register of erased
people. This module does not import PySpark.
"""

import hmac
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.key_references import ENCODINGS, KeyReference, derived, forget_keys
from dagster_smt.model.secrets import is_reference
from dagster_smt.tables.sink_options import TableSink

ErasureMode = Literal["delete", "rekey"]
PARTS = ("key", "value", "headers")
# an optional id of the key, and the reference to the key: e1=${env:NAME}
_KEY = re.compile(r"(?:([A-Za-z0-9_-]{1,32})=)?(.*)", re.S)
_PURPOSE = "erasure"
_BYTES = 16
"""The size in bytes of a reference, the keyed hash of a person's id. For a billion people, the probability that two of
them have the same reference is below 10^-20.
"""


@dataclass(frozen=True)
class SmtErasure:
    """The rules of an erasure: the location of a person's id in the records and rows of a table, and the register of
    erased people.

    Example:
        .. code-block:: python

            SmtErasure(
                register_table=DeltaSink("lake/erased"),
                key_ring=["e1=${env:ERASURE_KEY}"],
                records=["value.user_id"],
                columns=["user_id"],
            )

    Attributes:
        register_table: The register of erased people, a Delta or Iceberg table. It holds keyed hashes, but no id in
            clear text. All tables may share the register.
        key_ring: References to the secret keys that turn ids into hashes (HMAC), the newest key first, such as
            ``e1=${env:ERASURE_KEY}``. Keep each key as long as the register exists. Without the key, no run can
            determine the person to whom a record belongs.
        records: The locations of the person's id in the records that the table reads: ``key``, ``key.id``,
            ``value.user_id``, ``headers.user``. They also apply to dead letters.
        columns: The columns of the table that contain the person's id, such as ``user_id`` or ``customer.id``.
        written: For a sink that holds records: the locations of the person's id in the records that are written. By
            default, these are the same as ``records``.
        topics: For a sink on a Kafka cluster: the topics to which it writes.
        kind: The kind of the ids. Tables with the same kind share their erased people.
        mode: ``delete`` removes the person's rows. ``rekey`` replaces the id in the rows with a random id. With
            ``rekey``, the columns must have the type ``STRING``, ``INT`` or ``BIGINT``.
        clear: Columns that ``rekey`` sets to null, such as ``email``.
        search: Columns with values that only this person has, such as an e-mail address. Besides the ids, the residue
            scan searches for the values that these columns had in the erased rows.
        key_encoding: The encoding of the secret keys: ``base64``, ``hex`` or ``text``.

    Raises:
        ConfigError: SMT754, with all problems.
    """

    register_table: TableSink
    key_ring: Sequence[str] = ()
    records: Sequence[str] = ()
    columns: Sequence[str] = ()
    written: Sequence[str] = ()
    topics: Sequence[str] = ()
    kind: str = "person"
    mode: ErasureMode = "delete"
    clear: Sequence[str] = ()
    search: Sequence[str] = ()
    key_encoding: str = "base64"

    def __post_init__(self) -> None:
        for name in ("key_ring", "records", "columns", "written", "topics", "clear", "search"):
            value = getattr(self, name)
            object.__setattr__(self, name, (value,) if isinstance(value, str) else tuple(value))
        if problems := list(_problems(self)):
            raise ConfigError(problems)

    @property
    def keys(self) -> tuple[KeyReference, ...]:
        """References to the secret HMAC keys that turn ids of people into hashes. New entries of the register use the
        first key.
        """
        references = []
        for item in self.key_ring:
            references.append(KeyReference(*_parts(item), self.key_encoding, "hmac"))
        return tuple(references)

    @property
    def paths_written(self) -> Sequence[str]:
        """The locations of the person's id in the records that the sink writes."""
        return self.written or self.records

    def check_keys(self) -> None:
        """Looks up all keys again, even if they are cached.

        Raises:
            ConfigError: SMT582 and SMT740, for each key that is missing or unusable.
        """
        forget_keys()
        problems: list[Problem] = []
        for reference in self.keys:
            try:
                reference.key()
            except ConfigError as error:
                problems += [problem.at("erasure.key_ring") for problem in error.problems]
        if problems:
            raise ConfigError(problems)


def reference_of(key: KeyReference, kind: str, subject: str) -> str:
    """Returns the reference of a person: a keyed hash of the id, in hexadecimal digits.

    Args:
        key: The key.
        kind: The kind of the id. The same id has different references for two kinds.
        subject: The id.
    """
    secret = key.key().prepared(_PURPOSE, lambda data: derived(data, _PURPOSE))
    # NUL separates kind and id, so (a, bc) and (ab, c) differ; an id from JSON may contain half of a surrogate pair
    message = f"{kind}\0{subject}".encode(errors="surrogatepass")
    return hmac.digest(secret, message, "sha256")[:_BYTES].hex()


def references(key: KeyReference, kind: str, subjects: Iterable[str]) -> dict[str, str]:
    """Returns a dict from each id in ``subjects`` to its reference, a keyed hash of the id. ``kind`` is the kind of the
    ids, such as ``person``.
    """
    return {subject: reference_of(key, kind, subject) for subject in subjects}


def _parts(item: str) -> tuple[str, str]:
    match = _KEY.fullmatch(item)
    assert match is not None
    return match[1] or "1", match[2]


def _problems(spec: SmtErasure) -> Iterator[Problem]:
    place = "SmtErasure"
    if (
        not isinstance(spec.register_table, TableSink)
        or spec.register_table.per_topic
        or spec.register_table.keyed is not None
    ):
        hint = "name one Delta or Iceberg table, such as DeltaSink('lake/erased')"
        yield Problem("SMT754", f"{place} register_table", "is no plain table", hint)
    if not spec.key_ring:
        hint = "name a key, such as e1=${env:ERASURE_KEY}; make one with: openssl rand -base64 32"
        yield Problem("SMT754", f"{place} key_ring", "is empty", hint)
    ids = []
    for number, item in enumerate(spec.key_ring, 1):
        key_id, text = _parts(item)
        ids.append(key_id)
        if not is_reference(text):
            statement = f"item {number} is not a reference; a definition must not hold the key itself"
            yield Problem("SMT754", f"{place} key_ring", statement, "write e1=${env:NAME}")
    if len(set(ids)) < len(ids):
        yield Problem("SMT754", f"{place} key_ring", "two keys have the same id", "write e2=${…}, e1=${…}")
    if spec.key_encoding not in ENCODINGS:
        yield Problem("SMT754", f"{place} key_encoding", "is no encoding", f"use {', '.join(ENCODINGS)}")
    if spec.mode not in get_args(ErasureMode):
        yield Problem("SMT754", f"{place} mode", "is no mode", "use delete or rekey")
    if spec.clear and spec.mode != "rekey":
        yield Problem("SMT754", f"{place} clear", "is an option of mode 'rekey'", "leave it out, or set mode='rekey'")
    if not spec.records:
        hint = "write where a record names the person, such as records=['value.user_id']"
        yield Problem("SMT754", f"{place} records", "is empty: a later run could not tell whose a record is", hint)
    for option in ("records", "written"):
        for path in getattr(spec, option):
            if path.partition(".")[0] not in PARTS:
                hint = "begin with key, value or headers, such as value.user_id"
                yield Problem("SMT754", f"{place} {option}", "a path names no part of a record", hint)
