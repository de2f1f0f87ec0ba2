"""Translates field paths into JSON for programs of the JVM lane, this package's Java code inside Spark. The Java
classes are ``Path`` and ``Step``.
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
"""Maps the types of values without a schema (``model.runtime.kind_of``) to their names in the JVM lane, the Java code
inside Spark.
"""


class NoJavaError(Exception):
    """Raised if the JVM lane, the Java code inside Spark, does not support a part of a chain. The message names the
    part.
    """


def path_of(path: FieldPath) -> list[Any]:
    """Returns ``path`` as a list of steps for JSON: a field name is a string, an array index is a dict, as in
    ``["items", {"index": 0}, "id"]``.
    """
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
