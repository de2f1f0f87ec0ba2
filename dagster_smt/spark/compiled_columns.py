"""JSON with a declared schema to Arrow columns by compiled code; what is not plain is left to msgspec's reader."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dagster_smt.interpret.compiled.loading import ready
from dagster_smt.model.schema import INTEGER_BITS, Schema, Type
from dagster_smt.spark.binary import bytes_of_array, is_utf8
from dagster_smt.spark.column_values import arrow_type

if TYPE_CHECKING:  # numba is loaded when there is enough to do
    from dagster_smt.interpret.compiled.fields import Column, Fields, Found

Make = Callable[["Found", int], pa.Array]
ABSENT = 2
"""What ``odd`` says of records without a value."""
_TRIAL, _MOST_ODD = 20_000, 0.25
_MOST_BYTES = 1 << 29


class CompiledColumns:
    """Reads the fields of one side.

    Args:
        schema: Of the side: a struct whose fields have no defaults.
        limits: Gives the bounds of integers of a schema.
        kind: Gives msgspec's type for the values of a schema.
        build: Makes columns of what msgspec decodes, by field.
    """

    def __init__(
        self,
        schema: Schema,
        limits: Callable[[Schema], tuple[int, int]],
        kind: Callable[[Schema], Any],
        build: list[Callable[[Any], pa.Array]],
    ):
        self.names = [name for name, _ in schema.fields]
        self.make = [_maker(child, limits, kind, one) for (_, child), one in zip(schema.fields, build, strict=True)]
        self.fields: Fields | None = None
        self.off, self.records, self.odd = False, 0, 0

    def columns(self, texts: pa.Array) -> tuple[list[pa.Array], Any] | None:
        """(the columns, 1 in ``odd`` where another reader has to look, 2 where there is no value); None: everywhere."""
        if self.off or not len(texts) or texts.nbytes > _MOST_BYTES or not ready(len(texts)) or not is_utf8(texts):
            return None
        if self.fields is None:
            from dagster_smt.interpret.compiled.fields import Fields

            self.fields = Fields(self.names)
        absent = pc.or_(pc.is_null(texts), pc.fill_null(pc.equal(pc.binary_length(texts), 0), True))
        odd = absent.to_numpy(zero_copy_only=False).astype(np.uint8) * ABSENT
        found = self.fields.scan(bytes_of_array(texts), odd)
        try:
            made = [make(found, slot) for slot, make in enumerate(self.make)]
        except _NotPlain:
            odd[odd == 0] = 1
            made = []
        self.records, self.odd = self.records + len(odd), self.odd + int((odd == 1).sum())
        self.off = self.records > _TRIAL and self.odd > _MOST_ODD * self.records
        return (made, odd) if made else None


class _NotPlain(Exception):
    """A column with values that its type does not take."""


def _maker(
    schema: Schema, limits: Callable[[Schema], tuple[int, int]], kind: Callable[[Schema], Any], build: Any
) -> Make:
    nullable, wanted = schema.optional, arrow_type(schema)
    if schema.type in INTEGER_BITS:
        least, most = limits(schema)
        return lambda found, slot: _packed(found.whole_numbers(slot, nullable, least, most), pa.int64()).cast(wanted)
    if schema.type is Type.BOOLEAN:
        return lambda found, slot: _flags(found.flags(slot, nullable))
    if schema.type is Type.STRING and schema.logical is None:
        return lambda found, slot: _texts(found.texts(slot, nullable))
    if schema.type is Type.FLOAT64 and schema.logical is None:
        return lambda found, slot: _doubles(found, slot, nullable)
    decode = msgspec.json.Decoder(list[kind(schema.with_(optional=True))]).decode  # type: ignore[misc]

    def decoded(found: "Found", slot: int) -> pa.Array:
        try:
            values = decode(found.values(slot, nullable))
            return build(values)
        except Exception as error:
            raise _NotPlain from error

    return decoded


def _packed(column: "Column", kind: pa.DataType) -> pa.Array:
    return pa.Array.from_buffers(kind, len(column.valid), [_bits(column.valid), pa.py_buffer(column.data)])


def _flags(column: "Column") -> pa.Array:
    return pa.Array.from_buffers(pa.bool_(), len(column.valid), [_bits(column.valid), _bits(column.data)])


def _texts(column: "Column") -> pa.Array:
    buffers = [_bits(column.valid), pa.py_buffer(column.ends), pa.py_buffer(column.data)]
    return pa.Array.from_buffers(pa.string(), len(column.valid), buffers)


def _doubles(found: "Found", slot: int, nullable: bool) -> pa.Array:
    """Numbers that no double holds make their records odd, and so do negative zeros: only -1e-400 is one to Connect."""
    try:
        column = pc.cast(_texts(found.numbers(slot, nullable)), pa.float64())
    except pa.ArrowInvalid as error:
        raise _NotPlain from error
    numbers = pc.fill_null(column, 1.0).to_numpy(zero_copy_only=False)
    odd = ~np.isfinite(numbers) | (np.signbit(numbers) & (numbers == 0))
    found.rows.odd[odd] = 1
    return column


def _bits(flags: Any) -> Any:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))
