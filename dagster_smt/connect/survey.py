"""Gives a verdict on each transform of a connector. The verdict ``exact`` means that the results are the same here as
in Kafka. The other verdicts are ``differs`` and ``not supported``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dagster_smt.authoring.options import split_list
from dagster_smt.authoring.stage import Stage
from dagster_smt.chain import parse_chain
from dagster_smt.connect.connectors import Connector
from dagster_smt.connect.jar_downloads import jar_of
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.foreign.check import check_options
from dagster_smt.model.paths.connect import V1

IGNORED = "SMT011"
"""The code of the problem for an option that Kafka ignores."""
STRAY = "SMT007"
"""The code of the problem for options of an alias that is not in the list ``transforms``. Kafka ignores such
options.
"""
BY_TOPIC = ("RegexRouter", "ByLogicalTableRouter")
"""Routers that determine the new topic of a record from its old topic alone, whatever the record contains."""
FROM_JAR = "runs from its jar"
"""The beginning of the verdict on a class that comes from a jar, because this package does not contain it."""
_NO_CLASS = "SMT010"
_KAFKA_HAS_V2 = ("ExtractField",)
"""The transforms that already support ``field.syntax.version=V2`` in Kafka 4.3.1 itself."""


@dataclass(frozen=True)
class TransformVerdict:
    """The verdict on a transform, or on another part of a connector: one line of a report.

    Attributes:
        part: The alias of the transform, or the name of the other part.
        type: The class of the transform, or the configured value.
        verdict: ``exact``, ``differs`` or ``not supported``.
        text: The difference, or the remedy for a part that is not supported.
    """

    part: str
    type: str
    verdict: Literal["exact", "differs", "not supported"]
    text: str = ""


Jars = Sequence[str | Path]


def survey(connector: Connector, smt_jars: Jars = ()) -> list[TransformVerdict]:
    """Returns a verdict on each transform of ``connector``, in order. Verdicts on problems of the whole chain follow,
    such as options of an alias that is not listed.

    Args:
        connector: The connector.
        smt_jars: Jars with classes that this package does not contain.
    """
    chain = connector.chain
    verdicts = []
    # each stage alone: a chain with one wrong stage is not parsed at all, and no other stage would get a verdict
    for alias in dict.fromkeys(filter(None, split_list(chain["transforms"]))):
        alone = _alone(chain, alias)
        verdicts.append(_verdict(alias, alone, smt_jars))
    whole = _problems(chain, smt_jars)
    for p in whole:
        if p.code == STRAY:
            verdicts.append(TransformVerdict(p.place.split(".")[1], "", "differs", _text(p)))
    # adds the problems that only two transforms together have
    if not any(v.verdict == "not supported" for v in verdicts):
        left = [p for p in whole if p.code not in (IGNORED, STRAY)]
        for p in left:
            verdicts.append(TransformVerdict("transforms", "", "not supported", _text(p)))
    return verdicts


def routers(connector: Connector) -> dict[str, str]:
    """Returns the transforms of ``connector`` that choose the topic, as a mapping from alias to class name."""
    names = {}
    for alias in filter(None, split_list(connector.chain["transforms"])):
        try:
            (stage,) = parse_chain(_alone(connector.chain, alias), unknown_options="warn").stages
        except ConfigError:
            continue
        if any(effect.action == "routed" for effect in stage.transform.ledger()):
            names[alias] = type(stage.transform).__name__
    return names


def ignored_options(connector: Connector) -> list[str]:
    """Returns the names of the properties of ``connector`` that Kafka ignores."""
    places = []
    for p in _problems(connector.chain):
        if p.code == STRAY:
            # the place is transforms.ALIAS or predicates.NAME
            places.append(f"{p.place}.")
    strays = tuple(places)
    if strays:
        ignored = [key for key in connector.chain if key.startswith(strays)]
    else:
        ignored = []
    for alias in filter(None, split_list(connector.chain["transforms"])):
        for problem in _problems(_alone(connector.chain, alias)):
            if problem.code == IGNORED:
                # the statement is: unknown option 'NAME'
                name = problem.statement.split("'")[1]
                for key in _keys(connector.chain, alias):
                    if key.endswith(f".{name}"):
                        ignored.append(key)
    return ignored


def _alone(chain: dict[str, str], alias: str) -> dict[str, str]:
    """Returns the properties of a chain that contains only the transform ``alias`` and its predicate."""
    options = {}
    for k in _keys(chain, alias):
        options[k] = chain[k]
    own = {"transforms": alias, **options}
    name = own.get(f"transforms.{alias}.predicate")
    if name:
        # Kafka rejects a stage whose predicate is not in the list ``predicates``. So that the verdict shows this, a
        # predicate is listed here only if the whole chain lists it.
        own |= {"predicates": name} if name in split_list(chain.get("predicates", "")) else {}
        for k, v in chain.items():
            if k.startswith(f"predicates.{name}."):
                own[k] = v
    return own


def _keys(chain: dict[str, str], alias: str) -> list[str]:
    # transforms.a.b.type does not belong to the alias a if a.b is an alias, too
    longer = []
    for other in split_list(chain["transforms"]):
        if other.startswith(f"{alias}."):
            longer.append(f"transforms.{other}.")
    results = []
    for k in chain:
        if k.startswith(f"transforms.{alias}.") and not k.startswith(tuple(longer)):
            results.append(k)
    return results


def _problems(chain: dict[str, str], smt_jars: Jars = ()) -> tuple[Problem, ...]:
    try:
        parse_chain(chain, smt_jars=smt_jars)
    except ConfigError as error:
        return error.problems
    return ()


def _verdict(alias: str, chain: dict[str, str], smt_jars: Jars) -> TransformVerdict:
    type_ = chain.get(f"transforms.{alias}.type", "")
    try:
        parsed = parse_chain(chain, unknown_options="warn", smt_jars=smt_jars)
        more = check_options(parsed)
    except ConfigError as error:
        problem = next((p for p in error.problems if p.code == _NO_CLASS), error.problems[0])
        text = _text(problem)
        if problem.code == _NO_CLASS and "." in type_:
            text += f"; its jar: {jar_of(type_)}; import with --smt-jars"
        return TransformVerdict(alias, type_, "not supported", text)
    stage = parsed.stages[0]
    if stage.foreign:
        text = "; ".join([FROM_JAR, *map(_text, more)])
        return TransformVerdict(alias, type_, "exact", text)
    how = [*map(_text, parsed.warnings), *_differences(stage)]
    return TransformVerdict(alias, type_, "differs" if how else "exact", "; ".join(how))


def _differences(stage: Stage) -> Iterator[str]:
    """Yields sentences about the intended differences between ``stage`` and Kafka 4.3.1 (D1, D2)."""
    transform, name = stage.transform, type(stage.transform).__name__
    if getattr(transform, "field_syntax_version", V1) != V1 and name not in _KAFKA_HAS_V2:
        yield "field.syntax.version=V2 is honoured here; Kafka 4.3.1 ignores it on this transform (D1)"
    options = transform.configured()
    if name == "ReplaceField" and "renames" in options and ("exclude" in options or "include" in options):
        yield "a dropped field stays dropped if another field gets its name; Kafka mixes the two fields up (D2)"


def _text(problem: Problem) -> str:
    if problem.hint:
        return f"{problem.statement}: {problem.hint}"
    return problem.statement
