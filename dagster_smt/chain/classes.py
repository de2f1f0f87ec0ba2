"""Finds the Python class for a class name in a chain. The class is a transform or a predicate. For an unknown name,
this module returns the problem to report.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from dagster_smt.authoring.options import Options
from dagster_smt.chain.problems import config_problem, did_you_mean
from dagster_smt.chain.vendors import is_kafkas, vendor_hint
from dagster_smt.errors import Problem

SIDES = ("Key", "Value")
UNKNOWN_CLASS = "SMT010"
"""The code for a class that does not exist."""


@dataclass(frozen=True)
class ClassMatch:
    """The result of looking up a class name in a chain: the class, or a problem.

    Attributes:
        cls: The class; None if there is a problem.
        side: ``key`` or ``value`` if the name ends with ``$Key`` or ``$Value``; otherwise empty.
        problem: The reason why there is no class.
    """

    cls: type[Options] | None = None
    side: str = ""
    problem: Problem | None = None


def find_class(
    type_: object, known: Mapping[str, type[Options]], place: str, plugin: str, as_kafka: bool = False
) -> ClassMatch:
    """Finds the class in ``known`` that ``type_`` names. ``type_`` is a full name such as
    ``org.apache.kafka.connect.transforms.MaskField$Value``, or a short name such as ``MaskField$Value``.

    Args:
        type_: The name as written in the chain.
        known: The classes by full name.
        place: The location of the name in the chain, for problems.
        plugin: ``transform`` or ``predicate``.
        as_kafka: True to accept only the names that Kafka accepts today (decision 8).
    """
    if not type_:
        return ClassMatch(
            problem=config_problem("SMT009", place, "the type is missing", f"set the class of the {plugin}")
        )
    text = str(type_)  # Kafka does not trim the name
    if text in known and "$" in text:
        return ClassMatch(known[text])  # an inner class without sides, such as ExtractTopic$Header
    name = text.partition("$")[0]
    # if several classes share a short name, Kafka's class wins
    shorts = {}
    for c in reversed(list(known.values())):
        shorts[c.__name__] = c
    cls = known.get(name) or shorts.get(name)
    if name not in known and cls is not None and not is_kafkas(cls.connect_class):
        same = []
        for c in known.values():
            if c.__name__ == name:
                same.append(c.connect_class)
        if len(same) > 1:
            hint = f"write the class with its package: {' or '.join(same)}"
            return ClassMatch(
                problem=config_problem("SMT023", place, f"'{name}' is a {plugin} of several vendors", hint)
            )
    if cls is not None and as_kafka and name not in known and getattr(cls, "sided", False):
        cls = None  # Kafka gives a plugin alias only to classes that are not inner classes
    if cls is None:
        return ClassMatch(problem=_unknown(text, known, place, plugin))
    return _class_with_side(cls, text, known, place, plugin)


def _class_with_side(
    cls: type[Options], text: str, known: Mapping[str, type[Options]], place: str, plugin: str
) -> ClassMatch:
    name, _, inner = text.partition("$")
    # predicates have no sides, and no such attribute
    sided = getattr(cls, "sided", False)
    if sided and inner not in SIDES:
        inners = []
        for other in known:
            if other.startswith(f"{cls.connect_class}$"):
                inners.append(other.rpartition("$")[2])
        statement = f"'{text}' does not say whether it acts on key or value"
        choices = []
        for word in (*SIDES, *inners):
            choices.append(f"{name}${word}")
        hint = f"write {' or '.join(choices)}"
        return ClassMatch(problem=config_problem("SMT010", place, statement, hint))
    if not sided and inner:
        same = []
        for c in known.values():
            if c.__name__ == name and getattr(c, "sided", False):
                same.append(c)
        hint = " or ".join([f"write {name}", *(f"{c.connect_class}${inner}" for c in same)])
        return ClassMatch(problem=config_problem("SMT010", place, f"unknown {plugin} class '{text}'", hint))
    return ClassMatch(cls, inner.lower())


def _unknown(text: str, known: Mapping[str, type[Options]], place: str, plugin: str) -> Problem:
    name = text.partition("$")[0]
    hint = vendor_hint(name, known) or did_you_mean(name.rsplit(".", 1)[-1], [c.__name__ for c in known.values()])
    return config_problem(UNKNOWN_CLASS, place, f"unknown {plugin} class '{text}'", hint)
