"""Finds the classes of a chain that run from jars: the classes in ``smt_jars``, and with ``engine: connect`` all
classes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dagster_smt.authoring.foreign_settings import ForeignSettings
from dagster_smt.authoring.options import Options
from dagster_smt.chain.classes import UNKNOWN_CLASS, ClassMatch
from dagster_smt.chain.vendors import is_kafkas
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.foreign.jars import Plugin, plugin_with, plugins_of
from dagster_smt.foreign.maven import coordinates_of
from dagster_smt.foreign.stages import foreign_predicate, foreign_transform, option_texts

_WAY = "or let it run from its jar: smt_jars (docs/how-to/run-any-transform.md)"


@dataclass(frozen=True)
class ForeignClasses:
    """The jars of a chain. Nothing is downloaded and no JVM is started to find out their contents.

    Attributes:
        settings: The settings of the chain, with absolute paths.
        plugins: The plugins (transforms and predicates) in the jars.
    """

    settings: ForeignSettings = field(default_factory=ForeignSettings)
    plugins: tuple[Plugin, ...] = ()

    def class_name(self, match: ClassMatch, type_: object) -> str:
        """Returns the full name of the Java class that runs for ``type_``. Returns an empty string if no Java class
        runs, for example because this package implements the class.

        Args:
            match: This package's own class of the name ``type_``, if there is one.
            type_: The name as written in the chain.
        """
        if match.cls is not None and self.settings.engine == "connect":
            name = match.cls.connect_class
            return f"{name}${match.side.capitalize()}" if match.side else name
        text = str(type_ or "")
        # only the classes of this package have short names
        if match.cls is not None or "." not in text:
            return ""
        if plugin_with(self.plugins, text) is not None:
            return text
        # coordinates that have not been fetched yet may contain the class, which is checked when the JVM starts
        unseen = any(not plugin.jars for plugin in self.plugins)
        return text if unseen else ""

    def hinted(self, problem: Problem, type_: object) -> Problem:
        """Returns ``problem``, which is about the class ``type_`` of a stage. If the class is unknown, and a jar might
        contain it, the result also has a hint about ``smt_jars``.
        """
        text = str(type_ or "")
        # a class without `$Key` or `$Value` has the same code, but no jar is missing
        if problem.code != UNKNOWN_CLASS or not problem.statement.startswith("unknown"):
            return problem
        if "." not in text or is_kafkas(text):
            return problem
        if self.plugins:
            hint = "; ".join(filter(None, (problem.hint, "none of the jars in smt_jars has the class")))
        else:
            hint = "; ".join(filter(None, (problem.hint, _WAY)))
        return replace(problem, hint=hint)


def foreign_classes(
    settings: ForeignSettings, base: Path, more: Sequence[str | Path], connect_version: str
) -> tuple[ForeignClasses, list[Problem]]:
    """Returns the jars that ``settings`` and ``more`` name, and the problems of these jars.

    Args:
        settings: The settings in the source of the chain.
        base: The folder to which relative paths in ``settings`` refer.
        more: More jars for ``smt_jars``. Their paths are relative to the current folder.
        connect_version: The version of Connect to use; empty for the version in ``settings``.
    """
    entries = [*absolute_entries(settings.jars, base), *absolute_entries(map(str, more), Path())]
    settings = replace(settings, jars=()).with_jars(entries, connect_version)
    try:
        return ForeignClasses(settings, plugins_of(settings.jars)), []
    except ConfigError as error:
        return ForeignClasses(settings), list(error.problems)


def absolute_entries(entries: Iterable[str], base: Path) -> list[str]:
    """Returns ``entries`` of ``smt_jars`` with absolute paths. Relative paths refer to the folder ``base``. Maven
    coordinates stay unchanged.
    """
    absolute = []
    for entry in entries:
        path = base / entry
        # the name of a file may have the form of coordinates
        if coordinates_of(entry) is not None and not path.exists():
            absolute.append(entry)
        else:
            absolute.append(str(path.absolute()))
    return absolute


def foreign_plugin(plugin: str, name: str, options: Mapping[str, Any]) -> Options:
    """Returns the foreign transform or predicate for the class ``name``, with ``options`` as strings. ``plugin`` is
    ``transform`` or ``predicate``.
    """
    texts = option_texts(options)
    if plugin == "transform":
        return foreign_transform(name, texts)
    return foreign_predicate(name, texts)
