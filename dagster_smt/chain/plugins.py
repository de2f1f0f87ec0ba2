"""Finds the transforms and predicates that chains can use: the classes of this package, and the classes of installed
packages (entry points).
"""

import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from types import ModuleType
from typing import TypeVar

from dagster_smt import predicates as own_predicates
from dagster_smt import transforms as own_transforms
from dagster_smt.authoring.options import Options
from dagster_smt.authoring.predicate import Predicate
from dagster_smt.authoring.transform import Transform
from dagster_smt.chain.vendors import is_kafkas

TRANSFORM_GROUP, PREDICATE_GROUP = "dagster_smt.transforms", "dagster_smt.predicates"


PluginT = TypeVar("PluginT", bound=Options)


# cached, because reading entry points searches the metadata of all installed packages
@cache
def transforms() -> dict[str, type[Transform]]:
    """Returns all transforms that chains can use, by full class name.

    An entry point may name a class, a tuple of classes, or a package that lists classes in a variable ``ALL``. The
    subpackages of such a package may also list classes in ``ALL``.
    """
    classes = {}
    for c in (*own(Transform), *_plugins(TRANSFORM_GROUP, Transform)):
        classes[c.connect_class] = c
    return classes


@cache
def predicates() -> dict[str, type[Predicate]]:
    """Returns all predicates that chains can use, by full class name."""
    classes = {}
    for c in (*own(Predicate), *_plugins(PREDICATE_GROUP, Predicate)):
        classes[c.connect_class] = c
    return classes


def own(base: type[PluginT]) -> tuple[type[PluginT], ...]:
    """Returns this package's own subclasses of ``base``, beginning with Kafka's classes."""
    package = own_transforms if issubclass(Transform, base) else own_predicates
    classes = []
    for cls in listed(package):
        classes.append(_checked(cls, base, package.__name__))
    return tuple(sorted(classes, key=_is_of_a_vendor))


def _is_of_a_vendor(cls: type[Options]) -> bool:
    return not is_kafkas(cls.connect_class)


def listed(package: ModuleType) -> Iterator[type]:
    """Yields the classes that ``package`` lists in its variable ``ALL``. The classes of each subpackage follow, in the
    order of the subpackages' names.
    """
    yield from getattr(package, "ALL", ())
    for info in pkgutil.iter_modules(getattr(package, "__path__", ()), f"{package.__name__}."):
        if info.ispkg:
            yield from listed(import_module(info.name))


def _plugins(group: str, base: type[PluginT]) -> list[type[PluginT]]:
    classes_of_points: list[type[PluginT]] = []
    for point in entry_points(group=group):
        loaded = point.load()
        if isinstance(loaded, ModuleType):
            loaded = tuple(listed(loaded))
        classes = loaded if isinstance(loaded, tuple) else (loaded,)
        for cls in classes:
            classes_of_points.append(_checked(cls, base, f"entry point {point.name} of {group}"))
    return classes_of_points


def _checked(cls: object, base: type[PluginT], where: str) -> type[PluginT]:
    if not (isinstance(cls, type) and issubclass(cls, base) and cls.connect_class):
        raise TypeError(f"{where} is not a {base.__name__} with a connect_class")
    return cls
