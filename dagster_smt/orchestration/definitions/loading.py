"""Loads the definitions of a code location in a process that Dagster has not started."""

import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import dagster as dg

from dagster_smt.errors import ConfigError, Problem


def load_definitions(place: str, hint: str) -> list[object]:
    """Imports a module and loads its definitions, as ``dg dev -m`` and ``dg dev -f`` do.

    Args:
        place: A module (``my_location.definitions``), a module and an attribute (``my_location:defs``), or a file
            (``definitions.py``).
        hint: The hint for the user if the module cannot be loaded.

    Returns:
        The objects of the module, or the object of the attribute. Keep them, because the tables exist only as long as
        these objects.

    Raises:
        ConfigError: SMT654, the definitions cannot be loaded; or the definitions are wrong, and the error lists their
            problems.
    """
    name, _, attribute = place.partition(":")
    try:
        module = _file(Path(name)) if name.endswith(".py") else import_module(name)
        objects = [getattr(module, attribute)] if attribute else list(vars(module).values())
    # FileNotFoundError, because spec_from_file_location does not check that the file exists
    except (ImportError, AttributeError, FileNotFoundError) as error:
        raise ConfigError(Problem("SMT654", place, f"cannot be loaded: {error}", hint)) from None
    values = []
    for value in objects:
        values.append(value() if _is_lazy(value) else value)
    return values


def assets_in(objects: Iterable[object]) -> Iterator[dg.AssetsDefinition]:
    """Yields each asset in ``objects`` once. An asset may be in ``objects`` itself, or in a ``Definitions`` object that
    is in ``objects``.
    """
    seen: set[int] = set()
    for one in objects:
        assets = one.assets or () if isinstance(one, dg.Definitions) else [one]
        for asset in assets:
            if isinstance(asset, dg.AssetsDefinition) and id(asset) not in seen:
                seen.add(id(asset))
                yield asset


def _file(path: Path) -> ModuleType:
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    # the file may import modules beside it, as with ``dg dev -f``
    folder = str(path.parent.resolve())
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    finally:
        # by value, because the file may have changed the list
        if folder in sys.path:
            sys.path.remove(folder)
    return module


def _is_lazy(value: object) -> bool:
    """Returns True if ``value`` is a function with the decorator ``@dg.definitions``."""
    # the class of these functions is not public, so it is the type of an example
    return isinstance(value, type(_no_definitions))


@dg.definitions
def _no_definitions() -> dg.Definitions:
    return dg.Definitions()
