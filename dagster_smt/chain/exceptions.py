"""Reads ``mask.exceptions`` from a chain in properties or YAML. If a value is masked in one field, an exception lists
other fields that may still contain this value.
"""

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
    """Returns the mask exceptions in ``source``, a chain in properties or YAML. If a value is masked in one field, an
    exception lists other fields that may still contain this value. It also states the reason.

    Properties list the exceptions in the same way as transforms: ``mask.exceptions=a`` with
    ``mask.exceptions.a.fields`` and ``mask.exceptions.a.reason``. YAML has ``mask.exceptions: [{fields: [...], reason:
    ...}]`` next to ``stages``.

    Returns:
        The exceptions, and their problems (SMT024).
    """
    exceptions, problems = [], []
    for place, options in _entries(source):
        if options is not None:
            own_problems = list(_problems_of(place, options))
        else:
            own_problems = [_stray(place)]
        options = options or {}
        paths, path_problems = _paths(f"{place}.fields", options.get("fields", ())) if not own_problems else ([], [])
        problems += own_problems + path_problems
        exceptions.append(MaskException(tuple(paths), str(options.get("reason", "")).strip()))
    return (tuple(exceptions) if not problems else ()), problems


def _entries(source: Any) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Yields the location and the options of each exception in ``source``, such as ``("mask.exceptions.a", {"fields":
    …})``.

    Properties may define an exception that the list ``mask.exceptions`` does not contain. For such an exception, the
    second item is None instead of the options.
    """
    if not isinstance(source, Mapping):
        return
    listing = source.get(KEY) or ""
    if isinstance(listing, Sequence) and not isinstance(listing, str):
        for number, entry in enumerate(listing):
            yield f"{KEY}[{number}]", dict(entry) if isinstance(entry, Mapping) else {}
        return
    listed = set(filter(None, split_list(str(listing))))
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


def _problems_of(place: str, options: Mapping[str, Any]) -> Iterator[Problem]:
    for name in sorted(set(options) - {"fields", "reason"}):
        yield config_problem("SMT024", f"{place} {name}", f"unknown option '{name}'", "the options are: fields, reason")
    if not options.get("fields") or not isinstance(options["fields"], list):
        yield config_problem("SMT024", f"{place}.fields", "the option 'fields' is missing", "list paths: value.**.url")
    if not str(options.get("reason") or "").strip():
        yield config_problem("SMT024", f"{place}.reason", "the reason is missing", "write why masked values may stay")


def _paths(place: str, texts: Sequence[Any]) -> tuple[list[FieldPath], list[Problem]]:
    paths, problems = [], []
    for text in texts:
        try:
            path = parse_path(str(text), EXTENDED)
        except ConfigError as error:
            problems += [problem.at(place) for problem in error.problems]
            continue
        paths.append(path)
        if (
            not path.steps
            or path.steps[0] not in _ROOTS
            or not all(isinstance(s, str | Every | Deep) for s in path.steps)
        ):
            hint = "begin with key, value, topic or header, and continue with names, * and **"
            problems.append(config_problem("SMT024", place, f"'{text}' is not a path to fields of a record", hint))
    return paths, problems
