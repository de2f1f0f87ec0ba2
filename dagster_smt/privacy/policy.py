"""Defines policies. A policy determines the action on a field by the tags of the field. By default, a policy drops
every field without a decision; this action is called ``hold back``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from dagster_smt.authoring.transform import Transform
from dagster_smt.chain import plugins
from dagster_smt.chain.problems import did_you_mean
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.privacy.tags import Part, Tag, TaggedField, read_yaml

Untagged = Literal["hold back", "keep"]
KEEP: Literal["keep"] = "keep"
HOLD_BACK: Literal["hold back"] = "hold back"
DROP, MASK = "drop", "mask"
OWN_ACTIONS = (KEEP, HOLD_BACK, DROP, MASK)
NO_TAG = "no tag"
"""The reason in a decision about a field without a tag."""
_KEYS = ("untagged", "looks_personal", "dead_letters", "rules", "actions", "tags")
_SOURCES = ("file", "contract", "registry", "schema")
_HINT = "docs/how-to/policy.md shows the file"


@dataclass(frozen=True, slots=True)
class Action:
    """An action that the rules of a policy refer to by name: a transform with its options.

    Attributes:
        name: The name that rules use, such as ``pseudonymize``.
        type: The class of the transform, such as ``Pseudonymize``. Empty for ``mask``, for which policies have their
            own transform.
        options: The transform's options, without the list of fields.
        fields: The name of the transform's option that lists the fields.
    """

    name: str
    type: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    fields: str = "fields"


@dataclass(frozen=True, slots=True)
class TagRule:
    """A rule of a policy, such as ``PII.email: pseudonymize``: the pattern of tags, and the name of the action."""

    pattern: str
    action: str


@dataclass(frozen=True, slots=True)
class TagSource:
    """A source from which a policy reads tags.

    Attributes:
        kind: ``file``, ``contract``, ``registry`` or ``schema``.
        path: For a file or contract, its path.
        options: For a registry, its options. If empty, the registry in the options of the topic's format is used.
    """

    kind: str
    path: Path | None = None
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision of a policy about a field, with its reason.

    Attributes:
        topics: A regular expression for the topics to which the decision applies; empty for all topics of the table.
        part: The part of the record that contains the field: ``key``, ``value`` or ``headers``.
        path: The path of the field.
        tags: The tags of the field.
        action: The name of the action, such as ``mask``.
        reason: The reason as text, such as ``no tag``.
    """

    topics: str
    part: Part
    path: str
    tags: tuple[Tag, ...]
    action: str
    reason: str


@dataclass(frozen=True)
class Policy:
    """A policy, which determines the action on a field by the field's tags.

    Attributes:
        rules: The rules. The first rule that matches a tag of a field determines the action.
        actions: The transforms that rules refer to, by name.
        untagged: The action on a field about which the policy has no decision: ``hold back`` drops the field, ``keep``
            keeps it. The policy has a decision if a rule matches a tag of the field. The policy also has a decision if
            a tags file lists the field without a tag, as in ``id: []``.
        looks_personal: ``hold back`` to drop an untagged field whose sampled values look personal. Used only with
            ``untagged: keep``.
        dead_letters: ``keep`` to allow dead letters, which contain original records; ``refuse`` to reject tables with
            dead letters.
        sources: The sources of the tags.
        name: The name of the file, for people.
    """

    rules: tuple[TagRule, ...] = ()
    actions: Mapping[str, Action] = field(default_factory=dict)
    untagged: Untagged = HOLD_BACK
    looks_personal: Untagged = KEEP
    dead_letters: Literal["keep", "refuse"] = "refuse"
    sources: tuple[TagSource, ...] = ()
    name: str = "policy"

    def decide(self, topics: str, fields: Iterable[TaggedField]) -> tuple[Decision, ...]:
        """Returns the decision of the policy about each field in ``fields``, such as "mask ``email``". If several
        sources of tags list a field, the field has all their tags.

        Args:
            topics: The topics of the fields, as a regular expression; empty for all topics of the table.
            fields: The fields.
        """
        together: dict[tuple[Part, Any], TaggedField] = {}
        for one in fields:
            key = (one.part, one.steps)
            before = together.get(key)
            if before is not None:
                tags = tuple(dict.fromkeys((*before.tags, *one.tags)))
                one = TaggedField(one.part, before.path, tags, before.decided or one.decided, one.steps)
            together[key] = one
        return tuple(self._decision(topics, one) for one in together.values())

    def _decision(self, topics: str, one: TaggedField) -> Decision:
        for rule in self.rules:
            for tag in one.tags:
                if tag.matches(rule.pattern):
                    reason = f"{rule.pattern}: {rule.action} ({tag.name} in {tag.source})"
                    return Decision(topics, one.part, one.path, one.tags, rule.action, reason)
        if one.tags:
            names = ", ".join(tag.name for tag in one.tags)
            return Decision(topics, one.part, one.path, one.tags, self.untagged, f"no rule for {names}")
        if one.decided:
            return Decision(topics, one.part, one.path, (), KEEP, "listed without a tag")
        return Decision(topics, one.part, one.path, (), self.untagged, NO_TAG)


def read_policy(path: Path) -> Policy:
    """Reads the policy in the file ``path``. Paths in the file are relative to the file's own folder.

    .. code-block:: yaml

        untagged: hold back
        rules:
          PII.email: pseudonymize
          PII.*: mask
          public: keep
        actions:
          pseudonymize: {type: Pseudonymize, options: {key.ring: "k1=${env:PII_KEY}"}}
        tags: [{file: tags.yaml}]

    Raises:
        ConfigError: SMT761 if the file cannot be read; SMT764 if it is not a policy. The error lists all problems.
    """
    data = read_yaml(path)
    if not isinstance(data, Mapping):
        raise ConfigError(_problem(path.name, "a policy is a mapping"))
    return _PolicyReader(path.name, path.parent).policy(data)


def policy_of(data: Mapping[str, Any], folder: Path = Path(), name: str = "policy") -> Policy:
    """Returns the policy that the mapping ``data`` describes. The mapping has the structure of a policy file."""
    return _PolicyReader(name, folder).policy(data)


class _PolicyReader:
    """A reader of a policy, which collects the policy's problems."""

    def __init__(self, name: str, folder: Path):
        self.name, self.folder = name, folder
        self.problems: list[Problem] = []

    def policy(self, data: Mapping[str, Any]) -> Policy:
        for key in data:
            if key not in _KEYS:
                self.problem("", f"unknown key '{key}'", did_you_mean(str(key), _KEYS))
        actions = self.actions(data.get("actions") or {})
        policy = Policy(
            rules=self.rules(data.get("rules"), actions),
            actions=actions,
            untagged=self.word(data, "untagged", HOLD_BACK, (HOLD_BACK, KEEP)),
            looks_personal=self.word(data, "looks_personal", KEEP, (HOLD_BACK, KEEP)),
            dead_letters=self.word(data, "dead_letters", "refuse", ("refuse", KEEP)),
            sources=self.sources(data.get("tags")),
            name=self.name,
        )
        if self.problems:
            raise ConfigError(self.problems)
        return policy

    def problem(self, place: str, statement: str, hint: str = _HINT) -> None:
        self.problems.append(_problem(f"{self.name} {place}".strip(), statement, hint))

    def word(self, data: Mapping[str, Any], key: str, default: str, words: Sequence[str]) -> Any:
        value = str(data.get(key, default)).replace("_", " ")
        if value not in words:
            self.problem(key, f"'{value}' is not one of: {', '.join(words)}")
        return value

    def rules(self, data: Any, actions: dict[str, Action]) -> tuple[TagRule, ...]:
        if not isinstance(data, Mapping) or not data:
            self.problem("rules", "a policy needs rules: a mapping of tags to actions")
            return ()
        rules = []
        for pattern, name in data.items():
            # YAML authors may write hold_back for "hold back"; the name of an action of their own stays as it is
            action = str(name).replace("_", " ") if str(name).replace("_", " ") in OWN_ACTIONS else str(name)
            if action not in OWN_ACTIONS and action not in actions and not self.built_in(action, actions):
                hint = did_you_mean(action, (*OWN_ACTIONS, *actions), "define it under 'actions'")
                self.problem(f"rules {pattern}", f"there is no action '{action}'", hint)
            rules.append(TagRule(str(pattern), action))
        return tuple(rules)

    def built_in(self, name: str, actions: dict[str, Action]) -> bool:
        """Adds the action ``name`` to ``actions`` if there is a transform with this name and an option ``fields``.
        Returns True if it added the action.
        """
        for cls in plugins.transforms().values():
            if cls.__name__.lower() == name.lower() and "fields" in cls.keys():
                actions[name] = Action(name, cls.__name__)
                return True
        return False

    def actions(self, data: Any) -> dict[str, Action]:
        if not isinstance(data, Mapping):
            self.problem("actions", "actions are a mapping of names to type and options")
            return {}
        actions = {}
        for name, one in data.items():
            place = f"actions {name}"
            if str(name) in OWN_ACTIONS and str(name) != MASK:
                self.problem(place, f"'{name}' is an action of every policy", "choose another name")
            elif not isinstance(one, Mapping) or not isinstance(one.get("options", {}), Mapping):
                self.problem(place, "an action has a type and options")
            else:
                actions[str(name)] = self.action(str(name), one, place)
        return actions

    def action(self, name: str, one: Mapping[str, Any], place: str) -> Action:
        for key in one:
            if key not in ("type", "options", "fields"):
                self.problem(place, f"unknown key '{key}'", did_you_mean(str(key), ("type", "options", "fields")))
        # Connect's spelling names the side, as in MaskField$Value; here the tags determine it
        kind = str(one.get("type", "")).partition("$")[0]
        if name == MASK:
            if kind:
                self.problem(place, "the action 'mask' has no type", "choose another name for a transform of yours")
            return Action(name, "", dict(one.get("options") or {}))
        if not kind:
            self.problem(place, "the type is missing", "name the class of a transform")
        return Action(name, kind, dict(one.get("options") or {}), str(one.get("fields") or "fields"))

    def sources(self, data: Any) -> tuple[TagSource, ...]:
        listed = data if isinstance(data, list) else [data]
        if data is None:
            self.problem("tags", "a policy needs a source of tags")
            return ()
        sources = []
        for one in listed:
            if (source := self.source(one)) is not None:
                sources.append(source)
        return tuple(sources)

    def source(self, one: Any) -> TagSource | None:
        if isinstance(one, str) and one in ("registry", "schema"):
            return TagSource(one)
        if isinstance(one, str):
            one = {"file": one}
        if isinstance(one, Mapping) and len(one) == 1:
            ((kind, value),) = one.items()
            if kind in ("file", "contract") and isinstance(value, str):
                return TagSource(kind, self.folder / value)
            if kind == "registry" and isinstance(value, Mapping):
                settings = []
                for k, v in value.items():
                    settings.append((str(k), str(v)))
                return TagSource(kind, None, tuple(sorted(settings)))
        self.problem("tags", f"a source is one of: {', '.join(_SOURCES)}", _HINT)
        return None


def transform_class(action: Action, place: str) -> type[Transform]:
    """Returns the transform class that ``action`` names.

    Raises:
        ConfigError: SMT764 if there is no such class, or if the class lacks the option that ``action.fields`` names.
    """
    # several classes can have one name, such as Kafka's and Confluent's Filter: reversed, so that the first of them
    # counts
    known = {cls.__name__: cls for cls in reversed(list(plugins.transforms().values()))} | plugins.transforms()
    cls = known.get(action.type)
    if cls is None:
        hint = did_you_mean(action.type, known, "dagster-smt list shows the transforms")
        raise ConfigError(_problem(place, f"there is no transform '{action.type}'", hint))
    if action.fields not in cls.keys():
        statement = f"{cls.__name__} has no option '{action.fields}'"
        raise ConfigError(_problem(place, statement, "set 'fields' to the option that takes them"))
    return cls


def _problem(place: str, statement: str, hint: str = _HINT) -> Problem:
    return Problem("SMT764", place, statement, hint)
