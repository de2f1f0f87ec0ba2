"""Parses and converts JSON of values with a schema. The JSON is parsed as a whole, with exact numbers if the schema
needs them.
"""

from typing import Any

import msgspec

from dagster_smt.errors import DataError
from dagster_smt.formats.json import Convert, Inexact
from dagster_smt.model.schema import Schema
from dagster_smt.model.schema_size import room
from dagster_smt.values.json.lazy import TOO_LARGE, UNREADABLE, check_depth, deeper
from dagster_smt.values.numbers import json_decimal

_json = msgspec.json.Decoder()
_exact_json = msgspec.json.Decoder(float_hook=json_decimal)


def parse_json(data: bytes, exact: bool = False) -> Any:
    """Parses ``data``, a whole JSON document. Integers are exact and, with ``exact``, fractions are also exact
    (``Decimal``).
    """
    check_depth(data)
    decode = (_exact_json if exact else _json).decode
    try:
        return decode(data)
    except UNREADABLE as error:
        return deeper(data, decode, error)


def converted(convert: Convert, data: bytes, exact: bool = False) -> Any:
    """Parses the JSON ``data``, and returns the result of ``convert``. If the converter needs exact fractions, the JSON
    is parsed a second time.

    A number that no double can hold also leads to the second parse, because it may be in a field that the schema does
    not have.
    """
    room.reset()
    try:
        return convert(parse_json(data, exact))
    except Inexact:
        pass
    except DataError as error:
        if exact or error.problem.code != TOO_LARGE:
            raise
    room.reset()
    return convert(parse_json(data, exact=True))


def has_decimals(schema: Schema | None) -> bool:
    """Returns True if ``schema`` or an inner schema is a decimal, because the numbers of a decimal must be read
    exactly.
    """
    if schema is None:
        return False
    return schema.logical == "Decimal" or any(map(has_decimals, schema.children))
