"""Converts drafts into stages. A draft contains the names and options of a stage as the user wrote them. All problems
are reported together.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dagster_smt.authoring.options import split_list
from dagster_smt.authoring.predicate import Predicate
from dagster_smt.authoring.stage import Chain, Stage, label_of
from dagster_smt.authoring.transform import Transform
from dagster_smt.chain import plugins
from dagster_smt.chain.classes import ClassMatch, find_class
from dagster_smt.chain.foreign_classes import ForeignClasses, foreign_plugin
from dagster_smt.chain.plugin_versions import version_problems
from dagster_smt.chain.problems import build, config_problem, did_you_mean
from dagster_smt.errors import Problem
from dagster_smt.model.java_text import trim

_TRANSFORM, _PREDICATE = "transforms.", "predicates."
_STAGE_KEYS = ("alias", "type", "options", "predicate", "negate")
_PREDICATE_KEYS = ("name", "type", "options")

_PROVIDED = re.compile(r"\$\{(?:file|dir|directory|env|vault|secrets?|configmaps?|aws|azure|gcp|ssm)[\w.-]*:")
"""A regular expression for the beginning of a reference such as ``${vault:``. The expression contains the usual names
of configuration providers.
"""


@dataclass
class StageDraft:
    """A stage as the user wrote it in the configuration, not yet checked.

    ``predicate`` is a tuple (name, type, options); None if the stage has no predicate. The type is None if the chain
    does not define the predicate.
    """

    alias: str
    type: Any
    options: dict[str, Any]
    predicate: tuple[str, Any, dict[str, Any]] | None = None
    negate: Any = None
    place: str = ""
    known_predicates: tuple[str, ...] = field(default=())


def drafts_from_properties(properties: Mapping[str, Any]) -> tuple[list[StageDraft], list[Problem]]:
    """Returns a draft (an unchecked description) of each stage in the keys ``transforms.*`` and ``predicates.*`` of
    ``properties``, and the problems of these keys. All other keys are ignored.
    """
    problems: list[Problem] = []
    aliases = _aliases(properties, "transforms", problems)
    names = _aliases(properties, "predicates", problems)
    # an empty list is a chain without stages
    if not aliases and "transforms" not in properties:
        problems.append(_no_list(properties))
    problems += _strays(properties, _TRANSFORM, aliases) + _strays(properties, _PREDICATE, names)
    drafts = []
    for alias in aliases:
        options = _below(properties, _TRANSFORM, alias, aliases)
        name = options.pop("predicate", None)
        draft = StageDraft(
            alias, options.pop("type", None), options, None, options.pop("negate", None), f"transforms.{alias}"
        )
        if name is not None:
            name = str(name)  # Kafka does not trim the name
            if name in names:
                predicate_options = _below(properties, _PREDICATE, name, names)
            else:
                predicate_options = {}
            predicate_options.pop("plugin.version", None)  # `_predicate_problems` checks it
            draft.predicate = (name, predicate_options.pop("type", None), predicate_options)
            draft.known_predicates = tuple(names)
        problems += version_problems(options.pop("plugin.version", None), draft.place)
        drafts.append(draft)
    return drafts, problems + _predicate_problems(properties, names, drafts)


def _no_list(properties: Mapping[str, Any]) -> Problem:
    """Returns the problem that the key ``transforms`` is missing in ``properties``. If a different key seems to contain
    the chain, the hint names it.
    """
    hint = "list the aliases: transforms=first,second"
    if "attributes" in properties:
        hint = "this file is a component: use the file that its 'chain' names"
    elif "chain" in properties:
        hint = "move the contents of 'chain' to the top of the file: a list of stages, or properties"
    return config_problem("SMT004", "transforms", "the list of transforms is missing", hint)


def _predicate_problems(
    properties: Mapping[str, Any], names: Sequence[str], drafts: Sequence[StageDraft]
) -> list[Problem]:
    """Returns the problems of predicates in ``properties``. For a predicate that a stage in ``drafts`` uses, the result
    contains only a wrong ``plugin.version``. For an unused predicate, the result contains all its problems, because
    Kafka also reads unused predicates.
    """
    problems = []
    used = set()
    for draft in drafts:
        if draft.predicate:
            used.add(draft.predicate[0])
    for name in names:
        options = _below(properties, _PREDICATE, name, names)
        problems += version_problems(options.pop("plugin.version", None), f"{_PREDICATE}{name}")
        if name not in used:
            unused = StageDraft("", None, {}, (name, options.pop("type", None), options), place="predicates")
            problems += _predicate(unused, lenient=True)[1]
    return problems


def _aliases(properties: Mapping[str, Any], key: str, problems: list[Problem]) -> list[str]:
    value = properties.get(key) or ""
    names = [str(v) for v in value] if isinstance(value, list | tuple) else split_list(str(value))
    repeated = []
    for n in names:
        if n and names.count(n) > 1:
            repeated.append(n)
    for name in dict.fromkeys(repeated):
        problems.append(config_problem("SMT005", key, f"the alias '{name}' appears twice", "choose two names"))
    if "" in names:
        problems.append(config_problem("SMT006", key, "an alias is empty", "remove the extra comma"))
    return list(dict.fromkeys(n for n in names if n))


def _below(properties: Mapping[str, Any], root: str, name: str, names: Sequence[str]) -> dict[str, Any]:
    """Returns the options of the alias ``name``, without the beginning of their keys. With the root ``transforms.`` and
    the alias ``a``, the property ``transforms.a.type`` becomes ``type``.

    ``names`` are all aliases. If one of them is ``a.b``, its options are not included in the options of ``a``.
    """
    prefix = f"{root}{name}."
    prefixes = []
    for other in names:
        if other.startswith(f"{name}."):
            prefixes.append(f"{root}{other}.")
    others = tuple(prefixes)
    options = {}
    for k, v in properties.items():
        if k.startswith(prefix) and not k.startswith(others):
            options[k[len(prefix) :]] = v
    return options


def _strays(properties: Mapping[str, Any], prefix: str, names: Sequence[str]) -> list[Problem]:
    """Returns a problem for each key that begins with ``prefix`` and whose alias is not in ``names``.

    Kafka ignores such keys, so nobody would notice a misspelled alias.
    """
    prefixes = tuple(f"{prefix}{name}." for name in names)
    strays = set()
    for k in properties:
        if k.startswith(prefix) and not k.startswith(prefixes):
            strays.add(k[len(prefix) :].split(".")[0])
    listed = prefix.rstrip(".")
    problems = []
    for s in sorted(strays):
        problems.append(
            Problem(
                "SMT007",
                f"{prefix}{s}",
                f"the alias is not in '{listed}'",
                did_you_mean(s, names, f"add it to {listed}"),
            )
        )
    return problems


def drafts_from_list(stages: Sequence[Any]) -> tuple[list[StageDraft], list[Problem]]:
    """Returns a draft (an unchecked description) of each stage in the list ``stages``, and the problems of the list. An
    item of the list is ``{alias, type, options, predicate: {name, type, options}, negate}``.
    """
    drafts, problems, seen = [], [], set()
    for number, stage in enumerate(stages):
        place = f"stages[{number}]"
        if not isinstance(stage, Mapping):
            problems.append(config_problem("SMT001", place, "a stage is a mapping", "write alias, type and options"))
            continue
        alias = str(stage.get("alias") or f"stage{number + 1}")
        if alias in seen:
            problems.append(config_problem("SMT005", place, f"the alias '{alias}' appears twice", "choose two names"))
        seen.add(alias)
        place = f"{place} ({alias})"
        draft = StageDraft(
            alias, stage.get("type"), _keys(stage, _STAGE_KEYS, place, problems), None, stage.get("negate"), place
        )
        predicate = stage.get("predicate")
        if isinstance(predicate, Mapping):
            options = _keys(predicate, _PREDICATE_KEYS, f"{place} predicate", problems)
            draft.predicate = (str(predicate.get("name") or ""), predicate.get("type"), options)
        elif predicate is not None:
            hint = "write name, type and options"
            problems.append(config_problem("SMT008", f"{place} predicate", "a predicate is a mapping", hint))
        drafts.append(draft)
    return drafts, problems + _name_predicates(drafts)


def _keys(data: Mapping[Any, Any], known: Sequence[str], place: str, problems: list[Problem]) -> dict[str, Any]:
    """Returns the options of ``data``, a stage or predicate. Adds a problem to ``problems`` for each key of ``data``
    that is not in ``known``. Also adds a problem if the value of the key ``options`` is not a mapping.
    """
    for key in map(str, data):
        if key not in known:
            hint = did_you_mean(key, known, "options go below 'options'")
            problems.append(config_problem("SMT008", place, f"unknown key '{key}'", hint))
    options = data.get("options") or {}
    if isinstance(options, Mapping):
        texts = {}
        for key, value in options.items():
            texts[str(key)] = value
        return texts
    problems.append(
        config_problem("SMT008", f"{place} options", "options are a mapping", "write each as 'name: value'")
    )
    return {}


def _name_predicates(drafts: Sequence[StageDraft]) -> list[Problem]:
    """Gives a name to each predicate in ``drafts`` that has none. Returns a problem for each name under which two
    stages define different predicates.
    """
    known: dict[str, tuple[Any, dict[str, Any]]] = {}
    problems = []
    # predicates with names first, so that no generated name is the name of another predicate
    for draft in sorted((d for d in drafts if d.predicate), key=lambda d: not (d.predicate and d.predicate[0])):
        assert draft.predicate
        name, type_, options = draft.predicate
        if not name:
            short = str(type_ or "predicate").rsplit(".", 1)[-1]
            numbered = []
            for n in range(2, len(drafts) + 2):
                numbered.append(f"{short}{n}")
            free = (short, *numbered)
            # equal predicates share a name
            name = next(n for n in free if known.get(n, (type_, options)) == (type_, options))
            draft.predicate = (name, type_, options)
        if known.setdefault(name, (type_, options)) != (type_, options):
            statement = f"the predicate '{name}' has another type or other options in another stage"
            problems.append(config_problem("SMT304", f"{draft.place} predicate", statement, "choose two names"))
    return problems


def assemble(
    drafts: Sequence[StageDraft], lenient: bool, as_kafka: bool = False, foreign: ForeignClasses | None = None
) -> tuple[Chain, list[Problem]]:
    """Builds the chain that ``drafts`` describe. Returns the chain and its problems. If there are problems, the chain
    must not be used.

    Args:
        drafts: The stages as written.
        lenient: True if unknown options are warnings.
        as_kafka: True to accept only the names of classes and options that Kafka accepts today.
        foreign: The jars of the chain.
    """
    foreign = foreign or ForeignClasses()
    stages, problems, warnings = [], [], []
    for draft in drafts:
        match = find_class(draft.type, plugins.transforms(), draft.place, "transform", as_kafka)
        transform, side, more, advice = _transform(draft, match, lenient, as_kafka, foreign)
        takes = () if match.cls is None else match.cls.references
        problems += [*_plain_names(draft), *_references(draft, takes), *more]
        warnings += advice
        predicate, more, advice = _predicate(draft, lenient, as_kafka, foreign)
        problems += more
        warnings += advice
        negate, more = _negate(draft)
        problems += more
        if transform is not None:
            name = draft.predicate[0] if draft.predicate else ""
            stages.append(Stage(draft.alias, transform, side, predicate, name, negate))
    chain = Chain(tuple(stages), {}, tuple(warnings))
    chain.properties.update(canonical(chain))
    return chain, problems


def _plain_names(draft: StageDraft) -> list[Problem]:
    names = (draft.alias, draft.predicate[0]) if draft.predicate else (draft.alias,)
    problems = []
    for name in names:
        # properties list aliases with commas between them, and Kafka trims them
        if "," in name or name != trim(name):
            problems.append(
                config_problem(
                    "SMT006", draft.place, f"the name '{name}' has a comma, or blanks around it", "choose another name"
                )
            )
    return problems


def _references(draft: StageDraft, takes: Collection[str]) -> list[Problem]:
    """Returns a problem for each option of ``draft`` that contains a reference such as ``${env:NAME}``. Connect would
    replace the reference with a value, but a chain would use it as a literal string.

    ``takes`` are the options of the transform that accept references.
    """
    options = {**draft.options, **(draft.predicate[2] if draft.predicate else {})}
    hint = "write the value itself: Connect resolves such references, and chains do not"
    problems = []
    for name, value in options.items():
        is_text = isinstance(value, str) and name not in takes
        match = _PROVIDED.search(value) if is_text else None
        if match is not None:
            problems.append(config_problem("SMT051", draft.place, f"'{name}' refers to {match[0]}…}}", hint))
    return problems


def _transform(
    draft: StageDraft, match: ClassMatch, lenient: bool, as_kafka: bool, foreign: ForeignClasses
) -> tuple[Transform | None, str, list[Problem], list[Problem]]:
    name = foreign.class_name(match, draft.type)
    if name:
        transform = foreign_plugin("transform", name, draft.options)
        assert isinstance(transform, Transform)
        return transform, "", [], []
    if match.problem:
        return None, "", [foreign.hinted(match.problem, draft.type)], []
    cls, side = match.cls, match.side
    assert isinstance(cls, type) and issubclass(cls, Transform)
    place = f"{draft.place} ({label_of(cls, side)})"
    built, problems, warnings = build(cls, draft.options, place, lenient, as_kafka)
    assert built is None or isinstance(built, Transform)
    return built, side, problems, warnings


def _predicate(
    draft: StageDraft, lenient: bool, as_kafka: bool = False, foreign: ForeignClasses | None = None
) -> tuple[Predicate | None, list[Problem], list[Problem]]:
    if draft.predicate is None:
        return None, [], []
    name, type_, options = draft.predicate
    if type_ is None and not options:
        hint = did_you_mean(name, draft.known_predicates, "define it under 'predicates'")
        return None, [config_problem("SMT301", draft.place, f"there is no predicate '{name}'", hint)], []
    place = f"predicates.{name}"
    foreign = foreign or ForeignClasses()
    match = find_class(type_, plugins.predicates(), place, "predicate", as_kafka)
    class_name = foreign.class_name(match, type_)
    if class_name:
        predicate = foreign_plugin("predicate", class_name, options)
        assert isinstance(predicate, Predicate)
        return predicate, [], []
    if match.problem:
        return None, [foreign.hinted(match.problem, type_)], []
    assert match.cls is not None
    built, problems, warnings = build(match.cls, options, f"{place} ({match.cls.__name__})", lenient)
    assert built is None or isinstance(built, Predicate)
    return built, problems, warnings


def _negate(draft: StageDraft) -> tuple[bool, list[Problem]]:
    if draft.negate is None:
        return False, []
    text = trim(str(draft.negate)).lower()
    if text not in ("true", "false"):
        return False, [config_problem("SMT013", f"{draft.place} negate", "expected true or false")]
    if draft.predicate is None:
        hint = "name the predicate, or remove negate"
        return False, [config_problem("SMT302", draft.place, "'negate' without a 'predicate'", hint)]
    # Connect trims the string when it checks it, but not when it uses it: ` true ` is accepted, and is then false
    return str(draft.negate).lower() == "true", []


def canonical(chain: Chain) -> dict[str, str]:
    """Returns ``chain`` as flat properties. Every value is a string."""
    properties = {"transforms": ",".join(s.alias for s in chain.stages)}
    for stage in chain.stages:
        prefix = f"{_TRANSFORM}{stage.alias}."
        properties[f"{prefix}type"] = stage.connect_class
        for key, text in option_texts(stage.transform).items():
            properties[prefix + key] = text
        if stage.predicate is None:
            continue
        properties[f"{prefix}predicate"] = stage.predicate_name
        if stage.negate:
            properties[f"{prefix}negate"] = "true"
        prefix = f"{_PREDICATE}{stage.predicate_name}."
        properties[f"{prefix}type"] = stage.predicate.connect_class
        for key, text in option_texts(stage.predicate).items():
            properties[prefix + key] = text
    names = dict.fromkeys(s.predicate_name for s in chain.stages if s.predicate is not None)
    if names:
        return {**properties, "predicates": ",".join(names)}
    return properties


def option_texts(configured: Transform | Predicate) -> dict[str, str]:
    """Returns the options that the user has set, by name, with their values as properties spell them."""
    texts = {}
    for key, value in configured.configured().items():
        texts[key] = as_text(value)
    return texts


def as_text(value: Any) -> str:
    """Returns ``value``, the value of an option, as properties spell it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ",".join(value)
    return str(value)
