"""Converts effects (the actions of transforms) into plain data with JSON types, for engines that are not written in
Python.
"""

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from typing import Any

from dagster_smt.effects.code import Code
from dagster_smt.effects.effect import Effect
from dagster_smt.effects.field_rule import FieldRule
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.model.schema import Schema
from dagster_smt.model.schema_json import schema_to_json


def as_data(effects: Iterable[Effect]) -> list[dict[str, Any]]:
    """Returns ``effects`` as plain data: lists, objects, strings, numbers and booleans.

    For example, ``Drop`` becomes ``{"kind": "Drop", "path": ["email"]}``. ``kind`` is the name of the class, and the
    other keys are its fields. A path becomes the list of its steps. A rule becomes an object with the keys ``name`` and
    ``parameters``.

    Raises:
        ValueError: A rule, or a part of an effect, is Python code.
    """
    return [data_of(effect) for effect in effects]


def is_data(effects: Iterable[Effect]) -> bool:
    """Returns True if an engine that is not written in Python can run ``effects``."""
    try:
        as_data(effects)
    except ValueError:
        return False
    return True


def data_of(part: Any) -> Any:
    """Returns ``part``, a part of an effect, as plain data.

    Raises:
        ValueError: The part is Python code.
    """
    if part is None or isinstance(part, bool | int | float | str):
        return part
    if isinstance(part, FieldPath):
        return [data_of(step) for step in part.steps]
    if isinstance(part, FieldRule):
        if not part.name:
            raise ValueError(f"{type(part).__name__} is Python code: it has no name for another engine")
        parameters = {}
        for name, value in part.parameters.items():
            parameters[name] = data_of(value)
        return {"name": part.name, "parameters": parameters}
    return _data_of_value(part)


def _data_of_value(part: Any) -> Any:
    if isinstance(part, Code):
        raise ValueError("a class whose effect is Code is Python code")
    if isinstance(part, Enum):
        return part.name.lower()
    if isinstance(part, Decimal):
        return {"kind": "Decimal", "text": str(part)}
    if isinstance(part, Schema):
        return schema_to_json(part, data_of)
    if isinstance(part, tuple | list | frozenset):
        # sorted, because the order of a set of strings differs from process to process
        items = sorted(part) if isinstance(part, frozenset) else part
        return [data_of(item) for item in items]
    if is_dataclass(part):
        members = {}
        for field in fields(part):
            members[field.name] = data_of(getattr(part, field.name))
        return {"kind": type(part).__name__} | members
    raise ValueError(f"{type(part).__name__} is not data")
