"""Parses JSON and converts it into values of a schema. A document is parsed as a whole, with exact numbers if the
schema needs them.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from dagster_smt.errors import DataError
from dagster_smt.formats.json import Convert, Inexact
from dagster_smt.model.schema import Schema
from dagster_smt.model.schema_size import room
from dagster_smt.values.json.lazy import TOO_LARGE, UNREADABLE, check_depth, deeper, in_any_encoding
from dagster_smt.values.numbers import json_decimal

_json = msgspec.json.Decoder()
_exact_json = msgspec.json.Decoder(float_hook=json_decimal)


def parse_json(data: bytes, exact: bool = False) -> Any:
    """Parses ``data``, a whole JSON document. Integers are always exact. If ``exact`` is set, fractions are also exact
    (``Decimal``).
    """
    decode = (_exact_json if exact else _json).decode
    return in_any_encoding(data, lambda text: _parsed(text, decode))


def _parsed(data: bytes, decode: Callable[[bytes], Any]) -> Any:
    check_depth(data)
    try:
        return decode(data)
    except UNREADABLE as error:
        return deeper(data, decode, error)


def converted(convert: Convert, data: bytes, exact: bool = False) -> Any:
    """Parses the JSON ``data``, and returns the result of ``convert``.

    In two cases, the JSON is parsed a second time, with exact numbers:

    - ``convert`` raises ``Inexact``, because a double is not exact enough.
    - A number is too large for a double. This is no error if the number is in a field that the schema does not have.
    """
    room.reset()
    try:
        return convert(parse_json(data, exact))
    except Inexact:
        pass
    except DataError as error:
        if exact or error.problem.code != TOO_LARGE:
            raise
    # the first attempt has already counted its values
    room.reset()
    return convert(parse_json(data, exact=True))


def has_decimals(schema: Schema | None) -> bool:
    """Returns True if ``schema`` contains a decimal, at any depth. The numbers of a decimal must be read exactly."""
    if schema is None:
        return False
    return schema.logical == "Decimal" or any(map(has_decimals, schema.children))
