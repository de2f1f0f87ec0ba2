"""Checks the options of foreign stages (Java classes from jars). A short-lived Java process loads each class and
validates the options with the class's own ``ConfigDef``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dagster_smt.authoring.foreign_settings import ForeignSettings
from dagster_smt.authoring.stage import Chain, Stage
from dagster_smt.errors import CONFIG_EXCEPTION, ConfigError, Problem
from dagster_smt.foreign.host import Host, HostDiedError, not_started
from dagster_smt.foreign.jars import connect_jars, plugins_of
from dagster_smt.foreign.segment import Classes, operation, setup_of, tested_by_host


def classes_for(settings: ForeignSettings) -> Classes:
    """Returns the jars from which a chain with ``settings`` loads its Java classes. Downloads jars that are specified
    by Maven coordinates, unless they have been downloaded before.

    Raises:
        ConfigError: SMT027 if an entry of ``smt_jars`` is wrong.
        UnsupportedError: SMT960 if jars cannot be downloaded.
    """
    return Classes(connect_jars(settings.connect_version), plugins_of(settings.jars, fetch=True))


def check_options(chain: Chain) -> tuple[Problem, ...]:
    """Checks the options of all foreign stages of ``chain`` (Java classes from jars). Returns a warning for each option
    that the class does not declare.

    Raises:
        ConfigError: Classes are missing or cannot be created, or options are wrong. The error contains all problems.
        UnsupportedError: SMT642 if there is no Java; SMT960 if jars cannot be downloaded.
        EngineError: SMT643 if the Java process that checks the options has ended.
    """
    return tuple(warning for _, _, warning in unknown_options(chain))


def unknown_options(chain: Chain) -> list[tuple[int, str, Problem]]:
    """Checks the options of all foreign stages of ``chain`` (Java classes from jars), and returns the options that the
    classes do not declare. The function raises the same errors as the function ``check_options``.

    Returns:
        One item for each such option: the position of the stage in the chain, the name of the option, and a warning.
    """
    stages = {}
    for index, stage in enumerate(chain.stages):
        if stage.foreign:
            stages[index] = stage
    if not stages:
        return []
    settings = chain.foreign
    classes = classes_for(settings)
    operations = []
    for index, stage in stages.items():
        operations.append(operation(index, stage, classes.plugins, test=tested_by_host(stage)))
    # not ``host_of``, whose process would stay for later calls
    host = Host(classes.connect)
    try:
        (answers,) = host.call("open", 0, setup_of(operations, classes, settings))
    except HostDiedError as died:
        raise not_started(died) from None
    finally:
        host.end()
    refused = []
    for answer in answers:
        if answer[2] != "unknown":
            refused.append(answer)
    problems = class_problems(refused, stages)
    if problems:
        raise ConfigError(problems)
    unknown = []
    for answer in answers:
        if answer[2] == "unknown":
            unknown.append(answer)
    warnings = class_problems(unknown, stages)
    strangers = []
    for answer, warning in zip(unknown, warnings, strict=True):
        strangers.append((answer[0], answer[3], warning))
    return strangers


def class_problems(answers: Sequence[Sequence[Any]], stages: Mapping[int, Stage]) -> list[Problem]:
    """Converts the answers of the host, the Java process of the classes, into problems. ``stages`` maps the position of
    a stage in the chain to the stage, which gives the problem its location.
    """
    problems = []
    for answer in answers:
        problems.append(_problem(*answer, stage=stages.get(answer[0])))
    return problems


def _problem(index: int, part: str, kind: str, option: str, message: str, *, stage: Stage | None) -> Problem:
    place = _place(index, part, stage)
    if kind == "class":
        hint = "check smt_jars: the jar of the class, and the jars that it needs beside it in one folder"
        return Problem("SMT028", place, f"the class {message}", hint, CONFIG_EXCEPTION)
    if kind == "missing":
        return Problem("SMT012", place, f"the option '{option}' is missing", "it is required", CONFIG_EXCEPTION)
    if kind == "unknown":
        hint = f"the class has: {', '.join(message.split(','))}" if message else "the class declares no options"
        return Problem("SMT011", place, f"the class does not declare the option '{option}'", hint, CONFIG_EXCEPTION)
    if kind == "value":
        return Problem("SMT013", f"{place} {option}", message, "", CONFIG_EXCEPTION)
    return Problem("SMT014", place, f"the class refuses its options: {message}", "", CONFIG_EXCEPTION)


def _place(index: int, part: str, stage: Stage | None) -> str:
    if stage is None:
        return f"stage {index + 1}"
    if part == "predicate":
        return f"predicates.{stage.predicate_name}"
    return stage.place
