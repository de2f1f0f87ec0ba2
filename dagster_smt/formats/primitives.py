"""Reads and writes single values as Kafka's serializers do."""

from collections.abc import Callable
from typing import Any

from dagster_smt.errors import DATA_EXCEPTION, DataError, data_error
from dagster_smt.formats.binary import number_codec, read_boolean, write_boolean
from dagster_smt.model.schema import FLOATS, Schema, Type
from dagster_smt.model.topics.format import Format
from dagster_smt.model.topics.primitives import PRIMITIVES

Decode = Callable[[bytes], Any]
Encode = Callable[[Schema | None, Any], bytes]


def primitive_codec(form: Format) -> tuple[Decode, Encode]:
    """Returns two functions: one reads and one writes values of ``form``, as ``ShortConverter`` and similar converters
    do.

    Numbers are big-endian, and take up exactly the number of bytes of their type. A value of a different type is
    rejected.
    """
    kind = PRIMITIVES[form.kind]
    read, write = (read_boolean, write_boolean) if kind is Type.BOOLEAN else number_codec(form.kind)

    def decode(data: bytes) -> Any:
        try:
            return read(data)
        except ValueError as error:
            raise data_error("SMT416", str(error)) from None

    def encode(schema: Schema | None, value: Any) -> bytes:
        fitting = _fitting(value, kind, form)
        try:
            return write(fitting)
        except ValueError:
            raise _unfitting(form) from None

    return decode, encode


def _fitting(value: Any, kind: Type, form: Format) -> Any:
    """Returns ``value`` if it has the type ``kind``, which the converter of ``form`` expects. An integer may still be
    too large for the converter.

    For a value of a different type, raises an error, as Connect does (``DataException``).
    """
    if kind is Type.BOOLEAN:
        fits = type(value) is bool
    else:
        # a bool is an int in Python, but a Boolean is not a number in Java
        fits = isinstance(value, int) and type(value) is not bool
    if kind in FLOATS:
        fits = isinstance(value, float)
    if not fits:
        raise _unfitting(form)
    return value


def _unfitting(form: Format) -> DataError:
    hint = f"cast the value with Cast, or choose another format than {form.kind}"
    return data_error("SMT440", f"the value is not a {form.kind}", hint, DATA_EXCEPTION)


def without_schema(form: Format) -> DataError:
    """Returns the error for a value without a schema, which the format ``form`` cannot write."""
    hint = "read the value in a format with a schema, or write another format"
    return data_error("SMT440", f"a value without a schema cannot be written as {form.kind}", hint, DATA_EXCEPTION)
