"""Rules on a record's headers: append, drop, look for a name.

In Python headers are ``list[Header]``, in Spark ``array<struct<key, value>>``; null there means none. A rule never
changes the list it is given. A made header becomes bytes as Connect's ``SimpleHeaderConverter`` writes them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from dagster_smt.errors import DataError, data_error
from dagster_smt.model.record import Header
from dagster_smt.model.runtime import kind_of_schema
from dagster_smt.model.schema import Schema, Type
from dagster_smt.values.basic import PythonRule, ValueRule
from dagster_smt.values.headers.literals import parse_simple_header, simple_header_bytes

_HEADER_DDL = "struct<`key`: string, `value`: binary>"
HEADERS_DDL = f"array<{_HEADER_DDL}>"
_CATALYST_KINDS = ("string", "boolean", "int8", "int16", "int32", "int64")


def no_headers(F: Any) -> Any:
    """An array without headers, whatever type a session gives ``array()``."""
    return F.array_repeat(F.lit(None).cast(_HEADER_DDL), F.lit(0))


def header_as_read(key: str, raw: bytes | None) -> Header:
    """A header of a record in Kafka, with the value that Connect's ``SimpleHeaderConverter`` reads in its bytes."""
    schema, value = parse_simple_header(raw)
    return Header(key, schema, value, raw, from_stage=False)


def header_bytes(header: Header) -> bytes | None:
    """The bytes of a header, as they were read or as those that a stage made are written."""
    if header.from_stage:
        return simple_header_bytes(header.schema, header.value)
    return header.raw


@dataclass(frozen=True, slots=True)
class HeaderBytes(ValueRule):
    """The bytes of a header made from a value: ``Values.convertToString`` in UTF-8; null stays null."""

    schema: Schema | None

    @property
    def needs_python(self) -> bool:  # type: ignore[override]
        """Only texts, whole numbers and booleans have the same text in Catalyst as in Java."""
        return self.schema is not None and kind_of_schema(self.schema) not in _CATALYST_KINDS

    def python(self, value: Any) -> bytes | None:
        return simple_header_bytes(self.schema, value)

    def column(self, F: Any, value: Any) -> Any:
        return value.cast("string").cast("binary")


@dataclass(frozen=True, slots=True)
class AppendHeader(ValueRule):
    """Append one header with the second argument as its value. ``schema`` is the value's; None: schemaless."""

    key: str
    schema: Schema | None

    @property
    def needs_python(self) -> bool:  # type: ignore[override]
        """The bytes alone need it: ``appended`` takes those of ``HeaderBytes``, however they were made."""
        return HeaderBytes(self.schema).needs_python

    def python(self, headers: list[Header], value: Any) -> list[Header]:
        return [*headers, Header(self.key, self.schema, value)]

    def column(self, F: Any, headers: Any, value: Any) -> Any:
        return self.appended(F, headers, HeaderBytes(self.schema).column(F, value))

    def appended(self, F: Any, headers: Any, data: Any) -> Any:
        """The Spark form, given the header's bytes."""
        none = no_headers(F)
        header = F.struct(F.lit(self.key).alias("key"), data.alias("value"))
        return F.concat(F.coalesce(headers, none), F.array(header))


@dataclass(frozen=True, slots=True)
class AppendLiteral(ValueRule):
    """Append one header with a fixed value."""

    key: str
    schema: Schema | None
    value: Any = field(hash=False)

    def python(self, headers: list[Header]) -> list[Header]:
        return [*headers, Header(self.key, self.schema, self.value)]

    def column(self, F: Any, headers: Any) -> Any:
        data = simple_header_bytes(self.schema, self.value)
        if data is None:
            literal = F.lit(None).cast("binary")
        else:
            literal = F.lit(bytearray(data))
        return AppendHeader(self.key, self.schema).appended(F, headers, literal)


@dataclass(frozen=True, slots=True)
class DropNamed(ValueRule):
    """Drop every header of some names; the order of the rest stays."""

    names: tuple[str, ...]

    def python(self, headers: list[Header]) -> list[Header]:
        return [h for h in headers if h.key not in self.names]

    def column(self, F: Any, headers: Any) -> Any:
        return F.filter(headers, lambda h: ~h["key"].isin(*self.names))


@dataclass(frozen=True, slots=True)
class HeaderValue(PythonRule):
    """The value of the header at a position."""

    number: int

    def python(self, headers: list[Header]) -> Any:
        return headers[self.number].value


@dataclass(frozen=True, slots=True)
class HasHeader(ValueRule):
    """Whether there is a header of exactly this name."""

    name: str

    def python(self, headers: list[Header]) -> bool:
        return any(h.key == self.name for h in headers)

    def column(self, F: Any, headers: Any) -> Any:
        return F.coalesce(F.exists(headers, lambda h: h["key"] == F.lit(self.name)), F.lit(False))


@dataclass(frozen=True, slots=True)
class HasHeaderOrNull(ValueRule):
    """True where there is a header of exactly this name, else null: what a ledger entry counts."""

    name: str

    def python(self, headers: list[Header]) -> bool | None:
        return HasHeader(self.name).python(headers) or None

    def column(self, F: Any, headers: Any) -> Any:
        return F.when(HasHeader(self.name).column(F, headers), F.lit(True))


@dataclass(frozen=True, slots=True)
class LastHeader(ValueRule):
    """The bytes of the last header of a name, as they are read or would be written; null where there is none."""

    name: str
    returns: ClassVar[Schema | None] = Schema(Type.BYTES, optional=True)

    def python(self, headers: Sequence[Header]) -> bytes | None:
        found = next((h for h in reversed(headers) if h.key == self.name), None)
        if found is None:
            return None
        return header_bytes(found)

    def column(self, F: Any, headers: Any) -> Any:
        named = F.filter(headers, lambda h: h["key"] == F.lit(self.name))
        return F.try_element_at(named, F.lit(-1))["value"]


@dataclass(frozen=True, slots=True)
class HeaderText(ValueRule):
    """The bytes of a header as a text; null stays null. ``name`` is the header's."""

    name: str
    may_fail = True
    returns: ClassVar[Schema | None] = Schema(Type.STRING, optional=True)

    def python(self, data: bytes | None) -> str | None:
        if data is None:
            return None
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise self.failure() from None

    def column(self, F: Any, data: Any) -> Any:
        return F.try_validate_utf8(data.cast("string"))

    def failed(self, F: Any, result: Any, data: Any) -> Any:
        return data.isNotNull() & result.isNull()

    def failure(self) -> DataError:
        hint = "guard the stage with a predicate, or correct who writes the header"
        return data_error("SMT460", f"the header '{self.name}' is no text in UTF-8", hint)
