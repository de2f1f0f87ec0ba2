"""Builds the two chains that a certificate compares. One chain uses the classes of this package. The other chain has
the same stages in the classes of Kafka Connect and of vendors.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dagster_smt.authoring.predicate import Predicate
from dagster_smt.authoring.stage import Chain, Stage
from dagster_smt.authoring.transform import Transform
from dagster_smt.chain import parse_chain
from dagster_smt.chain.plugins import own
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.foreign.check import classes_for, unknown_options
from dagster_smt.foreign.jars import classes_of, plugin_with
from dagster_smt.foreign.segment import Classes
from dagster_smt.foreign.stages import option_texts

_JARS = {
    "io.debezium.": "add --smt-jars io.debezium:debezium-connect-plugins:3.6.1.Final",
    "io.aiven.": "Maven Central has no jar: build it from Aiven-Open/transforms-for-apache-kafka-connect, and name it "
    "with --smt-jars",
    "io.confluent.": "Confluent publishes no jar on Maven Central: name yours with --smt-jars",
}
"""Maps the prefix of a vendor's class names to a hint. The hint says where to get the jar with these classes."""
_OF_A_JAR = "the class runs from its jar on both sides"
_SYNTAX, _STRICT = "field.syntax.version", "strict_paths"


@dataclass(frozen=True)
class ChainPair:
    """The two chains that a certificate compares.

    Attributes:
        ours: The chain in this package. Stages that run from jars are the same in both chains.
        connect: The chain in the classes of Kafka Connect and of vendors.
        classes: The locations of the jars with Connect's and vendors' classes.
        same: Maps the index of a stage to the reason why the stage or its predicate cannot be compared, such as a
            missing jar. Both chains then use the same class.
        warnings: Warnings about options that a class of Connect does not know.
        without: Our chain without the options in ``warnings``. None if there are no warnings, or if our classes need
            one of these options.
    """

    ours: Chain
    connect: Chain
    classes: Classes
    same: Mapping[int, str]
    warnings: tuple[Problem, ...] = ()
    without: Chain | None = None


def chain_pair(chain: Chain, original: Chain | None = None) -> ChainPair:
    """Returns the two chains that a certificate of ``chain`` compares.

    Args:
        chain: The chain, with any engine.
        original: The chain that Connect's classes run, if it is not ``chain`` itself. It must have the same number of
            stages.

    Raises:
        ConfigError: Connect's classes reject the options of the chain, or a jar is wrong. The error contains all
            problems.
        UnsupportedError: SMT642 if there is no Java; SMT960 if jars cannot be downloaded.
        EngineError: SMT643 if the process of Connect's classes ended.
    """
    settings = chain.foreign
    ours = chain
    # with engine: connect, Connect's classes would run on both sides of the comparison
    if settings.engine == "connect":
        ours = _parsed(chain, engine="dagster_smt")
    foreign = _parsed(original or chain, engine="connect", messages=True)
    classes = classes_for(settings)
    stages, same = [], {}
    for index, (own_stage, stage) in enumerate(zip(ours.stages, foreign.stages, strict=True)):
        compared, why = _compared(own_stage, stage, classes)
        stages.append(compared)
        if why:
            same[index] = why
    connect = replace(foreign, stages=tuple(stages))
    unknown = unknown_options(connect)
    without = _without(ours, {(index, option) for index, option, _ in unknown})
    return ChainPair(ours, connect, classes, same, tuple(warning for _, _, warning in unknown), without)


def _without(chain: Chain, unknown: set[tuple[int, str]]) -> Chain | None:
    """Returns ``chain`` without the options in ``unknown``. Returns None if ``unknown`` is empty, or if the chain needs
    one of the options.

    Args:
        chain: The chain.
        unknown: Pairs of a stage's index and an option's name, such as ``(0, "on.error")``.
    """
    if not unknown:
        return None
    stages = chain.to_stages()
    for index, option in unknown:
        for part in (stages[index], stages[index].get("predicate") or {}):
            part.get("options", {}).pop(option, None)
    try:
        return parse_chain(stages, unknown_options="warn", foreign=chain.foreign)
    except ConfigError:
        return None


def _parsed(chain: Chain, **settings: object) -> Chain:
    return parse_chain(chain.to_stages(), unknown_options="warn", foreign=replace(chain.foreign, **settings))  # type: ignore[arg-type]


def _compared(ours: Stage, connect: Stage, classes: Classes) -> tuple[Stage, str]:
    """Checks whether a stage can be compared: whether Connect's class for the stage is in a jar.

    Returns two items. The first item is the stage to use in Connect's chain. The second item is the reason why the
    stage or its predicate cannot be compared; empty if both can be.

    Args:
        ours: The stage in our chain.
        connect: The same stage, with Connect's class.
        classes: The locations of the jars.
    """
    transform, predicate, why = connect.transform, connect.predicate, ""
    if ours.transform.foreign:
        why = _OF_A_JAR
    elif not _has_class(classes, transform.connect_class):
        transform, why = ours.transform, _no_class(ours.transform, transform.connect_class)
    if predicate is not None and not _has_class(classes, predicate.connect_class):
        reason = _no_class(ours.predicate or predicate, predicate.connect_class)
        predicate = ours.predicate
        why = "; ".join(filter(None, (why, f"its predicate is not compared: {reason}")))
    side = ours.side if transform is ours.transform else connect.side
    return replace(connect, transform=transform, predicate=predicate, side=side), why


def _has_class(classes: Classes, name: str) -> bool:
    if plugin_with(classes.plugins, name) is not None:
        return True
    for jar in classes.connect:
        if name in classes_of(jar, jar.stat().st_mtime_ns):
            return True
    return False


def _no_class(plugin: Transform | Predicate, name: str) -> str:
    known = ""
    for head, hint in _JARS.items():
        if name.startswith(head):
            known = hint
            break
    if known:
        return f"the jar of {name} is not here; {known}"
    if type(plugin) not in (*own(Transform), *own(Predicate)):
        return f"{name} is a class of yours in Python; if it replaces a class of a jar, name the jar with --smt-jars"
    return f"no jar has {name}; name the jar of the class with --smt-jars"


def properties_of(chain: Chain, stages: int) -> dict[str, str]:
    """Returns the first ``stages`` stages of ``chain`` as properties.

    The stages get new aliases: ``s1``, ``s2`` and so on.
    """
    # an alias of the chain may contain a dot, as in transforms.a.b.type
    aliases = []
    for number in range(1, stages + 1):
        aliases.append(f"s{number}")
    properties = {"transforms": ",".join(aliases)}
    predicates = []
    for number, stage in enumerate(chain.stages[:stages], 1):
        prefix = f"transforms.s{number}"
        properties[f"{prefix}.type"] = stage.connect_class
        options = dict(option_texts(stage.transform.configured()))
        if _SYNTAX in options and _STRICT in type(stage.transform).keys():
            # in recorded cases, paths are as strict as in Kafka; in this chain, they are as strict as its user
            # configures
            options.setdefault(_STRICT, getattr(stage.transform, _STRICT))
        for key, text in options.items():
            properties[f"{prefix}.{key}"] = text
        if stage.predicate is None:
            continue
        name = f"p{number}"
        predicates.append(name)
        properties |= {f"{prefix}.predicate": name, f"predicates.{name}.type": stage.predicate.connect_class}
        for key, text in option_texts(stage.predicate.configured()):
            properties[f"predicates.{name}.{key}"] = text
        if stage.negate:
            properties[f"{prefix}.negate"] = "true"
    return properties | {"predicates": ",".join(predicates)}
