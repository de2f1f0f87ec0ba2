"""Converts between a ``Schema`` and Connect's schema JSON, in both directions (``JsonConverter.asConnectSchema`` and
``asJsonSchema``).
"""

import re
from typing import Any

from dagster_smt.errors import SCHEMA_BUILDER_EXCEPTION, ConfigError, Problem
from dagster_smt.model.paths.extended import step_text
from dagster_smt.model.schema import DECIMAL, DECIMAL_SCALE, Schema, Type

_NAMES = {t.value: t for t in Type}
# Connect reads the scale with Integer.parseInt. Python's int() would also accept " 2", "1_0" and longer numbers
_SCALE = re.compile(r"[+-]?[0-9]{1,10}")


def schema_from_json(data: Any, *, place: str = "schema") -> Schema:
    """Returns the schema that ``data`` describes in Connect's schema JSON, such as ``{"type": "int32", "optional":
    true}``. Default values stay as they are in the JSON. ``formats.json.resolve_defaults`` decodes them later.

    Raises:
        ConfigError: SMT206, with one problem for each invalid part of ``data``.
    """
    problems: list[Problem] = []
    schema = _read(data, place, problems)
    if problems or schema is None:
        raise ConfigError(problems)
    return schema


def _read(data: Any, place: str, problems: list[Problem]) -> Schema | None:
    kind = data.get("type") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in _NAMES:
        hint = f"types are: {', '.join(_NAMES)}"
        problems.append(Problem("SMT206", place, "a schema needs a known 'type'", hint))
        return None
    type_ = _NAMES[kind]
    # JsonConverter ignores parameters that are not an object
    if isinstance(data.get("parameters"), dict):
        parameters = data["parameters"]
    else:
        parameters = {}
    if not all(isinstance(v, str) for v in parameters.values()):
        problems.append(Problem("SMT206", f"{place}.parameters", "parameters must be texts"))
    fields: tuple[tuple[str, Schema], ...] = ()
    keys = values = None
    if type_ is Type.STRUCT:
        fields = _fields(data.get("fields"), place, problems)
    if type_ in (Type.ARRAY, Type.MAP):
        values = _read(data.get("items" if type_ is Type.ARRAY else "values"), f"{place}[]", problems)
    if type_ is Type.MAP:
        keys = _read(data.get("keys"), f"{place}.keys", problems)
    # SchemaBuilder.map rejects a null schema with an exception of its own. A dead letter has the class of the first
    # problem, so this problem precedes the one that the same null has caused above, as a schema without a type.
    for part in ("keys", "values") if type_ is Type.MAP else ():
        if data.get(part, 0) is None:
            problems.insert(0, _builder_problem(f"{place}.{part}", "a map needs schemas for its keys and values"))
    # get(…, 0): only a default that is present counts. JsonConverter converts "default": null like any other value, and
    # rejects it in a required schema
    if data.get("default", 0) is None and data.get("optional") is not True:
        problems.append(Problem("SMT206", place, "a required value cannot have null as its default"))
    if type_ is Type.STRUCT and data.get("default") is not None:
        problems.append(_builder_problem(place, "a struct cannot have a default in schema JSON"))
    if data.get("name") == DECIMAL and type_ is Type.BYTES and not _is_scale(parameters.get(DECIMAL_SCALE)):
        problems.append(Problem("SMT206", place, "a Decimal needs the parameter 'scale', a whole number"))
    return Schema(
        type_,
        data.get("optional") is True,
        _only(data.get("name"), str),
        _version(data.get("version")),
        _only(data.get("doc"), str),
        tuple(sorted(parameters.items())),
        data.get("default"),
        fields,
        keys,
        values,
    )


def _is_scale(text: Any) -> bool:
    return isinstance(text, str) and _SCALE.fullmatch(text) is not None and -(2**31) <= int(text) < 2**31


def _only(value: Any, type_: type) -> Any:
    """Returns ``value`` if its type is ``type_``. Otherwise returns None, because Connect's converter ignores a name,
    version or doc of a wrong type.
    """
    if type(value) is type_:
        return value
    return None


def _version(value: Any) -> int | None:
    """Returns ``value``, a version, truncated to 32 bits, as in Java. Returns None if ``value`` is not a whole
    number.
    """
    if type(value) is not int:
        return None
    return ((value + 2**31) & 0xFFFFFFFF) - 2**31


def _builder_problem(place: str, statement: str) -> Problem:
    return Problem("SMT206", place, statement, "", SCHEMA_BUILDER_EXCEPTION)


def _fields(data: Any, place: str, problems: list[Problem]) -> tuple[tuple[str, Schema], ...]:
    if not isinstance(data, list):
        problems.append(Problem("SMT206", place, "a struct needs a list of 'fields'"))
        return ()
    fields: dict[str, Schema] = {}
    for number, item in enumerate(data):
        name = item.get("field") if isinstance(item, dict) else None
        if not isinstance(name, str):
            problems.append(Problem("SMT206", f"{place}.fields[{number}]", "a field needs a 'field' name"))
            continue
        if name in fields:
            problems.append(_builder_problem(place + step_text(name), "the field appears twice"))
        if not name:
            problems.append(_builder_problem(f"{place}.fields[{number}]", "a field needs a name that is not empty"))
        child = _read(item, place + step_text(name), problems)
        if child is not None:
            fields[name] = child
    return tuple(fields.items())


def schema_to_json(schema: Schema, default: Any = None) -> dict[str, Any]:
    """Returns ``schema`` as schema JSON, in the same order of keys as Connect's ``JsonConverter``.

    ``default`` is a function that takes a schema and returns its default value as JSON.
    """
    out: dict[str, Any] = {"type": schema.type.value}
    if schema.type is Type.STRUCT:
        out["fields"] = [{**schema_to_json(child, default), "field": name} for name, child in schema.fields]
    if schema.type in (Type.ARRAY, Type.MAP):  # Connect writes null for an array or map without a schema for its items
        values = schema_to_json(schema.values, default) if schema.values else None
        out["items" if schema.type is Type.ARRAY else "values"] = values
    if schema.type is Type.MAP:
        out["keys"] = schema_to_json(schema.keys, default) if schema.keys else None
    out["optional"] = schema.optional
    for key in ("name", "version", "doc"):
        value = getattr(schema, key)
        if value is not None:
            out[key] = value
    if schema.parameters:
        out["parameters"] = dict(schema.parameters)
    if schema.default is not None:
        out["default"] = default(schema) if default else schema.default
    return out
