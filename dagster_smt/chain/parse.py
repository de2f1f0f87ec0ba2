"""Reads a ``Chain`` from flat connector properties or from a YAML list of stages. The properties or the list may also
be in a file.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import yaml

from dagster_smt.authoring.foreign_settings import ForeignSettings, settings_of
from dagster_smt.authoring.stage import Chain
from dagster_smt.chain.dead_paths import dead_paths_of
from dagster_smt.chain.exceptions import mask_exceptions
from dagster_smt.chain.foreign_classes import foreign_classes
from dagster_smt.chain.problems import config_problem
from dagster_smt.chain.properties import read_properties
from dagster_smt.chain.stages import StageDraft, assemble, drafts_from_list, drafts_from_properties
from dagster_smt.errors import ConfigError, Problem

Source = Mapping[str, Any] | Sequence[Mapping[str, Any]] | Path
Unknown = Literal["error", "warn"]


def parse_chain(
    source: Source,
    *,
    place: str = "",
    unknown_options: Unknown = "error",
    as_kafka: bool = False,
    smt_jars: Sequence[str | Path] = (),
    connect_version: str = "",
    foreign: ForeignSettings | None = None,
) -> Chain:
    """Reads the chain in ``source``.

    Args:
        source: The chain in one of three forms: flat properties (``transforms``, ``transforms.<alias>.type`` ...), a
            list of stages, or a connector as its REST API exports it (``{"name": ..., "config": {...}}``). The source
            may also be the path of a ``.properties``, ``.yaml`` or ``.json`` file with one of these forms.
        place: The name of the source in problems; empty for the name of the file.
        unknown_options: ``error`` to report unknown options as problems, or ``warn`` to accept them, as Kafka ignores
            them (difference D1).
        as_kafka: True to accept only the names that Kafka accepts today (decision 8): classes such as ``Cast$Value``
            need their package, and options of older versions are unknown.
        smt_jars: More jars for classes that this package does not have: files, folders as in ``plugin.path``, and Maven
            coordinates. Paths in the source are relative to the file of the chain.
        connect_version: The version of Kafka Connect for classes from jars; empty for the version in the source.
        foreign: The jars and the engine to use instead of the settings in the source. For a chain from a run config,
            these are the settings of the asset's own chain, because a run config may choose stages, but never code.

    Raises:
        ConfigError: The source has problems. The error contains all of them.
    """
    base = Path()
    if isinstance(source, Path):
        base = source.parent
        place = place or source.name
        source = _load(source)
    if isinstance(source, Mapping) and isinstance(source.get("config"), Mapping):
        source = source["config"]
    drafts, problems = _drafts(source)
    exceptions, exception_problems = mask_exceptions(source)
    dead_paths, dead_path_problems = dead_paths_of(source)
    settings, settings_problems = settings_of(source) if foreign is None else (foreign, [])
    classes, jar_problems = foreign_classes(settings, base, smt_jars, connect_version)
    problems += exception_problems + dead_path_problems + settings_problems + jar_problems
    lenient = unknown_options == "warn"
    chain, stage_problems = assemble(drafts, lenient, as_kafka, classes)
    warnings = []
    for p in problems:
        # Kafka ignores the properties of an alias that is not in the list (difference D1)
        if lenient and p.code == "SMT007":
            warnings.append(p)
    problems = [p for p in problems if p not in warnings] + stage_problems
    if problems:
        raise ConfigError(_placed(p, place) for p in dict.fromkeys(problems))
    if classes.settings.engine == "connect":
        # part of the properties, and so of the hash: with the classes of a jar, equal stages can have other results
        chain.properties["engine"] = "connect"
    warnings = list(dict.fromkeys((*warnings, *chain.warnings)))
    return replace(
        chain,
        warnings=tuple(warnings),
        mask_exceptions=exceptions,
        dead_paths=dead_paths,
        foreign=classes.settings,
    )


def _placed(problem: Problem, place: str) -> Problem:
    if place and problem.place:
        return problem.at(f"{place}:")
    return replace(problem, place=problem.place or place)


def _drafts(source: Any) -> tuple[list[StageDraft], list[Problem]]:
    if isinstance(source, Mapping) and isinstance(source.get("stages"), Sequence):
        source = source["stages"]
    if isinstance(source, Mapping):
        texts = {}
        for key, value in source.items():
            texts[str(key)] = value
        return drafts_from_properties(texts)
    if isinstance(source, Sequence) and not isinstance(source, str):
        return drafts_from_list(source)
    statement = "a chain is a mapping of properties or a list of stages"
    return [], [config_problem("SMT001", "", statement, "docs/chains.md shows both")]


def _load(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        statement = (error.strerror or "").lower() or "the file cannot be read"
        raise ConfigError(config_problem("SMT002", path.name, statement, f"check the path: {path}")) from None
    except UnicodeDecodeError:
        raise ConfigError(
            config_problem("SMT002", path.name, "the file is not UTF-8 text", "save the file as UTF-8")
        ) from None
    try:
        if path.suffix in (".yaml", ".yml"):
            return yaml.safe_load(text)
        if path.suffix == ".json":
            return json.loads(text)
        return read_properties(text)
    except RecursionError:
        statement = f"the file is not valid {path.suffix[1:]}: it is nested too deeply"
        raise ConfigError(config_problem("SMT003", path.name, statement)) from None
    except (yaml.YAMLError, ValueError) as error:
        statement = f"the file is not valid {path.suffix[1:]}: {_one_line(error)}"
        raise ConfigError(config_problem("SMT003", path.name, statement)) from None


def _one_line(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 1}: {error.problem}"
    return " ".join(str(error).split())
