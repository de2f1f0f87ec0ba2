"""Coarsen: make values coarser, so that they describe groups instead of individual people."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import AfterValidator

from dagster_smt.authoring.fields.edit import Target
from dagster_smt.authoring.options import Int, Text, option
from dagster_smt.authoring.transform import Example
from dagster_smt.authoring.validate import one_of
from dagster_smt.effects.field_rule import FieldRule
from dagster_smt.effects.text_transform import TextTransform
from dagster_smt.errors import data_error
from dagster_smt.model.cell import Node, Rule
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.model.schema import Type
from dagster_smt.values.privacy.coarse import (
    PERIODS,
    Beginning,
    DatePeriod,
    DecimalMultiple,
    FloatMultiple,
    Network,
    TextPeriod,
    WholeMultiple,
)
from dagster_smt.values.privacy.text_rule import INTEGER_KINDS

KINDS = ("ip", "date", "number", "coordinate", "postcode")
_MOST_DECIMALS = 8


@dataclass(frozen=True)
class CoarseField(FieldRule):
    """A rule that makes values coarser. There is a separate value rule for each kind of value.

    Attributes:
        sort: The option ``kind`` of ``Coarsen``: a name in ``KINDS``.
        rules: Pairs of a kind of value, such as ``string`` or ``double``, and the value rule for it.
        boxes: True for values without a schema. The result of a number rule is then an object of the class that stands
            for the number's Java type.
    """

    name = "coarse"
    sort: str
    rules: tuple[tuple[str, Any], ...]
    boxes: bool = True

    def of_kind(self, kind: str) -> Rule:
        rules = dict(self.rules)
        if kind not in rules:
            hint = f"name a field of a type that can be: {', '.join(rules)}"
            raise data_error("SMT743", f"a value of type {kind} cannot be made coarser as {self.sort}", hint)
        rule: Rule = rules[kind]
        if isinstance(rule, WholeMultiple | FloatMultiple):
            return replace(rule, boxes=self.boxes)
        return rule

    def on_node(self, target: Target) -> Node:
        return FieldRule.on_node(replace(self, boxes=False), target)


def _step(text: str) -> str:
    if not text.isdecimal() or not text.isascii() or int(text) < 1:
        raise ValueError("must be a whole number from 1 on")
    return text


class Coarsen(TextTransform):
    """Make values coarser: IP addresses, dates, numbers, coordinates and postcodes.

    | `kind` | values | result |
    |---|---|---|
    | `ip` | strings | the first address of the network |
    | `date` | Date, Timestamp; strings in ISO 8601 | the beginning of the period, in UTC or in the string's zone |
    | `number` | numbers, Decimal | the largest multiple of `step` that is not above the number |
    | `coordinate` | floats, Decimal | the number with `decimals` places, rounded down |
    | `postcode` | strings | the first letters and digits |

    Types stay, but a string field loses its default. With `kind=ip` or `kind=date`, a record fails if the string is not
    an address or a date. A postcode that is not longer than `characters` becomes empty. A null stays null, and a value
    of a different type is rejected.
    """

    connect_class = "dagster_smt.privacy.Coarsen"
    purpose = "make fields coarser"
    verb = "made coarser"
    form = "coarse"
    kind: Annotated[Text, one_of(*KINDS)] = option(
        "The kind of the values: `ip`, `date`, `number`, `coordinate` or `postcode`."
    )
    ipv4_bits: Int = option("For `ip`: the number of bits of an IPv4 address that stay.", 24)
    ipv6_bits: Int = option("For `ip`: the number of bits of an IPv6 address that stay.", 48)
    period: Annotated[Text, one_of(*PERIODS)] = option(
        "For `date`: `year`, `quarter`, `month`, `day` or `hour`.", "month"
    )
    step: Annotated[Text, AfterValidator(_step)] = option("For `number`: the step, a whole number.", "10")
    decimals: Int = option("For `coordinate`: the decimal places that stay; one is about 11 km.", 1)
    characters: Int = option("For `postcode`: the number of letters and digits that stay.", 3)
    examples = (
        Example("a network", {"fields": "ip", "kind": "ip"}, '{"ip":"192.0.2.77"}', '{"ip":"192.0.2.0"}'),
        Example(
            "the year of birth",
            {"fields": "born", "kind": "date", "period": "year"},
            '{"born":"1815-12-10"}',
            '{"born":"1815-01-01"}',
        ),
        Example("ages in tens", {"fields": "age", "kind": "number", "step": "10"}, '{"age":36}', '{"age":30}'),
        Example(
            "a place",
            {"fields": "lat,lon", "kind": "coordinate"},
            '{"lat":59.9139,"lon":10.7522}',
            '{"lat":59.9,"lon":10.7}',
        ),
        Example("a postcode", {"fields": "zip", "kind": "postcode", "characters": 2}, '{"zip":"0150"}', '{"zip":"01"}'),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        yield from TextTransform.check(self)
        for name, bits, most in (("ipv4.bits", self.ipv4_bits, 32), ("ipv6.bits", self.ipv6_bits, 128)):
            if not 0 <= bits < most:
                yield name, f"must be 0 to {most - 1}", "set the bits of the network"
        if not 0 <= self.decimals <= _MOST_DECIMALS:
            yield "decimals", f"must be 0 to {_MOST_DECIMALS}", "one decimal is about 11 km"
        if self.characters < 1:
            yield "characters", "must be 1 or more", "set the number of characters that stay"

    def rule(self, path: FieldPath) -> CoarseField:
        rules = {
            "ip": self._texts(Network(self.ipv4_bits, self.ipv6_bits)),
            "date": (*self._texts(TextPeriod(self.period)), *self._dates()),
            "number": (*self._whole_numbers(), *self._numbers(int(self.step), 1, self.step)),
            "coordinate": self._numbers(1, 10**self.decimals, f"1e-{self.decimals}"),
            "postcode": self._texts(Beginning(self.characters)),
        }
        return CoarseField(self.kind, rules[self.kind])

    def field_rule(self, path: FieldPath) -> CoarseField:
        return self.rule(path)

    @staticmethod
    def _texts(rule: Any) -> tuple[tuple[str, Any], ...]:
        return (("string", rule),)

    def _dates(self) -> tuple[tuple[str, Any], ...]:
        return ("Date", DatePeriod(self.period)), ("Timestamp", DatePeriod(self.period))

    def _whole_numbers(self) -> tuple[tuple[str, Any], ...]:
        multiples = []
        for kind in INTEGER_KINDS:
            multiples.append((kind, WholeMultiple(int(self.step), Type[kind.upper()])))
        return tuple(multiples)

    @staticmethod
    def _numbers(step: int, parts: int, text: str) -> tuple[tuple[str, Any], ...]:
        return (
            ("double", FloatMultiple(step, parts, Type.FLOAT64)),
            ("float", FloatMultiple(step, parts, Type.FLOAT32)),
            ("Decimal", DecimalMultiple(text)),
        )
