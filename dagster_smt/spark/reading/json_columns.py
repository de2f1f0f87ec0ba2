"""Reads JSON with a declared schema in Python, and passes the values to Spark as Arrow columns.

Spark's ``from_json`` accepts texts that Connect rejects, such as numbers instead of strings, or text after the value.
msgspec is strict enough, and faster than additional checks around ``from_json``. msgspec decodes each struct of the
schema into a ``Struct`` class that is made for this struct. The columns are then built field by field, not record by
record.

If msgspec rejects a text, the slower reader of the Python evaluator (``formats.json``) reads the text again and reports
the problem. So both evaluators accept the same texts.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain
from typing import Annotated, Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dagster_smt.errors import DataError, Problem, problem_of_record
from dagster_smt.formats.json import Inexact, moment_parser, reader
from dagster_smt.formats.sides import side_codec
from dagster_smt.model.record import DropRecord
from dagster_smt.model.schema import INTEGER_BITS, Schema, Type
from dagster_smt.model.topics.format import Format
from dagster_smt.spark.column_values import arrow_type, column_writer
from dagster_smt.spark.garbage import no_collection
from dagster_smt.spark.outcome_columns import NO_ROW, problem_column
from dagster_smt.spark.reading.early_masks import Masks, below, masking
from dagster_smt.spark.stages.early_calls import EarlyCall
from dagster_smt.spark.typed_literals import MAX_MILLIS
from dagster_smt.values.cast import DAY
from dagster_smt.values.json.lazy import MAX_DEPTH

Build = Callable[[Sequence[Any]], pa.Array]
"""A function that builds a column from the values that msgspec has decoded. None becomes null."""
_VALUES = 500_000
"""The approximate number of values that are read at once. This many Python objects fit into a processor's cache."""
_CLASS = Schema(Type.STRING, optional=True)
_MOST_DIGITS = 4300
"""The largest number of digits of a whole number. It is Python's own limit, and also the limit of the Python
evaluator's reader (``formats.json``).
"""
_TO_ZEROS, _MANY_ZEROS = bytes.maketrans(b"123456789", b"0" * 9), b"0" * (_MOST_DIGITS + 1)
_TEN_ZEROS, _LONG_EXPONENT = b"0" * 10, re.compile(rb"[eE][+-]?0{10}")
"""Two patterns that detect an exponent of ten or more digits, such as in ``1e9999999999``. Such an exponent may be too
large for Java's ``BigDecimal``. Before the search, each digit of the text is replaced by a zero.
"""
_SIMPLE = {Type.STRING: str, Type.BYTES: str, Type.BOOLEAN: bool, Type.FLOAT32: float, Type.FLOAT64: float}


class _LongWay(Exception):
    """Raised if msgspec cannot read a batch exactly, for example because it has no type for a field. The reader of the
    Python evaluator (``formats.json``), which is slower, must read the batch.
    """


@dataclass(frozen=True)
class SideColumns:
    """The names and schemas of the columns into which a record's key or value is read.

    Attributes:
        side: ``key`` or ``value``.
        form: The format, with a declared schema.
        schema: The schema with the fields to read. All other fields are skipped.
        masks: Maps paths to the masks that are applied while records are read (``early_masks``).
        calls: Python functions that are applied to fields after the masks. They are possible only if the key or value
            is a struct, because each field then has a column of its own.
        envelope: The text of the schema, if the keys or values are envelopes. Only the JVM lane, the Java evaluator
            inside Spark, reads envelopes.
    """

    side: str
    form: Format
    schema: Schema
    masks: Masks = field(default_factory=dict, hash=False)
    calls: tuple[EarlyCall, ...] = ()
    envelope: bytes | None = None

    @property
    def apart(self) -> bool:
        """True if the key or value is a struct. The column ``read_key`` or ``read_value`` then contains one field for
        each field of the struct.
        """
        return self.schema.logical is None and self.schema.type is Type.STRUCT

    @property
    def column(self) -> str:
        """The name of the column with the values: ``read_key`` or ``read_value``. If the key or value is a struct, the
        column has the fields ``f0``, ``f1`` and so on.
        """
        return f"read_{self.side}"

    @property
    def there(self) -> str:
        """The name of the column that is null if the key or value is null."""
        return f"{self.column}_there"

    @property
    def bad(self) -> str:
        """The name of the column with the problem of a key or value that cannot be read."""
        return f"bad_{self.side}"

    def fields(self) -> dict[str, Schema]:
        """Returns a dict from column name to schema, for the fields to read. The names are ``f0``, ``f1`` and so on. If
        the key or value is not a struct, the only name is the value of ``column``, such as ``read_key``.
        """
        if not self.apart:
            return {self.column: self.schema}
        fields = {}
        for n, (_, child) in enumerate(self.schema.fields):
            fields[f"f{n}"] = child
        return fields

    def columns(self) -> dict[str, Schema]:
        """Returns a dict from column name to schema. It contains the columns of ``fields``, and two columns for each
        function in ``calls``: the function's result, and the error that it raised.
        """
        schemas = self.fields()
        for call in self.calls:
            schemas |= {call.column: call.returns, call.raised: _CLASS}
        return schemas


@dataclass(frozen=True)
class ReadColumns:
    """A picklable function for ``DataFrame.mapInArrow`` that reads keys and values. It returns the columns in
    ``other_columns`` unchanged, and adds three columns for each key or value in ``sides``.

    ``column`` contains the values. ``there`` is null if the key or value is null. ``bad`` contains the problem of an
    unreadable key or value, otherwise null. ``SideColumns`` has the names of these columns.
    """

    sides: tuple[SideColumns, ...]
    other_columns: tuple[str, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        readers = [_TextReader(side) for side in self.sides]
        # the more columns, the fewer rows at once, so that the number of Python objects stays the same
        rows = max(1, _VALUES // sum(len(side.columns()) + 1 for side in self.sides))
        for batch in batches:
            for first in range(0, batch.num_rows, rows):
                yield self._read(batch.slice(first, rows), readers)

    def _read(self, batch: pa.RecordBatch, readers: "list[_TextReader]") -> pa.RecordBatch:
        columns = {name: batch.column(name) for name in self.other_columns}
        with no_collection():
            for read in readers:
                columns |= read.columns(batch.column(read.side.side).to_pylist())
        return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


class _TextReader:
    """A reader for the texts of keys, or for the texts of values."""

    def __init__(self, side: SideColumns):
        self.side = side
        if side.form.schema is not None:
            form = replace(side.form, schema=side.schema)
        else:
            form = side.form
        self.exact = side_codec(form).read
        self.plain = column_writer(side.schema, side.schema)
        self.types = {name: arrow_type(child) for name, child in side.fields().items()}
        self.filled = [name for name, child in side.fields().items() if child.default is not None]
        self.decode: Callable[[bytes], Any] | None = None
        self.build = [_builder(child, form) for child in side.fields().values()]
        fields = zip(self.types, side.schema.fields, strict=True) if side.apart else ()
        masks = {column: masking(child, below(side.masks, name)) for column, (name, child) in fields}
        self.masks = {column: mask for column, mask in masks.items() if mask is not None}
        self.calls = [(call, call.results()) for call in side.calls]
        if side.apart and form.kind == "json_schema" and _has_types(side.schema):
            self.decode = msgspec.json.Decoder(_struct_class(side.schema, form)).decode

    def columns(self, texts: list[bytes | None]) -> dict[str, pa.Array]:
        """Reads a batch of ``texts``, and returns a dict from column name to Arrow column. If the batch raises an
        error, the method reads both halves of the batch separately. It continues with the halves of a half, until it
        has isolated the text that fails.
        """
        try:
            return self._columns(texts)
        except Exception as error:  # noqa: BLE001 whatever the error is, one of the texts causes it
            # raises the error again if no record can be its cause, such as a lack of memory
            problem = problem_of_record(error)
        if len(texts) <= 1:
            return {**self._nothing(len(texts)), self.side.bad: problem_column({0: problem}, len(texts))}
        first, second = self.columns(texts[: len(texts) // 2]), self.columns(texts[len(texts) // 2 :])
        return {name: pa.concat_arrays([column, second[name]]) for name, column in first.items()}

    def _nothing(self, size: int) -> dict[str, pa.Array]:
        """Returns the columns for ``size`` texts that cannot be read. All values are null. The column with the problems
        is not included.
        """
        columns = {name: pa.nulls(size, arrow_type(kind)) for name, kind in self.side.columns().items()}
        if self.side.apart and columns:
            columns = {self.side.column: pa.StructArray.from_arrays(list(columns.values()), names=list(columns))}
        return {**columns, self.side.there: pa.nulls(size, pa.bool_())}

    def _columns(self, texts: list[bytes | None]) -> dict[str, pa.Array]:
        try:
            rows, problems = self._fast(texts)
            columns = self._built(rows)
        except _LongWay:
            values, problems = self._exactly(texts)
            rows, columns = values, self._from_values(values)
        columns |= {name: mask(columns[name]) for name, mask in self.masks.items()}
        for call, results in self.calls:
            columns[call.column], columns[call.raised] = results(columns[call.field])
        there = pa.array([None if row is None else True for row in rows], pa.bool_())
        if self.side.apart and columns:
            columns = {self.side.column: pa.StructArray.from_arrays(list(columns.values()), names=list(columns))}
        return {**columns, self.side.there: there, self.side.bad: problem_column(problems, len(texts))}

    def _fast(self, texts: list[bytes | None]) -> tuple[list[Any], dict[int, Problem]]:
        decode = self.decode
        if decode is None:
            raise _LongWay
        rows: list[Any] = []
        problems: dict[int, Problem] = {}
        for number, text in enumerate(texts):
            try:
                # msgspec does not check the encoding of skipped fields, so texts that are not ASCII are decoded first
                rows.append(decode(text) if text and _is_modest(text) and (text.isascii() or text.decode()) else None)
            except Exception:  # noqa: BLE001 whatever the error is, the other reader reports it
                rows.append(self._exact_one(number, text, problems))
                # only the exact reader accepts this text, and the form of its result differs from msgspec's
                if rows[-1] is not None:
                    raise _LongWay from None
        return rows, problems

    def _built(self, rows: list[Any]) -> dict[str, pa.Array]:
        values = _transposed(rows, len(self.build))
        columns = {name: build(column) for name, build, column in zip(self.types, self.build, values, strict=True)}
        if self.filled and any(row is None for row in rows):  # a null key or value has no fields, so no default applies
            there = pa.array([row is not None for row in rows])
            columns |= {name: pc.if_else(there, columns[name], None) for name in self.filled}
        return columns

    def _exactly(self, texts: list[bytes | None]) -> tuple[list[Any], dict[int, Problem]]:
        """Reads ``texts`` with the reader of the Python evaluator, which is slower than ``_fast`` but reads everything.
        Returns the values (dates and timestamps as numbers), and a dict from position in ``texts`` to problem.
        """
        problems: dict[int, Problem] = {}
        return [self._exact_one(number, text, problems) for number, text in enumerate(texts)], problems

    def _exact_one(self, number: int, text: bytes | None, problems: dict[int, Problem]) -> Any:
        try:
            return self.plain(self.exact(text)[1])
        except DropRecord:
            problems[number] = NO_ROW
            return None
        except Exception as error:  # noqa: BLE001 whatever the error is, this text causes it
            problems[number] = problem_of_record(error)
            return None

    def _from_values(self, values: list[Any]) -> dict[str, pa.Array]:
        if not self.side.apart:
            return {name: pa.array(values, kind) for name, kind in self.types.items()}
        empty = (None,) * len(self.types)
        columns: Iterable[tuple[Any, ...]] = [()] * len(empty)
        if values:
            rows = [empty if value is None else value for value in values]
            columns = zip(*rows, strict=True)
        return {n: pa.array(column, self.types[n]) for n, column in zip(self.types, columns, strict=True)}


def _is_modest(text: bytes) -> bool:
    """Checks that ``text`` is not nested too deeply, and has no number with too many digits. msgspec does not check
    these two limits in the fields that it skips. Returns True; the function never returns False.

    Raises:
        RecursionError: The text may exceed a limit. Only the slower reader of the Python evaluator (``formats.json``)
            can check this exactly.
    """
    # Brackets in strings count as well. That is cheap, and only sends a few valid texts to the slower reader.
    if text.count(b"{") + text.count(b"[") > MAX_DEPTH:
        raise RecursionError
    zeros = text.translate(_TO_ZEROS)
    if _TEN_ZEROS in zeros and (_MANY_ZEROS in zeros or _LONG_EXPONENT.search(zeros)):
        raise RecursionError
    return True


def _has_types(schema: Schema) -> bool:
    """Returns True if msgspec has a type for ``schema``. For example, it has none for decimals, for structs with
    unusual field names, and for maps whose keys are not strings.
    """
    if schema.type is Type.STRUCT:
        # msgspec accepts no names with quotes, backslashes or control characters
        names = all(name.isprintable() and not set(name) & {'"', "\\"} for name in schema.by_name)
        return names and all(map(_has_types, schema.by_name.values()))
    if schema.logical == "Decimal" or schema.mislabelled:
        return False
    # Connect's JSON for such a map is an array of pairs
    if schema.type is Type.MAP and (schema.keys is None or schema.keys.type is not Type.STRING):
        return False
    return schema.values is None or _has_types(schema.values)


def _kind(schema: Schema, form: Format) -> Any:
    """Returns the Python type for msgspec's decoder, for JSON values of ``schema``. For example, an optional STRING
    becomes ``str | None``.
    """
    kind: Any
    if schema.type in INTEGER_BITS:
        least, most = _limits(schema)
        kind = Annotated[int, msgspec.Meta(ge=least, le=most)]
        # in this format, a date or timestamp may be a string
        if moment_parser(schema, form) is not None:
            kind = kind | str
    elif schema.type is Type.STRUCT:
        kind = _struct_class(schema, form)
    elif schema.values is not None:
        inner: Any = _kind(schema.values, form)
        kind = list[inner] if schema.type is Type.ARRAY else dict[str, inner]
    else:
        kind = _SIMPLE[schema.type]
    if _takes_null(schema, form):
        return kind | None
    return kind


def _limits(schema: Schema) -> tuple[int, int]:
    if schema.logical == "Time":
        return 0, DAY
    if schema.logical == "Timestamp":
        return -MAX_MILLIS, MAX_MILLIS
    limit = 1 << (INTEGER_BITS[schema.type] - 1)
    return -limit, limit - 1


def _takes_null(schema: Schema, form: Format) -> bool:
    return schema.optional or (form.replace_null_with_default and schema.default is not None)


def _struct_class(schema: Schema, form: Format) -> type[msgspec.Struct]:
    """Returns a msgspec struct for ``schema``, with the original field names. A field that may be null may also be
    missing.
    """
    fields: list[Any] = []
    for number, (name, child) in enumerate(schema.fields):
        default = None if _takes_null(child, form) else msgspec.NODEFAULT
        fields.append((f"f{number}", _kind(child, form), msgspec.field(name=name, default=default)))
    # ``kw_only``, because a required field may come after an optional one. Without ``gc``, the cycle collector does not
    # track the objects, which form no cycles.
    return msgspec.defstruct("Row", fields, gc=False, kw_only=True)


def _transposed(rows: Sequence[Any], width: int) -> Iterable[Any]:
    """Turns rows into columns. ``rows`` are structs with ``width`` fields. The result has one sequence of values per
    field: ``[(1, "a"), (2, "b")]`` becomes ``[(1, 2), ("a", "b")]``. A row that is None gives None in each sequence.
    """
    if not rows:
        return [[]] * width
    empty = (None,) * width
    parts = msgspec.structs.astuple
    return zip(*[empty if row is None else parts(row) for row in rows], strict=True)


def _builder(schema: Schema, form: Format) -> Build:
    """Returns a function that builds a column of ``schema`` from the values that msgspec has decoded."""
    default = schema.default if form.replace_null_with_default else None
    if schema.type is Type.STRUCT:
        return _no_default(_struct_builder(schema, form), default)
    if schema.values is not None and schema.type is Type.ARRAY:
        return _no_default(_list_builder(_builder(schema.values, form)), default)
    if schema.values is not None and schema.keys is not None:
        return _no_default(_map_builder(_builder(schema.values, form)), default)
    return _leaf_builder(schema, form, column_writer(schema, schema)(default))


def _leaf_builder(schema: Schema, form: Format, default: Any) -> Build:
    kind, convert = arrow_type(schema), None
    parse = moment_parser(schema, form)
    if schema.type in (Type.BYTES, Type.FLOAT32):
        # nulls pass through here; a default is filled in below
        convert = reader(schema.with_(optional=True, default=None), form)

    def build(values: Sequence[Any]) -> pa.Array:
        if convert is not None:
            try:
                values = [convert(v) for v in values]
            except (DataError, Inexact):
                raise _LongWay from None
        if parse is not None:
            values = _numbers(values, schema, parse)
        if default is not None:
            values = [default if v is None else v for v in values]
        column = pa.array(values, kind)
        if schema.type is Type.FLOAT64 and _negative_zero(column):
            raise _LongWay
        return column

    return build


def _numbers(values: Sequence[Any], schema: Schema, parse: Callable[[str], int | None]) -> Sequence[Any]:
    """Returns ``values``, which are dates or timestamps, as numbers. ``parse`` converts the values that are strings. If
    ``parse`` cannot convert a string, the slower reader of the Python evaluator reads the batch again and reports the
    problem.
    """
    least, most = _limits(schema)
    numbers = []
    for value in values:
        if type(value) is str:
            value = parse(value)
            if value is None or not least <= value <= most:
                raise _LongWay
        numbers.append(value)
    return numbers


def _negative_zero(column: pa.Array) -> bool:
    """Returns True if ``column`` contains -0.0. The slower reader of the Python evaluator must then read the batch
    again. Connect reads the text ``-0.0`` as 0.0, but the text ``-1e-400`` as -0.0, and the column does not show which
    text it was.
    """
    zeros = column.filter(pc.equal(column, 0.0))
    return len(zeros) > 0 and bool(np.signbit(zeros.to_numpy(zero_copy_only=False)).any())


def _no_default(build: Build, default: Any) -> Build:
    if default is None:
        return build

    def build_without(values: Sequence[Any]) -> pa.Array:
        # only the slower reader fills in the default of a struct, an array or a map
        if None in values:
            raise _LongWay
        return build(values)

    return build_without


def _struct_builder(schema: Schema, form: Format) -> Build:
    builders = [_builder(child, form) for _, child in schema.fields]
    fields = list(arrow_type(schema))

    def build(values: Sequence[Any]) -> pa.Array:
        if None in values:
            gone = pa.array([v is None for v in values], pa.bool_())
        else:
            gone = None
        if not fields:
            # ``StructArray.from_arrays`` takes the length from its children, and there are none
            return pa.array([None if v is None else {} for v in values], pa.struct([]))
        columns = _transposed(values, len(builders))
        children = [build(column) for build, column in zip(builders, columns, strict=True)]
        return pa.StructArray.from_arrays(children, fields=fields, mask=gone)

    return build


def _offsets(values: Sequence[Any]) -> pa.Array:
    """Returns the offsets of an Arrow list column with the lists ``values``. For lists of the lengths 2 and 3, the
    offsets are 0, 2 and 5: the start of each list, and the end of the last one. The offset of a list that is None is
    null.
    """
    ends = list(accumulate((len(v) if v else 0 for v in values), initial=0))
    # ``ends`` has one item more than ``values``: the end of the last list, which is added at the end
    return pa.array([None if v is None else at for v, at in zip(values, ends, strict=False)] + ends[-1:], pa.int32())


def _list_builder(item: Build) -> Build:
    def build(values: Sequence[Any]) -> pa.Array:
        return pa.ListArray.from_arrays(_offsets(values), item(list(chain.from_iterable(v for v in values if v))))

    return build


def _map_builder(item: Build) -> Build:
    def build(values: Sequence[Any]) -> pa.Array:
        some = [v for v in values if v]
        keys = pa.array(list(chain.from_iterable(some)), pa.string())
        items = item(list(chain.from_iterable(v.values() for v in some)))
        return pa.MapArray.from_arrays(_offsets(values), keys, items)

    return build
