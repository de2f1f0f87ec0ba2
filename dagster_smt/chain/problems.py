"""Makes problems of a configuration, and suggestions for misspelled names."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from dagster_smt.authoring.options import Options
from dagster_smt.errors import CONFIG_EXCEPTION, ConfigError, Problem
from dagster_smt.model.paths.connect import V1, V2, seems_pattern


def config_problem(code: str, place: str, statement: str, hint: str = "") -> Problem:
    """Returns a problem that Kafka would report as a ConfigException. ``code`` is the code of the problem."""
    return Problem(code, place, statement, hint, CONFIG_EXCEPTION)


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Returns the hint ``did you mean 'x'?`` with the name in ``known`` that is most similar to ``name``. If no name is
    similar, returns the hint ``otherwise``. If this hint is empty, returns a hint with all known names.
    """
    names = list(known)
    lower = {}
    for n in names:
        lower[n.lower()] = n
    close = get_close_matches(name.lower(), lower, n=1, cutoff=0.6)
    if close:
        return f"did you mean '{lower[close[0]]}'?"
    return otherwise or (f"there are: {', '.join(names)}" if names else "")


def nearest(name: str, known: Iterable[str], otherwise: str) -> str:
    """Returns a hint with the names in ``known`` that are similar to ``name``. If no name is similar, returns the hint
    ``otherwise``.
    """
    names = {}
    for n in known:
        names[n.lower()] = n
    close = []
    for n in get_close_matches(name.lower(), names, n=3, cutoff=0.6):
        close.append(names[n])
    if len(close) < 2:
        if close:
            return f"did you mean '{close[0]}'?"
        return otherwise
    return f"the nearest names are: {', '.join(close)}"


def syntax_hint(transform: Options, path: str, known: Iterable[str] | None = None) -> str:
    """Returns a hint for a ``path`` that was read as one name, although it is a pattern or has dots. Returns an empty
    string for any other path.

    Args:
        transform: The stage's transform.
        path: The path as configured.
        known: The top-level names, if there is a schema.
    """
    version = getattr(transform, "field_syntax_version", "")
    if seems_pattern(path, version):
        return pattern_hint(version)
    head, dot, _ = path.partition(".")
    if not dot or version != V1:
        return ""
    if known is not None and head not in known:
        return ""
    reason = "" if known is None else f"'{head}' has fields, and "
    return f"set field.syntax.version=V2: {reason}under V1 the dots of '{path}' are part of one name"


def pattern_hint(version: str) -> str:
    """Returns the hint for a pattern that was read as a plain name.

    Args:
        version: The version of the path syntax; empty for a transform that has only one syntax.
    """
    if not version:
        return "this transform takes plain names; MaskField and ReplaceField accept patterns (docs: Paths)"
    if version == V2:
        name = "put it into backticks"
    else:
        name = "set V2 and put it into backticks"
    return f"set field.syntax.version=extended: under {version} it is a plain name; if it is one, {name}"


def build(
    cls: type[Options], options: dict[str, Any], place: str, lenient: bool, as_kafka: bool = False
) -> tuple[Options | None, list[Problem], list[Problem]]:
    """Builds a transform or predicate of class ``cls`` from ``options``.

    Returns:
        The object (None if an option is wrong), the problems, and the warnings. With ``lenient``, unknown options are
        warnings instead of problems, because Kafka ignores them. An option of an older Kafka version is accepted with a
        warning. With ``as_kafka``, an option of an older version is unknown, as in Kafka today.
    """
    options, renamed = (options, []) if as_kafka else _todays(cls, options, place)
    unknown = []
    for key in options:
        if key not in cls.keys():
            unknown.append(_unknown(key, cls, place))
    known = {}
    for k, v in options.items():
        if k in cls.keys() and v is not None:
            known[k] = v
    problems = [] if lenient else list(unknown)
    try:
        built = cls.model_validate(known)
    except ValidationError as error:
        for e in error.errors(include_input=False, include_url=False):
            problems.append(_from_pydantic(dict(e), place))
        return None, problems, [*renamed, *(unknown if lenient else [])]
    problems += _check(built, place)
    return built, problems, [*renamed, *(unknown if lenient else [])]


def _todays(cls: type[Options], options: dict[str, Any], place: str) -> tuple[dict[str, Any], list[Problem]]:
    """Returns ``options`` with current keys in place of keys from older versions of Kafka, and a problem for each
    replaced key.

    If a chain has both keys, the current key wins, as it did in Kafka.
    """
    former = {}
    for old, new in cls.former_options:
        if old in options:
            former[old] = new
    today = {}
    for key, value in options.items():
        if key not in former:
            today[key] = value
    warnings = []
    for old, new in former.items():
        unused = new in today
        today.setdefault(new, options[old])
        addition = f", and the chain also sets '{new}', which wins" if unused else ""
        statement = f"the option '{old}' is called '{new}' today{addition}"
        warnings.append(Problem("SMT017", place, statement, f"write {new}: Kafka ignores {old} since 4.0"))
    return today, warnings


def _check(built: Options, place: str) -> list[Problem]:
    problems: list[Problem] = []
    try:
        for option, statement, hint in built.check():
            problems.append(config_problem("SMT014", f"{place} {option}".strip(), statement, hint))
    except ConfigError as error:  # the check reported an unreadable path, and then failed because it needed the path
        problems = problems or [p.at(place) for p in error.problems]
    return problems


def _unknown(key: str, cls: type[Options], place: str) -> Problem:
    if not cls.keys():
        return config_problem("SMT011", place, f"unknown option '{key}'", f"{cls.__name__} has no options")
    return config_problem("SMT011", place, f"unknown option '{key}'", did_you_mean(key, cls.keys()))


def _from_pydantic(error: dict[str, Any], place: str) -> Problem:
    key = str(error["loc"][0]) if error["loc"] else ""
    if error["type"] == "missing":
        return config_problem("SMT012", place, f"the option '{key}' is missing", "it is required")
    message = str(error["msg"]).removeprefix("Value error, ")
    return config_problem("SMT013", f"{place} {key}", message[0].lower() + message[1:])
