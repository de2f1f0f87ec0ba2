"""Handles the field paths of a policy, such as ``customer.email`` or ``**.email``, and compares them with the paths of
fields in records or schemas.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from dagster_smt.authoring.fields.resolve import is_of
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.paths.extended import extended_steps, route_text
from dagster_smt.model.paths.steps import Deep, Every, Index, Match, Step
from dagster_smt.model.schema import Schema, Type
from dagster_smt.model.schema_size import MAX_LEVELS
from dagster_smt.values.java.regex import compile_java

Steps = tuple[Step, ...]
EVERY = Every()


def path_steps(text: str, place: str) -> Steps:
    """Parses a field path such as ``customer.email`` or ``**.email`` (with the extended syntax) into its steps.

    Args:
        text: The path.
        place: The location of the path, for errors.

    Raises:
        ConfigError: SMT760 if the string is not such a path.
    """
    try:
        steps = extended_steps(text)
    except ConfigError as error:
        raise ConfigError(Problem("SMT760", place, p.statement, p.hint) for p in error.problems) from None
    if not steps:
        raise ConfigError(Problem("SMT760", place, "a path is empty", "name a field"))
    return steps


def covers(pattern: Sequence[Step], path: Sequence[Step], schema: Schema | None = None) -> bool:
    """Returns True if ``pattern`` matches the field at ``path``, or a struct, array or map that contains this field.
    For example, ``customer`` covers ``customer.email``.

    Args:
        pattern: The path in the policy, such as ``customer`` or ``**.email``.
        path: The path of a field: names, and ``[*]`` for the elements of arrays and the values of maps.
        schema: The schema of the value in which the path begins. Without it, a step of the pattern that selects fields
            by their type matches every field.
    """
    if not pattern:
        return True
    head, rest = pattern[0], pattern[1:]
    if isinstance(head, Deep):
        # ** stands for any number of levels, so each end of it is tried
        for at in range(len(path) + 1):
            if covers(rest, path[at:], schema):
                return True
            schema = _schema_of(path[at], schema) if at < len(path) else None
        return False
    if not path:
        return False
    below = _schema_of(path[0], schema)
    return _means(head, path[0], below) and covers(rest, path[1:], below)


def _schema_of(step: Step, schema: Schema | None) -> Schema | None:
    """Returns the schema of the field, element or map value to which ``step`` leads in a value of ``schema``. Returns
    None if it is not known.
    """
    if schema is None:
        return None
    if isinstance(step, str) and schema.type is Type.STRUCT:
        return schema.by_name.get(step)
    return schema.values


def _means(step: Step, name: Step, schema: Schema | None) -> bool:
    """Returns True if one step of a policy's path matches one step of a field's path. For example, the step ``/mail/``
    (a regular expression) matches the name ``email``.

    Args:
        step: A step of the policy's path.
        name: A step of the field's path.
        schema: The schema of this field; None if it is not known. A step that selects fields by their type then
            matches.
    """
    if isinstance(step, str):
        return step == name
    if isinstance(step, Match):
        return isinstance(name, str) and compile_java(step.java).search(name) is not None
    # a field's path does not number the elements of arrays: the step [0] may mean any of them
    if isinstance(step, Index):
        return isinstance(name, Every)
    return schema is None or is_of(schema, step)


def schema_paths(schema: Schema | None) -> Iterator[Steps]:
    """Yields the path of each field of ``schema`` that has no inner fields, such as ``("customer", "email")``. Yields
    nothing if the schema is not a struct.
    """
    if schema is not None and schema.type is Type.STRUCT:
        yield from _below(schema, ())


def _below(schema: Schema, above: Steps) -> Iterator[Steps]:
    if schema.type is Type.STRUCT and schema.fields:
        for name, child in schema.fields:
            yield from _below(child, (*above, name))
    elif schema.type in (Type.ARRAY, Type.MAP) and schema.values is not None:
        yield from _below(schema.values, (*above, EVERY))
    else:
        yield above


def value_paths(value: Any) -> Iterator[tuple[Steps, Any]]:
    """Yields the path and the value of each field of ``value`` (parsed JSON) that has no inner fields. For
    ``{"a": {"b": 1}}``, yields ``(("a", "b"), 1)``.
    """
    if isinstance(value, dict):
        yield from _values(value, (), 0)


def _values(value: Any, above: Steps, level: int) -> Iterator[tuple[Steps, Any]]:
    if isinstance(value, dict) and value and level < MAX_LEVELS:
        for name, child in value.items():
            yield from _values(child, (*above, name), level + 1)
    elif isinstance(value, list) and value and level < MAX_LEVELS:
        for child in value:
            yield from _values(child, (*above, EVERY), level + 1)
    else:
        yield above, value


def text_of(steps: Sequence[Step]) -> str:
    """Returns a path as a string: the steps ``("customer", "email")`` become ``customer.email``."""
    return route_text(tuple(steps))


def name_pattern(topic: str) -> str:
    """Returns a regular expression that matches only the topic name ``topic``, in Java and in Python."""
    # in Java and in Python, a backslash before a character that is neither a letter nor a digit makes the character
    # plain
    return re.sub(r"[^A-Za-z0-9_]", lambda match: f"\\{match[0]}", topic)
