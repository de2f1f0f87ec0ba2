"""Builds the stages of a policy, such as a stage that masks ``customer.email``. They run before the stages of the
chain.

Therefore no stage of the chain receives a value that must be hidden. Neither the chain, nor a run config that replaces
the chain, can bypass the policy.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from dagster_smt.authoring.bundles import NestedPaths, by_syntax, check_paths
from dagster_smt.authoring.options import Names, option
from dagster_smt.authoring.stage import Chain, Stage
from dagster_smt.authoring.transform import Transform, passing_nulls
from dagster_smt.authoring.validate import NonEmptyNames, NonEmptyText
from dagster_smt.chain.problems import build
from dagster_smt.chain.stages import canonical
from dagster_smt.effects.effect import Change, Effect, KeepHeaders
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.paths.connect import EXTENDED
from dagster_smt.predicates.topic_name_matches import TopicNameMatches
from dagster_smt.privacy.policy import DROP, HOLD_BACK, KEEP, MASK, NO_TAG, Action, Decision, Policy, transform_class
from dagster_smt.privacy.tags import Part, topic_matches
from dagster_smt.transforms.kafka.drop_headers import DropHeaders
from dagster_smt.transforms.kafka.filter import Filter
from dagster_smt.transforms.kafka.mask_field import Mask
from dagster_smt.transforms.kafka.replace_field import ReplaceField

PREFIX = "policy_"
"""The prefix of the aliases of a policy's stages, such as ``policy_mask``."""
HELD = f"{PREFIX}held"
"""The prefix of the aliases of stages that drop fields by name because the policy holds these fields back."""
OTHER_HEADERS = "*"
"""The name that a decision has instead of a header's name if the decision is about all remaining headers."""
EXTENDED_PATHS = {"field.syntax.version": EXTENDED}


class PolicyMask(NestedPaths, Transform):
    """A transform that masks fields as ``MaskField`` does: with ``replacement``, or with the zero of the field's type.
    Two things differ: a null key or value stays null, and a missing field is not added.
    """

    connect_class = "dagster_smt.policy.Mask"
    purpose = "mask fields"
    null = "pass"
    fields: Annotated[NonEmptyNames, by_syntax()] = option("Fields to mask.")
    replacement: NonEmptyText | None = option(
        "The new value. If it is not set, the new value is the zero of the type.", None
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        return check_paths("fields", self.fields, self.path)

    def effects(self) -> tuple[Effect, ...]:
        mask = Mask(self.replacement)
        return tuple(Change(self.path(name), mask, "masked") for name in self.fields)


class PolicyHeaders(Transform):
    """A transform that removes all headers, except the headers that the policy keeps."""

    connect_class = "dagster_smt.policy.Headers"
    sided = False
    headers: Names = option("Names of the headers that stay.", ())

    def effects(self) -> tuple[Effect, ...]:
        return (KeepHeaders(self.headers),)


@dataclass(frozen=True)
class PolicyStage(Stage):
    """A stage that a policy adds.

    Attributes:
        action: The name of the action in the policy.
        topics: A regular expression for the topics of the stage; empty for all topics.
        paths: The paths of the fields (or the names of the headers) that the stage changes. If the stage drops all
            fields or headers except a list, ``paths`` is this list.
    """

    action: str = ""
    topics: str = ""
    paths: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """The location of the stage in messages, such as ``policy policy_mask (PolicyMask$Value)``."""
        return f"policy {self.alias} ({self.label})"

    @property
    def relied_on(self) -> bool:
        """Always False: the run gives no warning if the stage touches no record, because the records may lack the
        tagged field. ``Stage`` explains the property.
        """
        return False

    @property
    def holds_back(self) -> bool:
        """True if the stage drops the fields (or headers) about which the policy has no decision."""
        return self.action == HOLD_BACK

    @property
    def part(self) -> Part:
        """The part of records (key, value or headers) that the stage changes."""
        if isinstance(self.transform, DropHeaders | PolicyHeaders):
            return "headers"
        return "key" if self.side == "key" else "value"

    def acts_on_topic(self, topic: str) -> bool:
        """Returns True if the stage changes records of ``topic``. A stage may be limited to some topics."""
        return not self.topics or topic_matches(self.topics, topic)


@dataclass(frozen=True)
class TopicDecisions:
    """The decisions of a policy for a group of topics.

    Attributes:
        topics: A regular expression for these topics; empty for all topics of the table.
        decisions: The decisions, one for each field.
        added: Paths of fields that the policy keeps although it has no decision about them. The topic table adds these
            fields, such as a column with the record's offset.
        decided: False if no source of tags lists the topics.
        drops_records: True if a topic pattern chooses the topics, no source of tags lists them, and the sink contains
            the keys of records. With ``untagged: hold back``, the policy then drops whole records of these topics.
    """

    topics: str
    decisions: tuple[Decision, ...]
    added: tuple[str, ...] = ()
    decided: bool = True
    drops_records: bool = False


def stages_of(policy: Policy, groups: Sequence[TopicDecisions]) -> tuple[PolicyStage, ...]:
    """Returns the stages that carry out the decisions in ``groups``. The stages of a group have this order: drop the
    listed fields, hold back fields without a decision, apply other actions such as ``mask``, and drop headers.

    Raises:
        ConfigError: SMT765 if an action cannot act on a field. The error lists all problems.
    """
    makers = []
    for number, group in enumerate(groups):
        # the aliases of the stages must differ between groups: policy_mask, policy_mask_2
        makers.append(_Maker(policy, group, "" if number == 0 else f"_{number + 1}"))
    stages: list[PolicyStage] = []
    problems: list[Problem] = []
    for maker in makers:
        try:
            stages += list(maker.stages())
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    return tuple(stages)


class _Maker:
    """A builder of the stages for one group of topics."""

    def __init__(self, policy: Policy, group: TopicDecisions, suffix: str):
        self.policy, self.group, self.suffix = policy, group, suffix

    def stages(self) -> Iterator[PolicyStage]:
        if self.group.drops_records and self.policy.untagged == HOLD_BACK:
            yield self._stage("topics", Filter(), "", DROP, ())
        sides: tuple[Part, ...] = ("value", "key")
        for part in sides:
            yield from self._hiding(part)
        for part in sides:
            yield from self._acting(part)
        yield from self._headers()

    def _headers(self) -> Iterator[PolicyStage]:
        """Yields up to two stages that drop headers. The first drops the headers whose decision is not ``keep``. The
        second drops all headers except those that the policy keeps.
        """
        decisions = {}
        for d in self.group.decisions:
            if d.part == "headers":
                decisions[d.path] = d
        others = decisions.pop(OTHER_HEADERS, None)
        drops = []
        for d in decisions.values():
            # headers are never masked: each action except keep drops the header
            if d.action != KEEP and not self._is_only_untagged(d):
                drops.append(d.path)
        if drops:
            yield self._stage("headers", self._built(DropHeaders, {"headers": drops}, DROP), "", DROP, drops)
        action: str = self.policy.untagged
        if others is not None and not self._is_only_untagged(others):
            action = others.action
        if action != KEEP:
            stay = []
            for d in decisions.values():
                if d.action == KEEP:
                    stay.append(d.path)
            transform = self._built(PolicyHeaders, {"headers": stay}, action)
            yield self._stage("other_headers", transform, "", HOLD_BACK if action == HOLD_BACK else DROP, stay)

    def _hiding(self, part: Part) -> Iterator[PolicyStage]:
        """Yields the stages that drop fields of ``part``: the fields that a decision names, and the fields without a
        decision.
        """
        decisions = self._of(part)
        for action in (DROP, HOLD_BACK):
            paths = []
            for d in decisions:
                if d.action == action and not self._is_only_untagged(d):
                    paths.append(d.path)
            if paths:
                yield self._dropping(part, "drop" if action == DROP else "held", paths)
        if self.policy.untagged == HOLD_BACK and (part == "value" or decisions):
            stay = []
            for d in decisions:
                if d.action not in (DROP, HOLD_BACK):
                    stay.append(d.path)
            stay += self.group.added if part == "value" else ()
            yield self._holding_back(part, stay)

    def _is_only_untagged(self, decision: Decision) -> bool:
        """Returns True if ``decision`` only says that an untagged field is held back. Such a decision needs no stage of
        its own, because one stage drops every field without a decision.
        """
        return decision.reason == NO_TAG and self.policy.untagged == HOLD_BACK

    def _dropping(self, part: Part, alias: str, paths: list[str]) -> PolicyStage:
        transform = self._built(ReplaceField, {**EXTENDED_PATHS, "exclude": paths}, DROP)
        return self._stage(alias, transform, part, DROP, paths)

    def _holding_back(self, part: Part, stay: list[str]) -> PolicyStage:
        # ReplaceField treats an empty list "include" as "all fields"
        options = {"include": stay} if stay else {"exclude": ["*"]}
        transform = self._built(ReplaceField, {**EXTENDED_PATHS, **options}, HOLD_BACK)
        return self._stage("hold_back", transform, part, HOLD_BACK, stay)

    def _acting(self, part: Part) -> Iterator[PolicyStage]:
        """Yields one stage for each action such as ``mask`` that changes fields of ``part``, in the order of the rules.
        The actions ``drop`` and ``hold back`` are not included.
        """
        paths: dict[str, list[str]] = {}
        # the empty lists fix the order of the stages: that of the rules
        for rule in self.policy.rules:
            paths.setdefault(rule.action, [])
        for decision in self._of(part):
            paths.setdefault(decision.action, []).append(decision.path)
        for name, fields in paths.items():
            if fields and name not in (KEEP, DROP, HOLD_BACK):
                yield self._action(part, self.policy.actions.get(name) or Action(name), fields)

    def _action(self, part: Part, action: Action, paths: list[str]) -> PolicyStage:
        place = f"{self.policy.name} actions {action.name}"
        cls = PolicyMask if action.name == MASK else transform_class(action, place)
        options = {**action.options, action.fields: paths}
        if "field.syntax.version" in cls.keys():
            # the paths of a policy are extended paths, in whatever transform
            options = {**EXTENDED_PATHS, **options}
        # MaskField, for example, rejects a null key or value. For a policy, an absent value is not a mistake.
        transform = passing_nulls(self._built(cls, options, action.name))
        return self._stage(action.name, transform, part if cls.sided else "", action.name, paths)

    def _of(self, part: Part) -> list[Decision]:
        decisions = [d for d in self.group.decisions if d.part == part]
        whole = []
        for d in decisions:
            if not d.path and d.action != KEEP:
                whole.append(d)
        if whole:
            hint = "give the tags to fields of the key, or write the decision: key: []"
            statement = f"a whole key can only be kept, not '{whole[0].action}'"
            raise ConfigError(Problem("SMT765", f"{self.policy.name} {self.group.topics} {part}", statement, hint))
        return [d for d in decisions if d.path]

    def _built(self, cls: type[Transform], options: dict[str, Any], action: str) -> Transform:
        built, problems, _ = build(cls, options, f"{self.policy.name} {action} ({cls.__name__})", False)
        if problems:
            raise ConfigError(replace(p, code="SMT765") for p in problems)
        assert isinstance(built, Transform)
        return built

    def _stage(self, alias: str, transform: Transform, side: str, action: str, paths: Sequence[str]) -> PolicyStage:
        name = f"{PREFIX}{alias}{self.suffix}" + ("_key" if side == "key" else "")
        predicate = TopicNameMatches(pattern=self.group.topics) if self.group.topics else None
        predicate_name = f"{PREFIX}topics{self.suffix}" if predicate is not None else ""
        return PolicyStage(
            name, transform, side, predicate, predicate_name, False, action, self.group.topics, tuple(paths)
        )


def under_policy(chain: Chain, stages: Sequence[PolicyStage]) -> Chain:
    """Returns ``chain`` with ``stages``, the stages of a policy, at its beginning.

    Raises:
        ConfigError: SMT766 if a stage of the chain has an alias that is reserved for the policy, or if a predicate of
            the chain has the name of one of the policy's predicates.
    """
    if not stages:
        return chain
    of_chain = []
    for stage in chain.stages:
        # the chain may already have the stages of the policy; they are replaced, so that none runs twice
        if not isinstance(stage, PolicyStage):
            of_chain.append(stage)
    own = tuple(of_chain)
    taken = sorted({stage.alias for stage in own if stage.alias.startswith(PREFIX)})
    if taken:
        statement = f"the alias begins with {PREFIX}, as those of the policy's stages do"
        raise ConfigError(Problem("SMT766", f"transforms.{alias}", statement, "choose another name") for alias in taken)
    # in the chain's properties, two predicates with one name would become one
    names = {stage.predicate_name for stage in stages if stage.predicate is not None}
    taken = sorted(names.intersection(stage.predicate_name for stage in own))
    if taken:
        same_name = "a predicate of the policy's stages has the same name"
        raise ConfigError(Problem("SMT766", f"predicates.{name}", same_name, "choose another name") for name in taken)
    both = replace(chain, stages=(*stages, *own))
    engine = {}
    for key, text in chain.properties.items():
        # canonical() writes the stages, and the chain's engine is not part of them
        if key == "engine":
            engine[key] = text
    return replace(both, properties={**canonical(both), **engine})
