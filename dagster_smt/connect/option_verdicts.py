"""Gives a verdict on each option of a connector, based on the catalog: whether the component uses the option, and how.
No option is skipped silently.
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import cache

from dagster_smt.connect.catalog import catalog
from dagster_smt.connect.connectors import Connector
from dagster_smt.connect.option_rules import OptionRule, OptionVerdict

_UNKNOWN = "the effect of the option is unknown: look it up, set it in defs.yaml or the chain, and remove it here"
_UNKNOWN_CLASS = "the effect of this class on records is unknown"
_SIMILAR = 0.87
"""The smallest ratio (``difflib``) at which two option names are treated as similar. Equal names have the ratio 1.
Names with this ratio differ in one or two letters.
"""


def family_of(connector: Connector) -> str:
    """Returns the family of ``connector``, a name such as ``jdbc`` or ``iceberg``, from the connector's class. A source
    that is not in the catalog belongs to the family ``source``. For an unknown sink, the result is empty.
    """
    known = catalog().classes.get(connector.class_name)
    if known is not None:
        return known.family
    if connector.is_source:
        return "source"
    return ""


def option_verdicts(connector: Connector, decided: Iterable[OptionVerdict], *, unused: str = "") -> list[OptionVerdict]:
    """Returns a verdict on each option of ``connector``, in the order of its file.

    Args:
        connector: The connector.
        decided: Verdicts of other modules, which take precedence over the rules.
        unused: Empty if the component replaces the connector. If the connector stays in use, the text for each option
            that the component does not use.
    """
    verdicts_by_option = {verdict.option: verdict for verdict in decided}
    family = family_of(connector)
    verdicts = []
    for option, value in connector.config.items():
        verdict = verdicts_by_option.get(option)
        if verdict is None and unused:
            verdict = _verdict_of_kept_option(option, value, family, unused)
        verdicts.append(verdict or _by_rule(option, value, family))
    for option in connector.ignored:
        verdicts.append(
            OptionVerdict(option, "not needed", "the worker sets the converter: Kafka also ignores the option")
        )
    return verdicts


def _by_rule(option: str, value: str, family: str) -> OptionVerdict:
    rule = _first_rule(option, value, family)
    if rule is None:
        return _unknown(option, family)
    return OptionVerdict(option, rule.verdict, rule.text)


def _first_rule(option: str, value: str, family: str) -> OptionRule | None:
    for rule in catalog().rules:
        if rule.fits(option, value, family):
            return rule
    return None


def _verdict_of_kept_option(option: str, value: str, family: str, text: str) -> OptionVerdict:
    """Returns the verdict on ``option`` of a connector that stays in use and reads a topic of the component. ``text``
    is the verdict's text for an option that the component does not use.
    """
    rule = _first_rule(option, value, family)
    if rule is not None and not rule.families:
        return OptionVerdict(option, rule.verdict, rule.text)
    # A class outside the catalog may have any option. Only a name that is close to a known one is reported, as a
    # possible misspelling.
    of_family = any(rule.names(option) for rule in _of_family(family))
    if of_family or (not family and not _similar(option, family)):
        return OptionVerdict(option, "not needed", text)
    return _unknown(option, family)


def _unknown(option: str, family: str) -> OptionVerdict:
    if option == "connector.class":
        return OptionVerdict(option, "not done", _UNKNOWN_CLASS)
    similar = _similar(option, family)
    if similar:
        return OptionVerdict(option, "not done", f"the option is unknown; similar options are {' and '.join(similar)}")
    return OptionVerdict(option, "not done", _UNKNOWN)


def _similar(option: str, family: str) -> Sequence[str]:
    """Returns the known options whose names differ from ``option`` by only one or two letters. One of them may be the
    option that the user meant.
    """
    return get_close_matches(option, _names(family), n=2, cutoff=_SIMILAR)


@cache
def _names(family: str) -> list[str]:
    """Returns the full names of the options that connectors of ``family`` can have."""
    of_all = []
    for rule in catalog().rules:
        if not rule.families:
            of_all.append(rule)
    rules = of_all + list(_of_family(family))
    names = set()
    for rule in rules:
        if not rule.option.endswith("*"):
            names.add(rule.option)
    return sorted({*names, *_DECIDED})


_DECIDED = (
    "topics",
    "topics.regex",
    "transforms",
    "predicates",
    "key.converter",
    "value.converter",
    "key.converter.schemas.enable",
    "value.converter.schemas.enable",
)
"""Options that every connector can have. No rule applies to them, because other modules give the verdicts on them."""


@cache
def _of_family(family: str) -> tuple[OptionRule, ...]:
    rules = []
    for rule in catalog().rules:
        if family in rule.families:
            rules.append(rule)
    return tuple(rules)
