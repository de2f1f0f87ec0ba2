"""Rules that say of which topics and tables, and in which fields, times are converted to a zone."""

from collections.abc import Iterable
from dataclasses import dataclass

from dagster_smt.authoring.options import java_split
from dagster_smt.transforms.debezium.events.times import Chosen

SOURCE, TOPIC = "source", "topic"
BLOCKS = ("before", "after", SOURCE)


@dataclass(frozen=True)
class ZoneRule:
    """What ``include.list`` or ``exclude.list`` says of one topic or table.

    Attributes:
        of_topic: Whether the name is that of a topic, else a table.
        name: The name.
        fields: The fields, with the struct they are in before them (``after.``) or not; none: all of them.
    """

    of_topic: bool
    name: str
    fields: frozenset[str]

    def fields_in(self, block: str) -> set[str]:
        """The fields of one of ``BLOCKS``."""
        return {name_in(field, block) for field in self.fields} - {""}

    def chooses(self, block: str, field: str, exclude: bool) -> bool:
        """Whether a field is converted; the ``source`` of an event only if the rule names something in it."""
        named = self.fields_in(block)
        if block == SOURCE and not named:
            return False
        if not self.fields:
            return not exclude
        return (field in named) is not exclude


def name_in(field: str, block: str) -> str:
    """The name of a rule's field in one of ``BLOCKS``, if it is there: one alone is in a row, before and after."""
    head, _, rest = field.partition(".")
    if rest and head in BLOCKS:
        if head == block:
            return rest
        return ""
    if block != SOURCE:
        return field
    return ""


def zone_rules(items: Iterable[str]) -> tuple[ZoneRule, ...]:
    """Read a list of rules, in the order in which they are looked for.

    That is: topics, tables, and names of which no rule so far has said what they are, as topics and as tables. The
    first part ``source`` or ``topic`` says it of its rule and of all that follow.

    Raises:
        ValueError: An item is no rule.
    """
    found: dict[str, dict[str, set[str]]] = {TOPIC: {}, SOURCE: {}, "": {}}
    kind = ""
    for item in filter(None, items):
        prefix, name, field = _parts(item)
        kind = prefix or kind
        fields = found[kind if kind in found else ""].setdefault(name, set())
        fields |= {field} if field else set()
    order = ((TOPIC, True), (SOURCE, False), ("", True), ("", False))
    return tuple(ZoneRule(topic, n, frozenset(fields)) for k, topic in order for n, fields in found[k].items())


def _parts(item: str) -> tuple[str, str, str]:
    """(prefix, name, field), empty where there is none."""
    parts = item.split(":")
    if len(java_split(item, ":")) > 1 and parts[0].lower() in (SOURCE, TOPIC):
        prefix = parts[0]
    else:
        prefix = ""
    rest = parts[1:] if prefix else parts
    if len(rest) > 2 or "" in rest:
        raise ValueError(f"'{item}' is no rule: a name, or a name and a field, with 'source' or 'topic' before it")
    return prefix, rest[0], rest[1] if rest[1:] else ""


def chosen(rules: Iterable[ZoneRule], exclude: bool, others: bool, block: str, field: str) -> Chosen | None:
    """The rule on values that says which events a field is converted in; None if there are none.

    Args:
        rules: The rules, in order.
        exclude: Whether they say what is not converted.
        others: Whether events that no rule is about are converted.
        block: One of ``BLOCKS``.
        field: A field of it.
    """
    cases = tuple((rule.of_topic, rule.name, rule.chooses(block, field, exclude)) for rule in rules)
    rest = others and block != SOURCE
    if rest or any(yes for _, _, yes in cases):
        return Chosen(cases, rest)
    return None
