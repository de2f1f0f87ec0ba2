"""Rules of TimezoneConverter. A rule names the topics, tables and fields whose times are converted."""

from collections.abc import Iterable
from dataclasses import dataclass

from dagster_smt.authoring.options import java_split
from dagster_smt.transforms.debezium.events.times import Chosen

SOURCE, TOPIC = "source", "topic"
BLOCKS = ("before", "after", SOURCE)


@dataclass(frozen=True)
class ZoneRule:
    """A rule of ``include.list`` or ``exclude.list``, for one topic or table.

    Attributes:
        of_topic: True if the name is a topic, False if it is a table.
        name: The name.
        fields: The fields, each with or without the name of its struct (``after.``). Empty for all fields.
    """

    of_topic: bool
    name: str
    fields: frozenset[str]

    def fields_in(self, block: str) -> set[str]:
        """Returns the names of those fields in the struct ``block`` that this rule lists. ``block`` is one of
        ``BLOCKS``.
        """
        return {name_in(field, block) for field in self.fields} - {""}

    def chooses(self, block: str, field: str, exclude: bool) -> bool:
        """Returns True if this rule makes the transform convert the field ``field`` of the struct ``block``. With
        ``exclude``, the rule names the fields that stay as they are, and the transform converts all other fields.

        A field of ``source`` is converted only if the rule names a field of ``source``.
        """
        fields = self.fields_in(block)
        if block == SOURCE and not fields:
            return False
        if not self.fields:
            return not exclude
        return (field in fields) is not exclude


def name_in(field: str, block: str) -> str:
    """Returns the name that a field has inside the struct ``block``. ``field`` is the name of the field in a rule: for
    ``after.at`` and the struct ``after``, the result is ``at``. If the field is in a different struct, the result is an
    empty string.

    A name without a struct, such as ``at``, belongs to the rows before and after the change.
    """
    head, _, rest = field.partition(".")
    if rest and head in BLOCKS:
        if head == block:
            return rest
        return ""
    if block != SOURCE:
        return field
    return ""


def zone_rules(items: Iterable[str]) -> tuple[ZoneRule, ...]:
    """Parses ``items``, and returns the rules in the order in which they apply.

    Rules for topics come first, then rules for tables, then rules for both. A rule without the prefix ``topic`` or
    ``source`` gets the prefix of the rule before it. If no earlier rule has a prefix, or if the prefix is not in lower
    case (``Topic``), the rule applies to topics and to tables.

    Raises:
        ValueError: An item is not a rule.
    """
    fields_by_name: dict[str, dict[str, set[str]]] = {TOPIC: {}, SOURCE: {}, "": {}}
    kind = ""
    for item in filter(None, items):
        prefix, name, field = _parts(item)
        kind = prefix or kind
        fields = fields_by_name[kind if kind in fields_by_name else ""].setdefault(name, set())
        # a rule for a whole table adds no field: if another rule lists fields of the table, only these fields are meant
        fields |= {field} if field else set()
    order = ((TOPIC, True), (SOURCE, False), ("", True), ("", False))
    return tuple(ZoneRule(topic, n, frozenset(fields)) for k, topic in order for n, fields in fields_by_name[k].items())


def _parts(item: str) -> tuple[str, str, str]:
    """Splits ``item``, such as ``source:customers:created_at``, into its prefix, its name and its field. A missing part
    is an empty string.
    """
    parts = item.split(":")
    if len(java_split(item, ":")) > 1 and parts[0].lower() in (SOURCE, TOPIC):
        prefix = parts[0]
    else:
        prefix = ""
    rest = parts[1:] if prefix else parts
    if len(rest) > 2 or "" in rest:
        raise ValueError(
            f"'{item}' is not a name, or a name and a field, with or without 'source' or 'topic' before it"
        )
    return prefix, rest[0], rest[1] if rest[1:] else ""


def rule_of_field(rules: Iterable[ZoneRule], exclude: bool, others: bool, block: str, field: str) -> Chosen | None:
    """Returns a value rule that selects the events in which the field ``field`` is converted. Returns None if there are
    no such events.

    Args:
        rules: The rules, in order.
        exclude: True if the rules list the fields that stay as they are.
        others: True if events to which no rule applies are converted.
        block: One of ``BLOCKS``.
        field: A field of the block.
    """
    cases = tuple((rule.of_topic, rule.name, rule.chooses(block, field, exclude)) for rule in rules)
    rest = others and block != SOURCE
    if rest or any(yes for _, _, yes in cases):
        return Chosen(cases, rest)
    return None
