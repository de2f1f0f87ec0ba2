"""Which transforms and predicates there are: our own and those of other packages (entry points)."""

from functools import cache
from importlib.metadata import entry_points
from typing import TypeVar

from dagster_smt.predicates import ALL as PREDICATES
from dagster_smt.spec.options import Options
from dagster_smt.spec.predicate import Predicate
from dagster_smt.spec.transform import Transform
from dagster_smt.transforms import ALL as TRANSFORMS

TRANSFORM_GROUP, PREDICATE_GROUP = "dagster_smt.transforms", "dagster_smt.predicates"


PluginT = TypeVar("PluginT", bound=Options)


@cache
def transforms() -> dict[str, type[Transform]]:
    """Transforms by full class name. An entry point may name a class or a tuple of classes."""
    return {c.connect_class: c for c in (*TRANSFORMS, *_plugins(TRANSFORM_GROUP, Transform))}


@cache
def predicates() -> dict[str, type[Predicate]]:
    """Predicates by full class name."""
    return {c.connect_class: c for c in (*PREDICATES, *_plugins(PREDICATE_GROUP, Predicate))}


def _plugins(group: str, base: type[PluginT]) -> list[type[PluginT]]:
    found: list[type[PluginT]] = []
    for point in entry_points(group=group):
        loaded = point.load()
        for cls in loaded if isinstance(loaded, tuple) else (loaded,):
            if not (isinstance(cls, type) and issubclass(cls, base) and cls.connect_class):
                raise TypeError(f"entry point {point.name} of {group} is no {base.__name__} with a connect_class")
            found.append(cls)
    return found
