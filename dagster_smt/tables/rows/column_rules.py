"""Value rules for metadata columns and header columns. A value rule is a function of values, such as "offset as
STRING".

All rules can run in Python. Some can also run in Spark's Catalyst, if Catalyst has the necessary functions.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from dagster_smt.errors import data_error
from dagster_smt.model.record import Header
from dagster_smt.model.schema import BOOLEAN, JavaDate, Schema, Type
from dagster_smt.model.topics.columns import Decoder, Duplicates, HeaderMatch
from dagster_smt.tables.rows.decoders import Decode, decode_function
from dagster_smt.values.headers.fields import header_bytes, no_headers
from dagster_smt.values.value_rule import ValueRule

_MAX_INT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class AsLong(ValueRule):
    """A rule that returns a partition's number as BIGINT."""

    def python(self, value: int | None) -> int | None:
        return value

    def column(self, F: Any, value: Any) -> Any:
        return value.cast("bigint")


@dataclass(frozen=True, slots=True)
class AsInt(ValueRule):
    """A rule that returns an offset as INT. An offset that is out of range is an error."""

    may_fail = True

    def python(self, value: int | None) -> int | None:
        if value is not None and value > _MAX_INT:
            raise self.failure()
        return value

    def column(self, F: Any, value: Any) -> Any:
        # in ANSI mode, the default of Spark 4, a cast of a number out of range raises an error
        return F.when(value <= _MAX_INT, value).cast("int")

    def failed(self, F: Any, result: Any, value: Any) -> Any:
        return value > _MAX_INT

    def failure(self) -> Any:
        return data_error("SMT431", "the offset does not fit an INT", "declare the column as BIGINT")


@dataclass(frozen=True, slots=True)
class AsText(ValueRule):
    """A rule that returns an offset, or the number of a partition, as STRING."""

    def python(self, value: int | None) -> str | None:
        if value is None:
            return None
        return str(value)

    def column(self, F: Any, value: Any) -> Any:
        return value.cast("string")


@dataclass(frozen=True, slots=True)
class AsMillis(ValueRule):
    """A rule that returns a timestamp as milliseconds since 1970."""

    def python(self, value: JavaDate | None) -> int | None:
        if value is None:
            return None
        return int(value)

    def column(self, F: Any, value: Any) -> Any:
        return F.unix_millis(value)


@dataclass(frozen=True, slots=True)
class HeaderList(ValueRule):
    """A rule that returns all headers in order, as structs of key and value. For a record without headers, the list is
    empty.
    """

    def python(self, headers: list[Header]) -> list[dict[str, Any]]:
        return [{"key": header.key, "value": header_bytes(header)} for header in headers]

    def column(self, F: Any, headers: Any) -> Any:
        return F.coalesce(headers, no_headers(F))


@dataclass(frozen=True, slots=True)
class HeaderMap(ValueRule):
    """A rule that returns all headers as a map from name to value. The names have the order of their first occurrence.

    If several headers have the same name, ``duplicates`` determines the value: ``first``, ``last``, or ``all`` as an
    array. With ``error``, the record fails.
    """

    duplicates: Duplicates

    @property
    def may_fail(self) -> bool:  # type: ignore[override]
        return self.duplicates == "error"

    def python(self, headers: list[Header]) -> dict[str, Any]:
        values_by_key: dict[str, list[bytes | None]] = {}
        for header in headers:
            values_by_key.setdefault(header.key, []).append(header_bytes(header))
        if self.duplicates == "error" and any(len(values) > 1 for values in values_by_key.values()):
            raise self.failure()
        if self.duplicates == "all":
            return dict(values_by_key)
        results = {}
        for key, values in values_by_key.items():
            results[key] = values[0 if self.duplicates == "first" else -1]
        return results

    def column(self, F: Any, headers: Any) -> Any:
        there = F.coalesce(headers, no_headers(F))
        # Spark rejects a map with a repeated key (spark.sql.mapKeyDedupPolicy)
        names = F.array_distinct(F.transform(there, lambda h: h["key"]))

        def values(name: Any) -> Any:
            return F.transform(F.filter(there, lambda h: h["key"] == name), lambda h: h["value"])

        if self.duplicates == "all":
            return F.map_from_arrays(names, F.transform(names, values))
        # element_at() counts from 1; -1 is the last element
        position = 1 if self.duplicates == "first" else -1
        return F.map_from_arrays(names, F.transform(names, lambda name: F.element_at(values(name), position)))

    def failed(self, F: Any, result: Any, headers: Any) -> Any:
        there = F.coalesce(headers, no_headers(F))
        names = F.transform(there, lambda h: h["key"])
        return F.size(F.array_distinct(names)) < F.size(names)

    def failure(self) -> Any:
        return several("a header")


@dataclass(frozen=True, slots=True)
class HeaderNamed(ValueRule):
    """A rule that returns the bytes of the header ``key``.

    If a record has several such headers, ``match`` determines the result: the first, the last or the n-th header, or
    ``all`` headers as an array. With ``error``, the record fails.
    """

    key: str
    match: HeaderMatch

    @property
    def returns(self) -> Schema:  # type: ignore[override]
        """The type of the rule's result: bytes, or an array of bytes if ``match`` is ``all``."""
        one = Schema(Type.BYTES, optional=True)
        if self.match == "all":
            return Schema(Type.ARRAY, optional=True, values=one)
        return one

    @property
    def may_fail(self) -> bool:  # type: ignore[override]
        return self.match == "error"

    def python(self, headers: list[Header]) -> Any:
        values = []
        for header in headers:
            if header.key == self.key:
                values.append(header_bytes(header))
        if self.match == "all":
            return values
        if self.match == "error" and len(values) > 1:
            raise self.failure()
        place = self._place if self._place is not None else len(values) - 1
        if 0 <= place < len(values):
            return values[place]
        return None

    @property
    def _place(self) -> int | None:
        """The position of the requested header among the headers with its name: 0 is the first one, None is the last
        one.
        """
        if isinstance(self.match, int):
            return self.match - 1
        if self.match == "first":
            return 0
        return None

    def column(self, F: Any, headers: Any) -> Any:
        values = self._values(F, headers)
        if self.match == "all":
            return values
        # get() counts from 0 and returns null outside of the array, where element_at() raises an error in ANSI mode
        return F.get(values, F.size(values) - 1 if self._place is None else F.lit(self._place))

    def _values(self, F: Any, headers: Any) -> Any:
        there = F.coalesce(headers, no_headers(F))
        return F.transform(F.filter(there, lambda h: h["key"] == F.lit(self.key)), lambda h: h["value"])

    def failed(self, F: Any, result: Any, headers: Any) -> Any:
        return F.size(self._values(F, headers)) > 1

    def failure(self) -> Any:
        return several(f"header '{self.key}'")


def several(what: str) -> Any:
    """Returns the error for a record that has several headers of the same name, although the column permits only one.

    Args:
        what: The header in the message, such as ``a header``.
    """
    return data_error("SMT433", f"{what} appears several times", "match first, last or all of them")


@dataclass(frozen=True, slots=True)
class Decoded(ValueRule):
    """A rule that decodes a header's bytes into a value.

    Suppose that the bytes cannot be decoded. If the column is strict, the record fails. If not, the column becomes
    null.

    With ``many``, the argument is an array with the bytes of several headers, and the result is an array of values.
    """

    decoder: Decoder
    schema: Schema
    many: bool
    strict: bool
    name: str

    @property
    def returns(self) -> Schema:  # type: ignore[override]
        """The type of the rule's result."""
        return self.schema

    @property
    def may_fail(self) -> bool:  # type: ignore[override]
        return self.strict

    @property
    def needs_python(self) -> bool:  # type: ignore[override]
        """True if Catalyst does not have the decoder. Catalyst has only the simplest decoders."""
        return self.decoder.name not in ("bytes", "utf8", "hex") or self.many

    def bind(self) -> Callable[..., Any]:
        decode = _function(self.decoder, (self.schema.values if self.many else None) or self.schema)

        def one(data: bytes | None) -> Any:
            if data is None:
                return None
            try:
                value = decode(data)
            # RecursionError: a header with JSON that is nested too deeply
            except (ValueError, RecursionError):
                value = None
            if value is None and self.strict:
                raise self.failure()
            return value

        if self.many:
            return lambda values: None if values is None else list(map(one, values))
        return one

    def python(self, data: Any) -> Any:
        return self.bind()(data)

    def column(self, F: Any, data: Any) -> Any:
        if self.decoder.name == "utf8":
            # a cast alone accepts bytes that are not UTF-8, and keeps them in the string
            return F.try_validate_utf8(data.cast("string"))
        if self.decoder.name == "hex":
            return F.hex(data)
        return data

    def failed(self, F: Any, result: Any, data: Any) -> Any:
        if not self.many:
            return data.isNotNull() & result.isNull()
        # each element that cannot be decoded is one more null in the result than in the headers
        return data.isNotNull() & (result.isNull() | (_nulls(F, data) < _nulls(F, result)))

    def failure(self) -> Any:
        statement = f"column '{self.name}': the header's bytes cannot be decoded"
        return data_error("SMT432", statement, "check the dead letter, or choose another decoder")


@dataclass(frozen=True, slots=True)
class Same(ValueRule):
    """A rule that returns the column of the value, unless the same column in the key differs. Then the record fails.

    For example, if the key is ``{"id": 7}`` and the value is ``{"id": 8}``, the record fails. The arguments are the
    column of the value, and the result of ``Mismatched``.
    """

    name: str
    may_fail = True

    def python(self, value: Any, differs: bool | None) -> Any:
        if differs is not None:
            raise self.failure()
        return value

    def column(self, F: Any, value: Any, differs: Any) -> Any:
        return value

    def failed(self, F: Any, result: Any, value: Any, differs: Any) -> Any:
        return differs.isNotNull()

    def failure(self) -> Any:
        statement = f"key and value differ in '{self.name}'"
        return data_error("SMT436", statement, "check the dead letter, or leave fields.verify-integrity out")


def _nulls(F: Any, values: Any) -> Any:
    return F.size(F.filter(values, lambda v: v.isNull()))


# Decoded.python() calls bind() for each record
@cache
def _function(decoder: Decoder, schema: Schema) -> Decode:
    return decode_function(decoder, schema)


@dataclass(frozen=True, slots=True)
class Mismatched(ValueRule):
    """A rule that compares a column in the key with the same column in the value. The rule returns True if the two
    columns differ, else null.

    For example, it returns True for the key ``{"id": 7}`` and the value ``{"id": 8}``. If the argument ``absent`` is
    true, the record has no value, and the rule compares nothing. The other arguments are pairs: a part of the column
    in the value, and the same part in the key. A struct has several parts.

    Attributes:
        maps: True if a part is a map or contains one. Spark cannot compare maps.
    """

    maps: bool = False
    reads_values = True
    returns: ClassVar[Schema | None] = BOOLEAN

    @property
    def needs_python(self) -> bool:  # type: ignore[override]
        """True if Catalyst cannot compare the parts."""
        return self.maps

    def python(self, absent: bool, *parts: Any) -> bool | None:
        if absent or all(map(_equal, parts[::2], parts[1::2])):
            return None
        return True

    def column(self, F: Any, absent: Any, *parts: Any) -> Any:
        differs = F.lit(False)
        for value, other in zip(parts[::2], parts[1::2], strict=True):
            differs = differs | ~value.eqNullSafe(other)
        return F.when(~absent & differs, F.lit(True))


def _equal(one: Any, other: Any) -> bool:
    """Returns True if ``one`` and ``other`` are equal. As in Spark, NaN is equal to NaN."""
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(map(_equal, one.values(), map(other.get, one)))
    return bool(one == other)


@dataclass(frozen=True, slots=True)
class Undecoded(ValueRule):
    """A rule that returns True if the bytes of a header cannot be decoded, else null. The run counts these records."""

    many: bool

    def python(self, data: Any, value: Any) -> bool | None:
        if not self.many:
            if data is not None and value is None:
                return True
            return None
        failed = any(d is not None and v is None for d, v in zip(data or (), value or (), strict=True))
        return failed or None

    def column(self, F: Any, data: Any, value: Any) -> Any:
        gone = data.isNotNull() & value.isNull()
        if self.many:
            gone = _nulls(F, data) < _nulls(F, value)
        return F.when(gone, F.lit(True))
