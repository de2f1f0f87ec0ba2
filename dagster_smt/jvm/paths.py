"""Translates paths of effects and conditions into the form of the JVM lane's programs (``Path.java``,
``Step.java``).
"""

from typing import Any

from dagster_smt.authoring.fields.scan import kinds_of
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.model.paths.steps import Deep, Every, Index, Match, OfLogical, OfType, Step

KINDS = {
    "string": "string",
    "boolean": "boolean",
    "int64": "int64",
    "double": "float64",
    "map": "map",
    "array": "array",
}
"""Maps kinds of values without a schema (``model.runtime.kind_of``) to the names of these kinds in the lane."""


class NoJavaError(Exception):
    """Raised if the JVM lane does not support a part of a chain. The message names the part."""


def path_of(path: FieldPath) -> list[Any]:
    """Returns the steps of ``path`` as plain data."""
    return list(map(_step, path.steps))


def _step(step: Step) -> str | dict[str, Any]:
    match step:
        case str():
            return step
        case Index(number):
            return {"index": number}
        case Every():
            return {"every": True}
        case Deep():
            return {"deep": True}
        case Match():
            return {"match": step.java}
        case OfType() | OfLogical():
            return {"kinds": sorted(KINDS[kind] for kind in kinds_of(step) if kind in KINDS)}
