"""Translates a declared schema into a program for the JVM lane, this package's Java code inside Spark. With the
program, ``RowReader.java`` reads JSON texts as columns.

If the lane does not support a type in the schema, the schema has no program, and Python reads the texts.
"""

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from dagster_smt.jvm.paths import NoJavaError
from dagster_smt.jvm.program import check_pattern, text_rule
from dagster_smt.model.cell import Rule
from dagster_smt.model.schema import FLOATS, INTEGER_BITS, MAX_DIGITS, JavaDate, Schema, Type
from dagster_smt.model.topics.format import Format
from dagster_smt.values.cast import DAY, CastTo
from dagster_smt.values.privacy.text_rule import TextRule
from dagster_smt.values.times.timestamps import PRECISIONS, ConvertTime

Place = tuple[str | None, ...]
"""A path of field names from the top of a value, such as ``("items", None, "email")``. None means every element of an
array, or every value of a map.
"""
_CONTAINERS = (Type.STRUCT, Type.ARRAY, Type.MAP)
_PARSED = (*INTEGER_BITS, *FLOATS)
_MOMENTS = ("Date", "Time", "Timestamp")


@dataclass(frozen=True)
class ColumnCall:
    """A call of a rule (a function of one value) that Java applies to one field while it reads a text.

    Attributes:
        field: The position of the field in the struct.
        rule: The rule.
        source: The schema of the field.
    """

    field: int
    rule: Rule
    source: Schema


def columns_program(
    schema: Schema,
    form: Format,
    masks: Mapping[Place, Any],
    calls: Iterable[ColumnCall] = (),
    envelope: bytes | None = None,
) -> str | None:
    """Returns a JSON program for the JVM lane, the Java code inside Spark. With the program, Java reads JSON texts of
    the struct ``schema``. Returns None if Java cannot read these texts.

    Args:
        schema: The fields to read.
        form: The format of the texts. The lane reads ``json_schema`` and ``envelope``.
        masks: Maps the path of each masked value to its replacement, a Python value.
        calls: Rules that Java applies to fields. Each result becomes one more column.
        envelope: The text of the schema in the envelopes. Python reads envelopes that contain a different schema.
    """
    is_read = form.kind == "json_schema" or (form.kind == "envelope" and envelope is not None)
    if not is_read or schema.logical is not None or schema.type is not Type.STRUCT:
        return None
    try:
        row = _Types(form, masks).struct(schema, ())
        program = {"row": row, "calls": [{"field": call.field, "rule": _rule(call)} for call in calls]}
    except NoJavaError:
        return None
    if envelope is not None:
        program["envelope"] = envelope.decode()
    return json.dumps(program, ensure_ascii=False)


@dataclass(frozen=True)
class _Types:
    """A translator of schemas into programs, with which Java reads JSON texts of one format. ``masks`` maps the paths
    of values to their replacements.
    """

    form: Format
    masks: Mapping[Place, Any]

    def struct(self, schema: Schema, place: Place) -> dict[str, Any]:
        fields = [{"name": name, "value": self.type(child, (*place, name))} for name, child in schema.fields]
        return {"type": "struct", "null": self._takes_null(schema), "fields": fields}

    def type(self, schema: Schema, place: Place) -> dict[str, Any]:
        """Returns the part of a JSON program that reads values of ``schema``, such as ``{"type": "int64", "null":
        True}``. ``place`` is the path of these values in the text.
        """
        if schema.logical is None and schema.type in _CONTAINERS:
            return self._container(schema, place)
        program: dict[str, Any] = {"null": self._takes_null(schema), **self._scalar(schema)}
        if place in self.masks:
            program["mask"] = _constant(schema, self.masks[place])
        if schema.default is not None and self.form.replace_null_with_default:
            program["default"] = _constant(schema, schema.default)
        return program

    def _takes_null(self, schema: Schema) -> bool:
        return schema.optional or (schema.default is not None and self.form.replace_null_with_default)

    def _container(self, schema: Schema, place: Place) -> dict[str, Any]:
        if schema.default is not None or schema.mislabelled:
            raise NoJavaError
        if schema.type is Type.STRUCT:
            return self.struct(schema, place)
        if schema.values is None:
            raise NoJavaError
        inside = {"null": self._takes_null(schema), "values": self.type(schema.values, (*place, None))}
        if schema.type is Type.ARRAY:
            return {"type": "array", **inside}
        if schema.keys is None or schema.keys.logical is not None or schema.keys.type is not Type.STRING:
            raise NoJavaError  # such a map is an array of pairs in JSON
        return {"type": "map", **inside}

    def _scalar(self, schema: Schema) -> dict[str, Any]:
        if schema.mislabelled:
            raise NoJavaError
        if schema.logical == "Decimal":
            return self._decimal(schema)
        if schema.logical in _MOMENTS:
            texts = {"texts": True} if self.form.text_standard else {}
            return {"type": schema.logical.lower(), **texts}
        return {"type": schema.type.name.lower()}

    def _decimal(self, schema: Schema) -> dict[str, Any]:
        base64_texts = {} if self.form.text_standard else {"base64": True}
        return {"type": "decimal", "scale": schema.scale, "precision": schema.precision or MAX_DIGITS, **base64_texts}


def _constant(schema: Schema, value: Any) -> str | bool:
    """Encodes ``value``, a mask or a default, for a JSON program of the JVM lane. Java reads it as a value of
    ``schema``: a Date, for example, is a string with the number of days.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, JavaDate):
        unit = DAY if schema.logical == "Date" else 1
        return str(int(value) // unit)
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, int | Decimal):
        return str(value)
    if isinstance(value, str):
        return value
    raise NoJavaError


def _float_text(value: float) -> str:
    """Returns ``value``, a float, as text that Java can parse."""
    names = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}
    return names.get(str(value), repr(float(value)))


def _rule(call: ColumnCall) -> dict[str, Any]:
    rule = call.rule
    # not a subclass: ``CastBoxed`` is for values without a schema
    if type(rule) is CastTo and is_slow_in_spark(rule, call.source):
        return {"name": "cast", "target": rule.target.name.lower()}
    if type(rule) is ConvertTime and rule.target == "string" and rule.source != "string":
        check_pattern(rule.format)
        # Java gets milliseconds by a multiplication. For micro- and nanoseconds, Connect divides, and Python does that.
        multiply, divide = PRECISIONS[rule.precision] if rule.source == "unix" else (1, 1)
        if divide == 1:
            # the reader's dates are days
            unit = DAY if rule.source == "Date" else multiply
            return {"name": "time to text", "format": rule.format, "millis": unit}
    if isinstance(rule, TextRule):
        return text_rule(rule)
    raise NoJavaError


def is_slow_in_spark(rule: Rule, source: Schema) -> bool:
    """Returns True if the JVM lane (the Java code inside Spark) runs ``rule`` faster than Spark's own expressions. This
    is the case for casts from strings to numbers, and from floating-point numbers to strings.
    """
    if type(rule) is not CastTo or source.logical is not None:
        return False
    if source.type is Type.STRING:
        return rule.target in _PARSED
    return source.type in FLOATS and rule.target is Type.STRING
