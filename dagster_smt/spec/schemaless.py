"""Helpers of the transforms' schemaless forms, on lazily decoded JSON (``values.lazy``)."""

from typing import Any

from dagster_smt.errors import data_error
from dagster_smt.model.runtime import java_class
from dagster_smt.values.lazy import look


def require_map(value: Any, purpose: str) -> dict[str, Any]:
    """The value as an object, or Connect's ``requireMap`` error."""
    if type(value) is not dict:
        statement = f"only an object can be used for [{purpose}] without a schema, but this is {java_class(value)}"
        hint = "guard the stage with a predicate, such as RecordIsTombstone with negate=true"
        raise data_error("SMT408", statement, hint)
    return value


def parent_of(value: Any, steps: tuple[str, ...]) -> dict[str, Any] | None:
    """The object at a path, or None where a step is missing or is no object."""
    for step in steps:
        if type(value) is not dict or step not in value:
            return None
        value = look(value, step)
    return value if type(value) is dict else None
