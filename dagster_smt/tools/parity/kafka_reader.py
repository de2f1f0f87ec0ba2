"""Reads JSON as Kafka's ``JsonConverter`` does. Kafka's JSON library Jackson converts some values that this package
rejects (difference D5): for example, it reads ``300`` as the int8 ``44``.

The code follows the documentation of ``JsonNode.intValue`` and similar methods. It shares no code with our own reader.
With this reader, the judge determines whether D5 explains that this package rejects a value.
"""

import base64
import json
import math
import re
from dataclasses import dataclass, field
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, InvalidOperation
from typing import Any

from dagster_smt.errors import DataError, data_error
from dagster_smt.model.runtime import JavaDouble, as_key
from dagster_smt.model.schema import INTEGER_BITS, JavaDate, Schema, Type
from dagster_smt.values.cast import DAY
from dagster_smt.values.json.lazy import check_depth
from dagster_smt.values.numbers import exact_double, nearest_float32, wrap

# Python's default context would round to 28 digits
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
# leading zeros of a number, as in 007, which Jackson accepts. Strings are matched first, so zeros inside them stay
_ZEROS = re.compile(_STRING + r"|(?<![\d.eE+])(-?)0+(?=\d)", re.DOTALL)
# Jackson's limit for the length of a number (StreamReadConstraints)
_MOST_DIGITS = 1000


@dataclass
class JacksonReader:
    """Reads a JSON key or value as Kafka does.

    Attributes:
        coerced: True if a part of the key or value was converted to a different type.
        by_name: True if a schema has the name of a logical type, such as Date, with another type.
    """

    default_for_null: bool = True
    coerced: bool = field(default=False)
    by_name: bool = False
    clean: str = ""
    """The JSON that has been read, without the characters that Jackson skips, such as text after the end of the value.
    A strict parser accepts this JSON.
    """

    def parse(self, data: str) -> Any:
        """Parses the JSON in ``data``, with fractions as ``Decimal``.

        Raises ``DataError`` if Jackson, Kafka's JSON library, would reject ``data`` as well.
        """
        check_depth(data.encode(errors="surrogatepass"))
        # Jackson skips a byte order mark
        text = data.lstrip("\ufeff")
        plain = _ZEROS.sub(lambda m: m[0] if m[1] is None else m[1], text)
        if plain != data:
            self.coerced = True
        # Kafka reads empty bytes as null
        if not plain.strip(" \t\r\n"):
            self.coerced = bool(data)
            return None
        # Python would accept NaN and Infinity, which Jackson rejects
        decoder = json.JSONDecoder(parse_float=self._fraction, parse_int=self._whole, parse_constant=_no_constant)
        try:
            tree, end = decoder.raw_decode(plain.lstrip(" \t\r\n"))
        except (ValueError, RecursionError):
            raise _refused() from None
        self.clean, rest = plain.lstrip(" \t\r\n")[:end], plain.lstrip(" \t\r\n")[end:]
        if rest.strip(" \t\r\n"):
            self.coerced = True
            # Jackson ignores text after the value, as in ``[1]x``, but after a number it requires a space
            if type(tree) in (int, Decimal) and rest[0] not in " \t\r\n":
                raise _refused()
        return tree

    def _whole(self, text: str) -> int:
        if len(text.lstrip("-")) > _MOST_DIGITS:
            self.coerced = True
            raise _refused()
        return int(text)

    def _fraction(self, text: str) -> Decimal:
        if len(text) > _MOST_DIGITS:
            self.coerced = True
            raise _refused()
        try:
            value = Decimal(text)
        except InvalidOperation:
            raise _refused() from None
        exponent = value.as_tuple().exponent
        # the scale of Java's BigDecimal has 32 bits
        if not isinstance(exponent, int) or abs(exponent) >= 2**31:
            self.coerced = True
            raise _refused()
        return value

    def free(self, tree: Any) -> Any:
        """Returns the value of parsed JSON that has no schema. Integers are cut to 64 bits, and other numbers become
        doubles, as in Kafka.
        """
        if isinstance(tree, str):
            self._surrogates(tree)
            return tree
        if type(tree) is int:
            return self._integer(tree, 64)
        if isinstance(tree, Decimal):
            value = exact_double(tree)
            # a BigDecimal that is zero has no sign
            self.coerced |= math.isinf(value) or (not tree and tree.is_signed())
            if math.isinf(value):
                return JavaDouble(value)
            return value
        if isinstance(tree, dict):
            for key in tree:
                self._surrogates(key)
            members = {}
            for key, child in tree.items():
                members[key] = self.free(child)
            return members
        if isinstance(tree, list):
            return [self.free(child) for child in tree]
        return tree

    def _surrogates(self, text: str) -> None:
        if any("\ud800" <= char <= "\udfff" for char in text):
            self.coerced = True

    def _integer(self, tree: Any, bits: int) -> int:
        """Returns what Jackson's ``intValue`` or ``longValue`` returns for ``tree``: the low bits of a number, and 0
        for everything else. For 300 and ``bits=8``, returns 44.
        """
        if type(tree) is int:
            # Kafka reads an int8 or int16 with intValue, which keeps 32 bits, and then casts it
            narrow = wrap(wrap(tree, max(bits, 32)), bits)
            self.coerced |= narrow != tree
            return narrow
        self.coerced = True
        if not isinstance(tree, Decimal):
            return 0
        # a number has at most 1,000 digits, so this one ends with so many zeros that its low 64 bits are zero
        if tree.adjusted() > 10_000:
            return 0
        return wrap(wrap(int(tree), max(bits, 32)), bits)

    def typed(self, schema: Schema | None, tree: Any) -> Any:
        """Returns the parsed JSON ``tree`` as a value of the type that ``schema`` states. For example, the number 5
        becomes 5.0 if the schema states ``double``.
        """
        if schema is None:
            return self.free(tree)
        if tree is None:
            if self.default_for_null and schema.default is not None:
                return schema.default
            if not schema.optional:
                raise _refused()
            return None
        if schema.logical:
            return self._logical(schema, tree)
        if schema.mislabelled:
            # Kafka reads the value by the name of the logical type, and the result fits neither type
            self.coerced = self.by_name = True
            raise _refused()
        if schema.type is Type.ARRAY:
            return self._array(schema, tree)
        if schema.type is Type.MAP:
            return self._map(schema, tree)
        if schema.type is Type.STRUCT:
            return self._struct(schema, tree)
        return self._scalar(schema, tree)

    def _scalar(self, schema: Schema, tree: Any) -> Any:
        if schema.type in INTEGER_BITS:
            return self._integer(tree, INTEGER_BITS[schema.type])
        if schema.type in (Type.FLOAT32, Type.FLOAT64):
            return self._floating(tree, schema.type is Type.FLOAT32)
        if schema.type is Type.BOOLEAN:
            self.coerced |= not isinstance(tree, bool)
            return tree is True
        if not isinstance(tree, str):
            self.coerced = True
            return None
        self._surrogates(tree)
        if schema.type is Type.STRING:
            return tree
        return self._bytes(tree)

    def _bytes(self, text: str) -> bytes:
        # Jackson's Base64 decoder skips white space
        solid = "".join(char for char in text if char > " ")
        self.coerced |= solid != text
        try:
            return base64.b64decode(solid, validate=True)
        except ValueError:
            raise _refused() from None

    def _floating(self, tree: Any, single: bool) -> float:
        if isinstance(tree, bool) or not isinstance(tree, int | Decimal):
            self.coerced = True
            return 0.0
        value = nearest_float32(tree) if single else exact_double(tree)
        self.coerced |= math.isinf(value)
        return value

    def _logical(self, schema: Schema, tree: Any) -> Any:
        if schema.logical == "Decimal":
            if isinstance(tree, int | Decimal) and not isinstance(tree, bool):
                if tree:
                    return Decimal(tree)
                return Decimal(tree).copy_abs()
            data = self._bytes(tree) if isinstance(tree, str) else b""
            if not data:
                raise _refused()
            return Decimal(int.from_bytes(data, "big", signed=True)).scaleb(-schema.scale, _EXACT)
        bits = INTEGER_BITS[schema.type]
        # JsonConverter accepts only an int of Java for Date and Time, but any whole number for Timestamp
        if type(tree) is not int or (bits == 32 and wrap(tree, 32) != tree):
            raise _refused()
        number = self._integer(tree, 64)
        # Kafka's class Time also accepts the end of the day, 86,400,000
        if schema.logical == "Time" and not 0 <= number <= DAY:
            raise _refused()
        return JavaDate(number * DAY if schema.logical == "Date" else number)

    def _array(self, schema: Schema, tree: Any) -> list[Any]:
        if isinstance(tree, list):
            return [self.typed(schema.values, item) for item in tree]
        self.coerced = True
        if isinstance(tree, dict):
            # Jackson's JsonNode of an object iterates over the values
            return [self.typed(schema.values, item) for item in tree.values()]
        return []

    def _map(self, schema: Schema, tree: Any) -> dict[Any, Any]:
        if schema.keys is not None and schema.keys.type is Type.STRING:
            if not isinstance(tree, dict):
                raise _refused()
            entries = {}
            for key, item in tree.items():
                entries[key] = self.typed(schema.values, item)
            return entries
        if not isinstance(tree, list) or any(not isinstance(pair, list) or len(pair) != 2 for pair in tree):
            raise _refused()
        items = {}
        for key, item in tree:
            items[as_key(self.typed(schema.keys, key))] = self.typed(schema.values, item)
        return items

    def _struct(self, schema: Schema, tree: Any) -> dict[str, Any]:
        if not isinstance(tree, dict):
            raise _refused()
        fields = {}
        for name, child in schema.fields:
            fields[name] = self.typed(child, tree.get(name))
        if any(fields[name] is None and not child.optional for name, child in schema.fields):
            raise _refused()
        return fields


class WrittenReader(JacksonReader):
    """Reads JSON that Kafka's converter has written. In this JSON, infinities are strings, and a schema may have the
    name of a logical type, such as Date, with another type.
    """

    def typed(self, schema: Schema | None, tree: Any) -> Any:
        bare = schema.with_(name=None) if schema is not None and schema.mislabelled else schema
        return super().typed(bare, tree)

    def _fraction(self, text: str) -> Decimal:
        return Decimal(text)

    def _floating(self, tree: Any, single: bool) -> float:
        if tree in ("NaN", "Infinity", "-Infinity"):
            return float(tree)
        return super()._floating(tree, single)


def _no_constant(text: str) -> Any:
    raise ValueError(text)


def _refused() -> DataError:
    return data_error("SMT414", "Kafka refuses this, too")
