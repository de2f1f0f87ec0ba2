"""Writes the chain of a component. The chain contains the connector's transforms, with current option names, and after
them the stages that the import adds, such as a stage for the connector's field list.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dagster_smt.authoring.options import split_list
from dagster_smt.connect.connectors import Connector
from dagster_smt.connect.option_rules import OptionVerdict
from dagster_smt.connect.settings import ExtraStage
from dagster_smt.connect.survey import BY_TOPIC, TransformVerdict, ignored_options, routers, survey
from dagster_smt.model.secrets import is_reference, shows_secret

_UNWRAP = "io.debezium.transforms.ExtractNewRecordState"
_DELETES, _TOMBSTONES, _TODAY = "delete.handling.mode", "drop.tombstones", "delete.tombstone.handling.mode"
_FORMER = "io.debezium.transforms.UnwrapFromEnvelope"
"""The class name of ``ExtractNewRecordState`` before Debezium 0.10."""
_MODES = {
    ("drop", "true"): ("drop", ""),
    ("drop", "false"): ("delete-to-tombstone", "; a tombstone that follows no deletion is dropped"),
    ("rewrite", "true"): ("rewrite", ""),
    ("rewrite", "false"): ("rewrite-with-tombstone", ""),
    ("none", "true"): ("tombstone", ""),
    ("none", "false"): ("tombstone", "; a deletion gives one null, not two"),
}
"""Maps the values of ``delete.handling.mode`` and ``drop.tombstones`` in Debezium 2 and earlier to the present mode,
and to a note about the difference.
"""
_REFERENCE = re.compile(r"\$\{[\w.-]+:[^}]*\}")
"""Matches a reference that Connect's configuration providers resolve, such as ``${file:/secrets:password}``."""


@dataclass(frozen=True)
class WrittenChain:
    """The chain of a component. Verdicts say what became of each property of the connector.

    Attributes:
        connector: The connector, with the component's chain instead of its own.
        stages: A verdict on each transform of the connector.
        ignored: Properties that Kafka ignores. The chain's file contains them as comments.
        options: A verdict on each of the connector's properties for transforms and predicates.
        extra: The stages after the connector's transforms.
    """

    connector: Connector
    stages: list[TransformVerdict]
    ignored: list[str]
    options: list[OptionVerdict]
    extra: list[ExtraStage]


def written_chain(
    connector: Connector,
    extra: Sequence[ExtraStage] = (),
    smt_jars: Sequence[str] = (),
    *,
    to_topics: bool = False,
) -> WrittenChain:
    """Returns the chain of the component for ``connector``, with a verdict on each property.

    Args:
        connector: The connector.
        extra: Stages after the connector's transforms.
        smt_jars: Jars with classes that this package does not contain.
        to_topics: True if the component writes to topics, or writes a table for each topic. Transforms may then choose
            the topic.
    """
    today, renamed = _in_todays_words(connector)
    safe, hidden = _without_secrets(today)
    stages, ignored = survey(safe, smt_jars), ignored_options(safe)
    decided = {}
    for v in (*hidden, *renamed):
        decided[v.option] = v
    options = []
    for k in connector.chain:
        if k in connector.config:
            options.append(decided.get(k) or _option(k, connector, stages, ignored, to_topics))
    return WrittenChain(_with_stages(safe, extra), stages, ignored, options, list(extra))


def _aliases(connector: Connector) -> list[str]:
    return list(dict.fromkeys(filter(None, split_list(connector.chain["transforms"]))))


def _in_todays_words(connector: Connector) -> tuple[Connector, list[OptionVerdict]]:
    """Returns ``connector`` with current options in place of options of Debezium 2 and earlier, and a verdict on each
    replaced option.
    """
    config, verdicts = dict(connector.config), []
    for alias in _aliases(connector):
        head = f"transforms.{alias}."
        if config.get(f"{head}type", "").strip() == _FORMER:
            config[f"{head}type"] = _UNWRAP
            verdicts.append(OptionVerdict(f"{head}type", "changed", "ExtractNewRecordState, its name today"))
        old = []
        for name in (_DELETES, _TOMBSTONES):
            if head + name in config:
                old.append(head + name)
        # the present option takes precedence over the older ones
        if config.get(f"{head}type", "").strip() != _UNWRAP or not old or head + _TODAY in config:
            continue
        values = []
        # with the defaults of Debezium 2
        for n, d in ((_DELETES, "drop"), (_TOMBSTONES, "true")):
            values.append(config.get(head + n, d).strip().lower())
        before = tuple(values)
        if before not in _MODES:
            verdicts += [OptionVerdict(name, "not done", "the handling of deletions is unknown") for name in old]
            continue
        mode, difference = _MODES[before[0], before[1]]
        for name in old:
            verdicts.append(OptionVerdict(name, "changed", f"{_TODAY}={mode}{difference}"))
        config = _replaced(config, old, head + _TODAY, mode)
    return replace(connector, config=config), verdicts


def _replaced(config: dict[str, str], old: list[str], name: str, value: str) -> dict[str, str]:
    """Returns ``config`` with the property ``name`` in place of the properties in ``old``."""
    properties: dict[str, str] = {}
    for key, text in config.items():
        if key == old[0]:
            properties[name] = value
        elif key not in old:
            properties[key] = text
    return properties


def _without_secrets(connector: Connector) -> tuple[Connector, list[OptionVerdict]]:
    """Returns ``connector`` with ``${env:SECRET}`` in place of each secret in its chain. Also returns a verdict on each
    secret and on each reference, such as ``${file:/secrets:password}``. Transforms of this package do not resolve
    references: they would use the text of the reference as the value.
    """
    config, verdicts = dict(connector.config), []
    for key, value in connector.chain.items():
        # without the alias: a stage called secretFields would otherwise have only secret options
        name = _own_name(key, connector)
        if name and not is_reference(value) and shows_secret(name, value):
            config[key] = "${env:SECRET}"
            verdicts.append(OptionVerdict(key, "not done", "a secret is not copied, and transforms look up none"))
        elif name and is_looked_up(value):
            text = "it is a reference that Connect resolves; transforms resolve none, so its text would be the value"
            verdicts.append(OptionVerdict(key, "not done", text))
    return replace(connector, config=config), verdicts


def _own_name(key: str, connector: Connector) -> str:
    """Returns the name of an option of a transform or predicate without the alias: ``transforms.mask.fields`` becomes
    ``fields``.
    """
    kind, _, rest = key.partition(".")
    if kind == "transforms":
        aliases = _aliases(connector)
    else:
        aliases = split_list(connector.chain.get("predicates", ""))
    heads = []
    for alias in aliases:
        if rest.startswith(f"{alias}."):
            heads.append(f"{alias}.")
    if heads:
        return rest.removeprefix(max(heads, key=len))
    return rest.partition(".")[2]


def _with_stages(connector: Connector, extra: Sequence[ExtraStage]) -> Connector:
    """Returns ``connector`` with the stages in ``extra`` after its transforms. Each of these stages gets an alias that
    the connector does not use yet.
    """
    for stage in extra:
        config, aliases = dict(connector.config), _aliases(connector)
        alias = _free(stage.alias, "transforms", aliases, config)
        config["transforms"] = ",".join([*aliases, alias])
        for name, value in stage.options.items():
            config[f"transforms.{alias}.{name}"] = value
        if stage.predicate:
            predicates = [name for name in split_list(config.get("predicates", "")) if name]
            name = _free(stage.alias, "predicates", predicates, config)
            config["predicates"] = ",".join([*predicates, name])
            config[f"predicates.{name}.type"] = stage.predicate
            config[f"transforms.{alias}.predicate"] = name
        connector = replace(connector, config=config)
    return connector


def _free(name: str, kind: str, others: Sequence[str], config: Mapping[str, str]) -> str:
    """Returns a name that the connector does not use yet: ``name``, with underscores appended if necessary.

    Args:
        name: The preferred name.
        kind: ``transforms`` for an alias of a transform, ``predicates`` for a name of a predicate.
        others: The names of this kind that the connector lists.
        config: The properties of the connector. These properties may also contain options of names that are not in
            ``others``.
    """
    while name in others or any(key.startswith(f"{kind}.{name}.") for key in config):
        name += "_"
    return name


def _option(
    key: str, connector: Connector, stages: list[TransformVerdict], ignored: list[str], to_topics: bool
) -> OptionVerdict:
    if key in ("transforms", "predicates"):
        whole = []
        for v in stages:
            if v.part == "transforms" and v.verdict == "not supported":
                whole.append(v)
        if key == "transforms" and whole:
            return OptionVerdict(key, "not done", whole[0].text)
        return OptionVerdict(key, "used", "chain")
    if key in ignored:
        return OptionVerdict(key, "not needed", "Kafka also ignores it: a comment in the chain")
    if key.startswith("predicates."):
        return _of_predicate(key, connector, stages)
    owners = []
    for a in _aliases(connector):
        if key.startswith(f"transforms.{a}."):
            owners.append(a)
    if not owners:
        return OptionVerdict(key, "not needed", "Kafka also ignores it: a comment in the chain")
    # an alias may contain dots: transforms.a.b.type belongs to the stage a.b, even if there is also a stage a
    alias = max(owners, key=len)
    name = key.removeprefix(f"transforms.{alias}.")
    if name == "type" and not to_topics and (routes := _routes(alias, connector)):
        unsupported = any(v.part == alias and v.verdict == "not supported" for v in stages)
        if not unsupported:
            return OptionVerdict(key, "not done", routes)
    return _of_stage(key, name, alias, stages)


def _of_predicate(key: str, connector: Connector, stages: list[TransformVerdict]) -> OptionVerdict:
    users = []
    for a in _aliases(connector):
        if _is_predicate(key, connector.chain.get(f"transforms.{a}.predicate", "")):
            users.append(a)
    if not users:
        return OptionVerdict(key, "not needed", "no transform asks this predicate")
    if any(v.part in users and v.verdict == "not supported" for v in stages):
        return OptionVerdict(key, "not done", f"the transform '{users[0]}' is not supported")
    return OptionVerdict(key, "used", f"when the stage '{users[0]}' acts")


def _is_predicate(key: str, name: str) -> bool:
    return bool(name) and key.startswith(f"predicates.{name.strip()}.")


def _of_stage(key: str, name: str, alias: str, stages: Iterable[TransformVerdict]) -> OptionVerdict:
    stage = next(v for v in stages if v.part == alias)
    if stage.verdict == "not supported":
        return OptionVerdict(key, "not done", f"the transform '{alias}' is not supported")
    # the verdict on the stage names the option in question, such as: the option 'blacklist' is called 'exclude' today
    if f"'{name}'" in stage.text or stage.text.startswith(f"{name}="):
        return OptionVerdict(key, "changed", stage.text)
    return OptionVerdict(key, "used", f"the stage '{alias}'")


def _routes(alias: str, connector: Connector) -> str:
    """Returns the reason why a component with one table cannot replace the router ``alias``: the router may send
    records to several topics. Returns an empty string in three cases: the transform is not a router, the connector is a
    source, or the router only renames the connector's single topic.
    """
    name = routers(connector).get(alias)
    renames = name in BY_TOPIC and len(connector.topics) == 1
    if name is None or renames or not connector.is_sink:
        return ""
    return "the topics that it makes were tables, indexes or folders of their own; one component writes one table"


def is_looked_up(value: str) -> bool:
    """Returns True if ``value`` contains a reference that Connect resolves."""
    return _REFERENCE.search(value) is not None
