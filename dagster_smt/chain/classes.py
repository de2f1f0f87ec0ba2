"""From the name of a class in a chain to a transform or predicate, or to the reason why there is none."""

from collections.abc import Mapping
from dataclasses import dataclass

from dagster_smt.authoring.options import Options
from dagster_smt.chain.problems import config_problem, did_you_mean
from dagster_smt.chain.vendors import KAFKA, is_kafkas, vendor_hint
from dagster_smt.errors import Problem

SIDES = ("Key", "Value")


@dataclass(frozen=True)
class Named:
    """What a name means.

    Attributes:
        cls: The class; None if there is a problem.
        side: ``key``, ``value``, or empty for a class without sides.
        problem: Why there is no class.
        warnings: What its user should write instead.
    """

    cls: type[Options] | None = None
    side: str = ""
    problem: Problem | None = None
    warnings: tuple[Problem, ...] = ()


def find_class(
    type_: object, known: Mapping[str, type[Options]], place: str, what: str, as_kafka: bool = False
) -> Named:
    """Find a class by full or short name.

    Args:
        type_: The name as written.
        known: The classes by full name.
        place: Where it is written.
        what: ``transform`` or ``predicate``.
        as_kafka: Whether only the names count that Kafka takes today (decision 8).
    """
    if not type_:
        return Named(problem=config_problem("SMT009", place, "the type is missing", f"set the class of the {what}"))
    text = str(type_)  # Kafka does not trim it
    if text in known and "$" in text:
        return Named(known[text])  # an inner class without sides, such as ExtractTopic$Header
    name = text.partition("$")[0]
    # of those with the same short name Kafka's comes first
    shorts = {c.__name__: c for c in reversed(list(known.values()))}
    cls = known.get(name) or shorts.get(name)
    if name not in known and cls is not None and not is_kafkas(cls.connect_class):
        same = []
        for c in known.values():
            if c.__name__ == name:
                same.append(c.connect_class)
        if len(same) > 1:
            hint = f"write the class with its package: {' or '.join(same)}"
            return Named(problem=config_problem("SMT023", place, f"'{name}' is a {what} of several vendors", hint))
    if cls is not None and as_kafka and name not in known and getattr(cls, "sided", False):
        cls = None  # Kafka's plugin aliases are the names of classes that are in no other
    if cls is None:
        former = None if as_kafka else _former(text, known, place)
        return former or Named(problem=_unknown(text, known, place, what))
    return _sided(cls, text, known, place, what)


def _sided(cls: type[Options], text: str, known: Mapping[str, type[Options]], place: str, what: str) -> Named:
    name, _, inner = text.partition("$")
    sided = getattr(cls, "sided", False)
    if sided and inner not in SIDES:
        inners = []
        for other in known:
            if other.startswith(f"{cls.connect_class}$"):
                inners.append(other.rpartition("$")[2])
        statement = f"'{text}' does not say whether it acts on key or value"
        hint = f"write {' or '.join(f'{name}${word}' for word in (*SIDES, *inners))}"
        return Named(problem=config_problem("SMT010", place, statement, hint))
    if not sided and inner:
        same = []
        for c in known.values():
            if c.__name__ == name and getattr(c, "sided", False):
                same.append(c)
        hint = " or ".join([f"write {name}", *(f"{c.connect_class}${inner}" for c in same)])
        return Named(problem=config_problem("SMT010", place, f"unknown {what} class '{text}'", hint))
    return Named(cls, inner.lower())


def _former(text: str, known: Mapping[str, type[Options]], place: str) -> Named | None:
    """A class by a name that it had once, with today's name as a warning."""
    for cls in known.values():
        for pattern in cls.former_types:
            for side in SIDES:
                if text.removeprefix(KAFKA) == pattern.format(side):
                    now = f"{cls.__name__}${side}"
                    warning = Problem("SMT016", place, f"'{text}' is a name of before Kafka 0.10.2", f"write {now}")
                    return Named(cls, side.lower(), warnings=(warning,))
    return None


def _unknown(text: str, known: Mapping[str, type[Options]], place: str, what: str) -> Problem:
    name = text.partition("$")[0]
    hint = vendor_hint(name, known) or did_you_mean(name.rsplit(".", 1)[-1], [c.__name__ for c in known.values()])
    return config_problem("SMT010", place, f"unknown {what} class '{text}'", hint)
