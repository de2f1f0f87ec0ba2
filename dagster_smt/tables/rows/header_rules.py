"""Value rules that write columns into headers. They run only in Python, when records are written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dagster_smt.errors import data_error
from dagster_smt.model.record import Header
from dagster_smt.model.schema import Schema
from dagster_smt.model.topics.columns import Decoder, Duplicates, HeaderMatch
from dagster_smt.tables.rows.column_rules import Decoded, HeaderList, HeaderMap, HeaderNamed
from dagster_smt.tables.rows.decoders import encode_function
from dagster_smt.values.value_rule import PythonRule


@dataclass(frozen=True, slots=True)
class PutHeader(PythonRule):
    """A rule that writes a column into the header ``key``. It returns all headers of the record.

    If no stage has changed the column, the headers stay as they are. Otherwise, the new value replaces the last header
    with this name. All other headers with this name are removed, because they still contain the old value.
    """

    key: str
    match: HeaderMatch
    decoder: Decoder
    schema: Schema
    may_fail = True

    def bind(self) -> Callable[..., Any]:
        many = self.match == "all"
        # with match error, a record with several such headers has failed while its columns were read
        find = HeaderNamed(self.key, "last" if self.match == "error" else self.match).bind()
        # not strict: bytes that cannot be decoded were read as null, and stay if the column is still null
        decode = Decoded(self.decoder, self.schema, many, False, self.key).bind()
        encode = encode_function(self.decoder, (self.schema.values if many else None) or self.schema)

        def put(headers: Sequence[Header], read: Sequence[Header], value: Any) -> list[Header]:
            if decode(find(read)) == value:
                return list(headers)
            values = value if many else [value]
            try:
                own = []
                for v in values or ():
                    if v is not None:
                        # from_stage=False: the bytes are final, so no header converter encodes them
                        own.append(Header(self.key, raw=encode(v), from_stage=False))
            except (ValueError, OverflowError):
                raise self.failure() from None
            return _in_place(headers, self.key, own)

        return put

    def python(self, headers: Sequence[Header], read: Sequence[Header], value: Any) -> list[Header]:
        result: list[Header] = self.bind()(headers, read, value)
        return result

    def failure(self) -> Any:
        statement = f"header '{self.key}': the value cannot be written as {self.decoder.name} reads it"
        return data_error("SMT437", statement, "declare the column VIRTUAL, or choose another decoder")


def _in_place(headers: Sequence[Header], key: str, own: list[Header]) -> list[Header]:
    """Returns ``headers``, in which the headers ``own`` replace the last header called ``key``. The other headers
    called ``key`` are removed. If there is no header called ``key``, the headers ``own`` are added at the end.
    """
    places = []
    for number, header in enumerate(headers):
        if header.key == key:
            places.append(number)
    if not places:
        return [*headers, *own]
    before = []
    for header in headers[: places[-1]]:
        if header.key != key:
            before.append(header)
    return [*before, *own, *headers[places[-1] + 1 :]]


@dataclass(frozen=True, slots=True)
class NoHeaders(PythonRule):
    """A rule that removes all headers."""

    def python(self, headers: Sequence[Header]) -> list[Header]:
        return []


@dataclass(frozen=True, slots=True)
class HeadersFrom(PythonRule):
    """A rule that replaces all headers of a record with the content of one column, if a stage has changed the column.

    The column is a list of pairs, or a map from names to values.
    """

    duplicates: Duplicates
    by_name: bool

    def python(self, headers: Sequence[Header], read: Sequence[Header], value: Any) -> list[Header]:
        last = HeaderMap("last" if self.duplicates == "error" else self.duplicates)
        was: Any = last.python(list(read)) if self.by_name else HeaderList().python(list(read))
        if was == value:
            return list(headers)
        if not self.by_name:
            return [Header(item["key"], raw=item["value"], from_stage=False) for item in value or ()]
        pairs = []
        for k, vs in (value or {}).items():
            for v in vs if self.duplicates == "all" else [vs]:
                pairs.append((k, v))
        return [Header(key, raw=data, from_stage=False) for key, data in pairs]
