"""Defines rules that append headers, drop headers, or search headers by name.

In Python, headers are ``list[Header]``. In Spark, headers are ``array<struct<key, value>>``, and a record without
headers has null. A rule never changes the list in its argument. If a stage sets a header, the bytes of the header are
those that Connect's ``SimpleHeaderConverter`` would write.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from dagster_smt.errors import DataError, data_error
from dagster_smt.model.record import Header
from dagster_smt.model.runtime import kind_of_schema
from dagster_smt.model.schema import Schema, Type
from dagster_smt.values.headers.literals import parse_simple_header, simple_header_bytes
from dagster_smt.values.value_rule import NullStays, PythonRule, ValueRule

_HEADER_DDL = "struct<`key`: string, `value`: binary>"
HEADERS_DDL = f"array<{_HEADER_DDL}>"
_CATALYST_KINDS = ("string", "boolean", "int8", "int16", "int32", "int64")


def no_headers(F: Any) -> Any:
    """Returns a column with an empty array of headers. Unlike the type of ``array()``, the type of this column does not
    depend on the session.
    """
    return F.array_repeat(F.lit(None).cast(_HEADER_DDL), F.lit(0))


def header_as_read(key: str, raw: bytes | None) -> Header:
    """Returns the header ``key`` of a record that was read from Kafka. Connect's ``SimpleHeaderConverter`` determines
    its value from the bytes ``raw``.
    """
    schema, value = parse_simple_header(raw)
    return Header(key, schema, value, raw, from_stage=False)


def header_bytes(header: Header) -> bytes | None:
    """Returns the bytes of ``header``. If the header was read from Kafka, the result is its original bytes. If a stage
    has set the header, the result is the bytes to write.
    """
    if header.from_stage:
        return simple_header_bytes(header.schema, header.value)
    return header.raw


@dataclass(frozen=True, slots=True)
class HeaderBytes(ValueRule):
    """A rule that converts a value to the bytes of a header: the string of ``Values.convertToString`` in UTF-8. A null
    stays null.
    """

    schema: Schema | None

    @property
    def needs_python(self) -> bool:  # type: ignore[override]
        """True if the value has a schema, but is not a string, a whole number or a boolean. Catalyst writes only these
        three as Java does.
        """
        return self.schema is not None and kind_of_schema(self.schema) not in _CATALYST_KINDS

    def python(self, value: Any) -> bytes | None:
        return simple_header_bytes(self.schema, value)

    def column(self, F: Any, value: Any) -> Any:
        return value.cast("string").cast("binary")


@dataclass(frozen=True, slots=True)
class AppendHeader(ValueRule):
    """A rule that appends a header. The second argument is the value of the header.

    ``schema`` is the schema of this value; None if the value is schemaless.
    """

    key: str
    schema: Schema | None

    @property
    def needs_python(self) -> bool:  # type: ignore[override]
        """True if ``HeaderBytes`` needs Python. On Spark, Python then computes only the bytes of the header, and the
        method ``appended`` appends the header.
        """
        return HeaderBytes(self.schema).needs_python

    def python(self, headers: list[Header], value: Any) -> list[Header]:
        return [*headers, Header(self.key, self.schema, value)]

    def column(self, F: Any, headers: Any, value: Any) -> Any:
        return self.appended(F, headers, HeaderBytes(self.schema).column(F, value))

    def appended(self, F: Any, headers: Any, data: Any) -> Any:
        """Returns the Spark column ``headers`` with one more header, whose value has the bytes ``data``."""
        none = no_headers(F)
        header = F.struct(F.lit(self.key).alias("key"), data.alias("value"))
        return F.concat(F.coalesce(headers, none), F.array(header))


@dataclass(frozen=True, slots=True)
class AppendLiteral(ValueRule):
    """A rule that appends a header with a fixed value."""

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
    """A rule that drops all headers with the listed names. The other headers keep their order."""

    names: tuple[str, ...]

    def python(self, headers: list[Header]) -> list[Header]:
        return [h for h in headers if h.key not in self.names]

    def column(self, F: Any, headers: Any) -> Any:
        return F.filter(headers, lambda h: ~h["key"].isin(*self.names))


@dataclass(frozen=True, slots=True)
class KeepNamed(ValueRule):
    """A rule that drops all headers except those with the listed names. The remaining headers keep their order."""

    names: tuple[str, ...]

    def python(self, headers: list[Header]) -> list[Header]:
        return [h for h in headers if h.key in self.names]

    def column(self, F: Any, headers: Any) -> Any:
        return F.filter(headers, lambda h: _is_named(F, h, self.names))


@dataclass(frozen=True, slots=True)
class HasOtherHeaderOrNull(ValueRule):
    """A rule that returns True if the record has a header with a name that is not listed, else null.

    The result is never False, because the ledger (the run's counts of changed records) counts every result that is not
    null.
    """

    names: tuple[str, ...]

    def python(self, headers: list[Header]) -> bool | None:
        return any(h.key not in self.names for h in headers) or None

    def column(self, F: Any, headers: Any) -> Any:
        return F.when(F.exists(headers, lambda h: ~_is_named(F, h, self.names)), F.lit(True))


def _is_named(F: Any, header: Any, names: tuple[str, ...]) -> Any:
    if not names:
        return F.lit(False)
    return header["key"].isin(*names)


@dataclass(frozen=True, slots=True)
class HeaderValueRule(PythonRule):
    """A rule that returns the value of the header at a given position in the record's headers."""

    number: int

    def python(self, headers: list[Header]) -> Any:
        return headers[self.number].value


@dataclass(frozen=True, slots=True)
class HasHeaderRule(ValueRule):
    """A rule that returns True if the record has a header of exactly this name."""

    name: str

    def python(self, headers: list[Header]) -> bool:
        return any(h.key == self.name for h in headers)

    def column(self, F: Any, headers: Any) -> Any:
        return F.coalesce(F.exists(headers, lambda h: h["key"] == F.lit(self.name)), F.lit(False))


@dataclass(frozen=True, slots=True)
class HasHeaderOrNull(ValueRule):
    """A rule that returns True if the record has a header of exactly this name, else null.

    The result is never False, because the ledger (the run's counts of changed records) counts every result that is not
    null.
    """

    name: str

    def python(self, headers: list[Header]) -> bool | None:
        return HasHeaderRule(self.name).python(headers) or None

    def column(self, F: Any, headers: Any) -> Any:
        return F.when(HasHeaderRule(self.name).column(F, headers), F.lit(True))


@dataclass(frozen=True, slots=True)
class LastHeader(ValueRule):
    """A rule that returns the bytes of the last header called ``name``. If a stage has set this header, the
    result is the bytes that the run will write for it. If the record has no such header, the result is null.
    """

    name: str
    returns: ClassVar[Schema | None] = Schema(Type.BYTES, optional=True)

    def python(self, headers: Sequence[Header]) -> bytes | None:
        for header in reversed(headers):
            if header.key == self.name:
                return header_bytes(header)
        return None

    def column(self, F: Any, headers: Any) -> Any:
        same_name = F.filter(headers, lambda h: h["key"] == F.lit(self.name))
        return F.try_element_at(same_name, F.lit(-1))["value"]


@dataclass(frozen=True, slots=True)
class HeaderText(NullStays):
    """A rule that converts bytes, the value of the header ``name``, to a string. A null stays null."""

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

    def failure(self) -> DataError:
        hint = "add a predicate to the stage, or fix the producer of the header"
        return data_error("SMT460", f"the header '{self.name}' is not a UTF-8 string", hint)
