"""From what people have to a ``Chain``: flat connector properties, a YAML list of stages, or a file of either."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import yaml

from dagster_smt.authoring.stage import Chain
from dagster_smt.chain.dead_paths import dead_paths_of
from dagster_smt.chain.exceptions import mask_exceptions
from dagster_smt.chain.problems import config_problem
from dagster_smt.chain.properties import read_properties
from dagster_smt.chain.stages import Draft, assemble, drafts_from_list, drafts_from_properties
from dagster_smt.errors import ConfigError, Problem

Source = Mapping[str, Any] | Sequence[Mapping[str, Any]] | Path
Unknown = Literal["error", "warn"]


def parse_chain(
    source: Source, *, place: str = "", unknown_options: Unknown = "error", as_kafka: bool = False
) -> Chain:
    """Read a chain.

    Args:
        source: Flat properties (``transforms``, ``transforms.<alias>.type`` ...), a list of stages, a connector as its
            REST API exports it (``{"name": ..., "config": {...}}``), or the path of a ``.properties``, ``.yaml`` or
            ``.json`` file with one of these.
        place: What to call the source in problems; a file's own name if it is one.
        unknown_options: ``error``, or ``warn`` to accept what Kafka would ignore (difference D1).
        as_kafka: Whether only names of classes and options count that Kafka takes today: ``Cast$Value`` and its like
            have to be named in full, options of older versions are unknown (decision 8).

    Raises:
        ConfigError: With every problem of the source at once.
    """
    if isinstance(source, Path):
        place = place or source.name
        source = _load(source)
    if isinstance(source, Mapping) and isinstance(source.get("config"), Mapping):
        source = source["config"]
    drafts, problems = _drafts(source)
    exceptions, wrong = mask_exceptions(source)
    dead_paths, unknown = dead_paths_of(source)
    problems += wrong + unknown
    lenient = unknown_options == "warn"
    chain, found = assemble(drafts, lenient, as_kafka)
    warnings = [p for p in problems if lenient and p.code == "SMT007"]
    problems = [p for p in problems if p not in warnings] + found
    if problems:
        raise ConfigError(_placed(p, place) for p in dict.fromkeys(problems))
    warnings = list(dict.fromkeys((*warnings, *chain.warnings)))
    return replace(chain, warnings=tuple(warnings), mask_exceptions=exceptions, dead_paths=dead_paths)


def _placed(problem: Problem, place: str) -> Problem:
    if place and problem.place:
        return problem.at(f"{place}:")
    return replace(problem, place=problem.place or place)


def _drafts(source: Any) -> tuple[list[Draft], list[Problem]]:
    if isinstance(source, Mapping) and isinstance(source.get("stages"), Sequence):
        source = source["stages"]
    if isinstance(source, Mapping):
        return drafts_from_properties({str(key): value for key, value in source.items()})
    if isinstance(source, Sequence) and not isinstance(source, str):
        return drafts_from_list(source)
    statement = "a chain is a mapping of properties or a list of stages"
    return [], [config_problem("SMT001", "", statement, "see docs/chains.md: how a chain is written")]


def _load(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        what = (error.strerror or "").lower() or "it cannot be read"
        raise ConfigError(config_problem("SMT002", path.name, what, f"check the path: {path}")) from None
    except UnicodeDecodeError:
        raise ConfigError(
            config_problem("SMT002", path.name, "the file is no UTF-8 text", "save it as UTF-8")
        ) from None
    try:
        if path.suffix in (".yaml", ".yml"):
            return yaml.safe_load(text)
        if path.suffix == ".json":
            return json.loads(text)
        return read_properties(text)
    except RecursionError:
        statement = f"the file is no valid {path.suffix[1:]}: it is nested too deeply"
        raise ConfigError(config_problem("SMT003", path.name, statement)) from None
    except (yaml.YAMLError, ValueError) as error:
        statement = f"the file is no valid {path.suffix[1:]}: {_one_line(error)}"
        raise ConfigError(config_problem("SMT003", path.name, statement)) from None


def _one_line(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 1}: {error.problem}"
    return " ".join(str(error).split())
