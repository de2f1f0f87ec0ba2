"""``mask.exceptions``: the part of a chain that says where masked values may stay, as properties or in YAML."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dagster_smt.authoring.mask_exception import MaskException
from dagster_smt.authoring.options import split_list
from dagster_smt.chain.problems import config_problem
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.paths.connect import EXTENDED, FieldPath, parse_path
from dagster_smt.model.paths.steps import Deep, Every

KEY = "mask.exceptions"
_ROOTS = ("key", "value", "topic", "header")


def mask_exceptions(source: Any) -> tuple[tuple[MaskException, ...], list[Problem]]:
    """Read the exceptions of a chain; one without them has none.

    Properties name them, as transforms are named: ``mask.exceptions=a`` with ``mask.exceptions.a.fields`` and
    ``mask.exceptions.a.reason``. YAML has ``mask.exceptions: [{fields: [...], reason: ...}]`` beside ``stages``.

    Returns:
        The exceptions, and the problems of those that are wrong (SMT024).
    """
    found, problems = [], []
    for place, given in _entries(source):
        if given is not None:
            wrong = list(_wrong(place, given))
        else:
            wrong = [_stray(place)]
        given = given or {}
        paths, more = _paths(f"{place}.fields", given.get("fields", ())) if not wrong else ([], [])
        problems += wrong + more
        found.append(MaskException(tuple(paths), str(given.get("reason", "")).strip()))
    return (tuple(found) if not problems else ()), problems


def _entries(source: Any) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Place and options of each; None for one that the list of names does not have."""
    if not isinstance(source, Mapping):
        return
    given = source.get(KEY) or ""
    if isinstance(given, Sequence) and not isinstance(given, str):
        for number, entry in enumerate(given):
            yield f"{KEY}[{number}]", dict(entry) if isinstance(entry, Mapping) else {}
        return
    listed = set(filter(None, split_list(str(given))))
    prefix = f"{KEY}."
    for name in sorted(listed | {str(k)[len(prefix) :].split(".")[0] for k in source if str(k).startswith(prefix)}):
        place = f"{KEY}.{name}"
        options = {}
        for k, v in source.items():
            if str(k).startswith(f"{place}."):
                options[str(k)[len(place) + 1 :]] = v
        if isinstance(options.get("fields"), str):
            options["fields"] = split_list(options["fields"])
        yield place, options if name in listed else None


def _stray(place: str) -> Problem:
    return config_problem("SMT024", place, f"it is not in '{KEY}'", f"add {place.removeprefix(f'{KEY}.')} to {KEY}")


def _wrong(place: str, given: Mapping[str, Any]) -> Iterator[Problem]:
    for name in sorted(set(given) - {"fields", "reason"}):
        yield config_problem("SMT024", f"{place} {name}", f"unknown option '{name}'", "there are: fields, reason")
    if not given.get("fields") or not isinstance(given["fields"], list):
        yield config_problem("SMT024", f"{place}.fields", "no fields are given", "list paths such as value.**.url")
    if not str(given.get("reason") or "").strip():
        yield config_problem("SMT024", f"{place}.reason", "no reason is given", "say why masked values may stay there")


def _paths(place: str, texts: Sequence[Any]) -> tuple[list[FieldPath], list[Problem]]:
    found, problems = [], []
    for text in texts:
        try:
            path = parse_path(str(text), EXTENDED)
        except ConfigError as error:
            problems += [problem.at(place) for problem in error.problems]
            continue
        found.append(path)
        if (
            not path.steps
            or path.steps[0] not in _ROOTS
            or not all(isinstance(s, str | Every | Deep) for s in path.steps)
        ):
            hint = "begin with key, value, topic or header; go on with names, * and **"
            problems.append(config_problem("SMT024", place, f"'{text}' names no fields of a record", hint))
    return found, problems
