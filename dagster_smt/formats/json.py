"""Converts JSON payloads with a schema into Python values, and Python values into JSON, by the rules of
``JsonConverter``.

Where Connect silently converts a payload that does not fit its schema, this module rejects the payload (difference D5).
There is one exception: a float field accepts an integer. As in Connect, unknown keys of a struct are dropped, and
missing keys become null.
"""

import base64
import math
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec

from dagster_smt.errors import DataError, data_error
from dagster_smt.model.paths.extended import below
from dagster_smt.model.runtime import as_key
from dagster_smt.model.schema import FLOATS, INTEGER_BITS, JavaDate, Schema, Type
from dagster_smt.model.schema_size import room
from dagster_smt.model.topics.format import DECLARED, MOMENTS, Format
from dagster_smt.values.cast import DAY
from dagster_smt.values.numbers import (
    EXACT,
    MOST_DIGITS,
    big_decimal,
    exact_double,
    float_text,
    integer_bytes,
    nearest_float32,
    parse_big_decimal,
    rounded_decimal,
    scaled_decimal,
    to_float32,
    wrap,
)
from dagster_smt.values.times.moment_texts import clock_of, clock_text, days_of, millis_of, moment_text

Convert = Callable[[Any], Any]
NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""The floats that JSON has no numbers for. The keys are the strings that represent them."""


_EXAMPLES = {
    "Date": ("a day such as 2020-01-31", "a number of days since 1970"),
    "Time": ("a time such as 12:00:00.123", "a number of milliseconds of the day"),
    "Timestamp": ("a moment such as 2020-01-31 12:00:00.123", "a number of milliseconds since 1970"),
    "Decimal": ("a number such as 1.25", "a number, or the base64 of Connect"),
}
"""Maps the name of each logical type to two descriptions of its values, for error messages. The first describes the
value as a string, the second the value as Connect's converter writes it. For ``Date``, these are a day such as
``2020-01-31``, and a number of days.
"""
_WITH_TEXTS = ("json_schema", "debezium-json", "canal-json")
_MILLISECONDS = "; with more digits than milliseconds declare the column STRING"


def misfit(schema: Schema, where: str, hint: str = "") -> DataError:
    """Returns the error for a payload at the path ``where`` that does not fit the type of ``schema``."""
    return data_error("SMT414", f"{where or 'the value'} does not fit the declared type {schema.label}", hint)


def _hint(schema: Schema, form: Format) -> str:
    """Returns the hint for a date, time, timestamp or decimal that does not fit ``schema``. The hint names an option of
    the format, and the values that this option accepts.
    """
    if form.kind not in _WITH_TEXTS or schema.logical not in _EXAMPLES:
        return ""
    texts, connect = _EXAMPLES[schema.logical]
    place = f"{form.kind.replace('_schema', '')}.{MOMENTS}"
    if not form.text_standard:
        return f"{connect} is read; {place} = SQL reads {texts}"
    more = _MILLISECONDS if schema.logical in ("Time", "Timestamp") else ""
    return f"{place} = {form.text_standard} reads {texts}; CONNECT reads {connect}{more}"


def reader(schema: Schema, form: Format, where: str = "") -> Convert:
    """Returns a function that converts parsed JSON into Python values of ``schema``. ``where`` is the path of the value
    in messages.

    The function raises ``DataError``: SMT414 for a value that does not fit the type; SMT401 for a null if ``schema``
    requires a value.
    """
    convert = _read_type(schema, form, where)
    default = schema.default if form.replace_null_with_default else None
    may_be_null = schema.optional

    def read(data: Any) -> Any:
        if data is None:
            if default is None and not may_be_null:
                raise data_error("SMT401", f"null in the required field '{where}'" if where else "null, but required")
            return default
        return convert(data)

    return read


def _read_type(schema: Schema, form: Format, where: str) -> Convert:
    if schema.logical:
        return _read_logical(schema, form, where)
    if schema.mislabelled:
        return _refuse(schema, where)
    if schema.type in INTEGER_BITS:
        return _read_integer(schema, where)
    if schema.type in FLOATS:
        return _read_float(schema, form, where)
    if schema.type is Type.BYTES:
        return lambda data: _base64(data, schema, where)
    if schema.type is Type.ARRAY:
        return _read_array(schema, form, where)
    if schema.type is Type.MAP:
        return _read_map(schema, form, where)
    if schema.type is Type.STRUCT:
        return _read_struct(schema, form, where)
    python_type = bool if schema.type is Type.BOOLEAN else str

    def read(data: Any) -> Any:
        if type(data) is not python_type:
            raise misfit(schema, where)
        return data

    return read


def _refuse(schema: Schema, where: str) -> Convert:
    """Returns a function that rejects every value of ``schema``. The schema has the name of a logical type, but the
    wrong data type: for example, a ``Date`` that is a STRING instead of an INT32. Connect's converter would look only
    at the name.
    """

    def refuse(data: Any) -> Any:
        raise misfit(schema, where)

    return refuse


def _read_integer(schema: Schema, where: str) -> Convert:
    limit = 1 << (INTEGER_BITS[schema.type] - 1)

    def read(data: Any) -> int:
        # ``isinstance`` would accept a bool, which is an int in Python
        if type(data) is not int or not -limit <= data < limit:
            raise misfit(schema, where)
        return data

    return read


def _read_float(schema: Schema, form: Format, where: str) -> Convert:
    single = schema.type is Type.FLOAT32
    texts = {} if form.kind == "envelope" else NOT_FINITE  # Connect also writes these strings, but reads them as 0.0

    def read(data: Any) -> float:
        if type(data) not in (int, float, Decimal):
            if type(data) is str and data in texts:
                return texts[data]
            raise misfit(schema, where)
        if isinstance(data, float):
            value = rounded(data, single)
        else:  # as in Java's BigDecimal, -0.0 becomes 0.0
            value = nearest_float32(data) if single else exact_double(data)
        if not math.isfinite(value):
            raise misfit(schema, where)
        return value

    return read


class Inexact(Exception):
    """Raised if a number was parsed as a double, but its result also depends on digits that a double cannot hold. The
    JSON must then be parsed again with exact numbers.
    """


def rounded(value: float, single: bool) -> float:
    """Returns ``value``, a double from JSON. If ``single`` is true, the double is rounded to 32 bits.

    Raises:
        Inexact: The result depends on the digits in the JSON, which a double does not show. There are two cases. First,
            the double is -0.0: for ``-1e-400``, Connect returns -0.0, but for ``-0.0`` it returns 0.0. Second,
            ``single`` is true, and the double is exactly halfway between two 32-bit numbers.
    """
    if not value and math.copysign(1, value) < 0:
        raise Inexact
    if not single:
        return value
    # A double has 52 bits of fraction, a 32-bit float 23. Halfway means that the other 29 bits are 1 and 28 zeros.
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    if bits & 0x1FFFFFFF == 0x10000000:
        raise Inexact
    return to_float32(value)


def _base64(data: Any, schema: Schema, where: str, hint: str = "") -> bytes:
    try:
        if type(data) is not str:
            raise misfit(schema, where, hint)
        # without ``validate``, Python skips the characters that are not in the alphabet
        return base64.b64decode(data, validate=True)
    except ValueError:  # binascii.Error is a ValueError
        raise misfit(schema, where, hint) from None


def _read_logical(schema: Schema, form: Format, where: str) -> Convert:
    if schema.logical == "Decimal":
        return _read_decimal(schema, form, where)
    unit = DAY if schema.logical == "Date" else 1
    limit = 1 << (INTEGER_BITS[schema.type] - 1)
    hint = _hint(schema, form)
    parse = moment_parser(schema, form)

    def read(data: Any) -> JavaDate:
        if parse is not None and type(data) is str:
            data = parse(data)
        if type(data) is not int or not -limit <= data < limit:
            raise misfit(schema, where, hint)
        # this condition means Time, which is the only other logical type of 32 bits; as in Connect, 24:00 is valid
        if unit == 1 and limit == 1 << 31 and not 0 <= data <= DAY:
            raise misfit(schema, where, hint)
        return JavaDate(data * unit)

    return read


def moment_parser(schema: Schema, form: Format) -> Callable[[str], int | None] | None:
    """Returns a function that converts a date or time string to the number that Connect stores. For a ``Date``,
    ``"1970-01-31"`` becomes 30, the number of days. Returns None if the format does not write dates as strings, or
    ``schema`` is not a date or time.
    """
    parsers = {"Date": days_of, "Time": clock_of, "Timestamp": millis_of}
    if form.text_standard:
        return parsers.get(schema.logical or "")
    return None


def _read_decimal(schema: Schema, form: Format, where: str) -> Convert:
    parse, precision, scale = _decimal_parser(schema, form, where), schema.precision, schema.scale
    # Connect does not check the precision; Flink rounds to the declared digits
    if precision is None or form.kind not in DECLARED:
        return parse

    def read(data: Any) -> Decimal:
        number = rounded_decimal(parse(data), precision, scale)
        if number is None:
            statement = f"{where or 'the value'} has more digits than DECIMAL({precision}, {scale})"
            raise data_error("SMT414", statement, "declare more digits, or check the dead letter")
        return number

    return read


def _decimal_parser(schema: Schema, form: Format, where: str) -> Callable[[Any], Decimal]:
    scale, texts, hint = schema.scale, bool(form.text_standard), _hint(schema, form)

    def parse(data: Any) -> Decimal:
        if isinstance(data, int | float | Decimal) and not isinstance(data, bool):
            # The default in a JSON Schema is still a float here. Decimal(0.1) itself would have 55 digits.
            return big_decimal(Decimal(repr(data)) if isinstance(data, float) else Decimal(data))
        # base64 is not accepted in addition: "1234" is also base64, so the digits would determine the meaning
        if texts:
            number = parse_big_decimal(data) if type(data) is str else None
            if number is None:
                raise misfit(schema, where, hint)
            return number
        bytes_ = _base64(data, schema, where, hint)
        if not bytes_:  # Java's BigInteger rejects an empty array
            raise misfit(schema, where, hint)
        return scaled_decimal(bytes_, scale)

    return parse


def _read_array(schema: Schema, form: Format, where: str) -> Convert:
    if schema.values:
        item = reader(schema.values, form, f"{where}[]")
    else:
        item = _plain
    width = schema.values.width if schema.values else 1

    def read(data: Any) -> list[Any]:
        if type(data) is not list:
            raise misfit(schema, where)
        room.take(len(data) * width)
        return [item(i) for i in data]

    return read


def _plain(data: Any) -> Any:
    return data


def _read_map(schema: Schema, form: Format, where: str) -> Convert:
    key = reader(schema.keys, form, f"{where} key") if schema.keys else _plain
    if schema.values:
        value = reader(schema.values, form, f"{where}[]")
    else:
        value = _plain
    texts = schema.keys is not None and _is_object(schema.keys, form)
    width = schema.values.width if schema.values else 1

    def read(data: Any) -> dict[Any, Any]:
        if type(data) is dict and texts:
            room.take(len(data) * width)
            return {k: value(v) for k, v in data.items()}
        # as in JsonConverter, a map whose keys are not strings is an array of pairs: ``[[1, "a"], [2, "b"]]``
        if texts or type(data) is not list or any(type(p) is not list or len(p) != 2 for p in data):
            raise misfit(schema, where)
        room.take(len(data) * width)
        return {as_key(key(k)): value(v) for k, v in data}

    return read


def _is_object(keys: Schema, form: Format) -> bool:
    """Returns True if a map with the keys ``keys`` is an object in JSON."""
    # for optional strings, JsonConverter writes an object, but JsonSchemaData writes entries, as for numbers
    return keys.type is Type.STRING and not (keys.optional and form.kind == "json-confluent")


def _read_struct(schema: Schema, form: Format, where: str) -> Convert:
    readers = []
    for name, child in schema.fields:
        readers.append((name, reader(child, form, below(where, name))))
    fields = tuple(readers)

    def read(data: Any) -> dict[str, Any]:
        if type(data) is not dict:
            raise misfit(schema, where)
        get = data.get
        return {name: convert(get(name)) for name, convert in fields}

    return read


def writer(schema: Schema, form: Format, where: str = "") -> Convert:
    """Returns a function that converts Python values of ``schema`` into data for the JSON encoder. The function raises
    ``DataError`` SMT415.
    """
    convert = _write_type(schema, form, where)
    default = schema.default if form.replace_null_with_default else None

    def write(value: Any) -> Any:
        if value is None:
            if default is not None:
                return convert(default)
            if not schema.optional:
                if where:
                    statement = f"null in the required field '{where}'"
                else:
                    statement = "null, but the schema requires a value"
                raise data_error("SMT415", statement, "make the field optional, or set a default")
            return None
        return convert(value)

    return write


def _write_type(schema: Schema, form: Format, where: str) -> Convert:
    if schema.logical:
        return _write_logical(schema, form, where)
    if schema.type in FLOATS:
        single = schema.type is Type.FLOAT32
        return lambda v: _write_float(v, single)
    if schema.type is Type.BYTES:
        return lambda v: base64.b64encode(v).decode()
    if schema.type is Type.ARRAY:
        if schema.values:
            item = writer(schema.values, form, f"{where}[]")
        else:
            item = _plain
        return lambda v: [item(i) for i in v]
    if schema.type is Type.MAP:
        return _write_map(schema, form, where)
    if schema.type is Type.STRUCT:
        writers = []
        for name, child in schema.fields:
            writers.append((name, writer(child, form, below(where, name))))
        fields = tuple(writers)
        return lambda v: {name: write(v.get(name)) for name, write in fields}
    if schema.type in INTEGER_BITS:
        return _unboxed
    return _plain


def _unboxed(value: Any) -> int:
    return int(value)


def _write_float(value: Any, single: bool) -> Any:
    if not math.isfinite(value):
        return float_text(value)
    if single:
        # msgspec writes the digits of a double: 0.1 with 32 bits would become 0.10000000149011612
        return msgspec.Raw(float_text(value, True).encode())
    return float(value)


def _write_map(schema: Schema, form: Format, where: str) -> Convert:
    if schema.keys is None:
        return _unwritable(where)
    key = writer(schema.keys, form, f"{where} key")
    if schema.values:
        value = writer(schema.values, form, f"{where}[]")
    else:
        value = _plain
    if schema.keys.type is Type.STRING:
        return lambda v: {k: value(i) for k, i in v.items()}
    return lambda v: [[key(k), value(i)] for k, i in v.items()]


def _unwritable(where: str) -> Convert:
    def refuse(value: Any) -> Any:
        raise data_error("SMT415", f"{where or 'the value'} is a map without a schema for its keys")

    return refuse


def _write_logical(schema: Schema, form: Format, where: str) -> Convert:
    kind, texts, plain = schema.logical, form.text_standard, form.plain_decimals
    numeric = bool(texts) or plain or form.decimal_format == "NUMERIC"
    between = "T" if texts == "ISO-8601" else " "

    def write(value: Any) -> Any:
        if kind == "Decimal":
            if numeric and plain:
                return msgspec.Raw(_plain_number(value, where).encode())
            if numeric:
                # msgspec would write a Decimal as a string
                return msgspec.Raw(str(value).encode())
            return _decimal_base64(value, schema, where)
        if kind == "Date":
            if value % DAY:
                raise data_error("SMT415", f"'{where}' is a Date with a time of day")
            if texts:
                return moment_text(value, day=True)
            return wrap(value // DAY, 32)  # Java's Date.fromLogical truncates the number of days to 32 bits
        if kind == "Time" and not 0 <= value <= DAY:
            raise data_error("SMT415", f"'{where}' is a Time with a date")
        if texts and kind == "Time":
            return clock_text(int(value))
        if texts and kind == "Timestamp":
            return moment_text(value, day=False, between=between, zoned=schema.zoned)
        return int(value)

    return write


def _plain_number(value: Decimal, where: str) -> str:
    # 1E+99999999 is a short value, but would have a hundred million digits
    if abs(value.adjusted()) > MOST_DIGITS or -int(value.as_tuple().exponent) > MOST_DIGITS:
        raise data_error("SMT415", f"'{where}' has too many digits for a number without an exponent")
    return f"{value:f}"


def _decimal_base64(value: Decimal, schema: Schema, where: str) -> str:
    # Connect rejects a value with another scale. Here, the value gets the scale of the schema if no digit is lost: a
    # mask turns each Decimal into 0, which is written as 0.00.
    shifted = value.scaleb(schema.scale, EXACT)
    if shifted.adjusted() > MOST_DIGITS:
        raise data_error("SMT415", f"'{where}' has too many digits for its scale {schema.scale}")
    unscaled = int(shifted)
    if unscaled != shifted:
        raise data_error("SMT415", f"'{where}' has more decimal places than its scale {schema.scale}")
    return base64.b64encode(integer_bytes(unscaled)).decode()


def resolve_defaults(schema: Schema, form: Format) -> Schema:
    """Returns ``schema`` with its defaults as Python values instead of JSON. For a field of bytes, the default
    ``"YQ=="`` becomes ``b"a"``. ``schema_from_json`` returns schemas with JSON defaults.
    """
    inner = schema.with_(
        fields=tuple((n, resolve_defaults(c, form)) for n, c in schema.fields),
        keys=schema.keys and resolve_defaults(schema.keys, form),
        values=schema.values and resolve_defaults(schema.values, form),
    )
    if schema.default is None:
        return inner
    return inner.with_(default=reader(inner, form, "default")(schema.default))
