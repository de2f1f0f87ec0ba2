"""Applies a policy to one table. The policy reads the tags of each field, decides on an action such as ``mask``, and
builds the stages that perform the actions.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dagster_smt.authoring.stage import Chain
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.formats.fixed_schema import descriptor_files
from dagster_smt.model.schema import Schema
from dagster_smt.model.topics.format import DESCRIBED, REGISTERED, Format
from dagster_smt.privacy.field_paths import Steps, covers, name_pattern, path_steps, schema_paths, text_of
from dagster_smt.privacy.policy import DROP, HOLD_BACK, KEEP, NO_TAG, Decision, Policy, TagSource
from dagster_smt.privacy.policy_stages import PolicyStage, TopicDecisions, stages_of, under_policy
from dagster_smt.privacy.registry_tags import registry_tags
from dagster_smt.privacy.schema_tags import SchemaField, avro_fields, protobuf_fields
from dagster_smt.privacy.tags import Part, TaggedField, TopicTags, read_contract, read_tags, value_field

MOST_GROUPS = 100
"""The largest number of groups of topics in one table. A group has its own decisions, and adds several stages to the
chain.
"""


@dataclass(frozen=True)
class Subject:
    """The properties of a topic table that determine how a policy acts on it.

    Attributes:
        topics: The names of the topics; empty if a topic pattern chooses them.
        key, value: The formats of keys and values.
        declared: The declared schema of the values that enter the chain; None if no schema is declared, for example
            because the records carry their own schemas.
        added: The columns that the topic table adds to the value, such as the record's offset. They need no tag.
        writes_keys: True if the sink contains the key of each record.
        has_letters: True if failed records become dead letters.
    """

    topics: tuple[str, ...]
    key: Format
    value: Format
    declared: Schema | None = None
    added: tuple[str, ...] = ()
    writes_keys: bool = False
    has_letters: bool = False


@dataclass(frozen=True)
class AppliedPolicy:
    """A policy that has been applied to one table.

    Attributes:
        policy: The policy.
        subject: The table.
        groups: The decisions about the fields, for each group of topics. Topics with equal tags form a group. If a
            topic pattern chooses the topics, each topic entry in the sources of tags forms a group.
        stages: The stages that carry out the decisions.
    """

    policy: Policy
    subject: Subject
    groups: tuple[TopicDecisions, ...]
    stages: tuple[PolicyStage, ...]

    def on(self, chain: Chain) -> Chain:
        """Returns ``chain`` with the stages of the policy at its beginning."""
        return under_policy(chain, self.stages)

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The decisions about the fields of all topics."""
        return tuple(decision for group in self.groups for decision in group.decisions)

    def without(self, personal: Mapping[str, Sequence[str]]) -> "AppliedPolicy":
        """Returns a copy of the policy that also drops the fields in ``personal``, because their sampled values look
        personal.

        Args:
            personal: Maps the path of a field to the kinds of its sampled values, such as ``{"note": ["e-mail"]}``.
        """
        groups = []
        for group in self.groups:
            more = []
            for path, kinds in personal.items():
                reason = f"no tag, and sampled values look like {' and '.join(kinds)}"
                more.append(Decision(group.topics, "value", path, (), HOLD_BACK, reason))
            listed = []
            for d in group.decisions:
                if d.part != "value" or d.path not in personal:
                    listed.append(d)
            groups.append(replace(group, decisions=(*listed, *more)))
        return replace(self, groups=tuple(groups), stages=stages_of(self.policy, groups))


def apply_policy(policy: Policy, subject: Subject, *, asks_registry: bool = True) -> AppliedPolicy:
    """Applies ``policy`` to the table ``subject``, and returns the decisions and the stages.

    Args:
        policy: The policy.
        subject: The table.
        asks_registry: False to skip sources that need a schema registry, for example while definitions load.

    Raises:
        ConfigError: SMT765 if an action cannot act on a field; SMT767 if a source of tags does not fit the table;
            SMT768 in three cases: the table has dead letters, but the policy rejects them; the policy would hold back
            all fields of a topic; the sink contains keys, but the policy has no decision about them.
        DataError, EngineError: A registry has no subject for a topic, or does not respond.
    """
    _check_letters(policy, subject)
    tags: list[TopicTags] = []
    for source in policy.sources:
        if source.kind != "registry" or asks_registry:
            tags.extend(_tags_of(source, subject))
    # decisions are incomplete without the registry's tags, so their absence is not an error yet: the run checks them
    waits = not asks_registry and any(source.kind == "registry" for source in policy.sources)
    groups = tuple(_groups(policy, subject, tags))
    if not waits:
        _check_decided(policy, subject, groups)
    return AppliedPolicy(policy, subject, groups, stages_of(policy, groups))


def _check_letters(policy: Policy, subject: Subject) -> None:
    if subject.has_letters and policy.dead_letters != KEEP:
        hint = "leave dead letters out, or write dead_letters: keep into the policy and guard their place"
        statement = "dead letters hold original records, which the policy does not act on"
        raise ConfigError(Problem("SMT768", f"{policy.name} dead_letters", statement, hint))


def _tags_of(source: TagSource, subject: Subject) -> Iterable[TopicTags]:
    if source.kind == "file":
        assert source.path is not None
        return read_tags(source.path)
    if source.kind == "contract":
        assert source.path is not None
        return read_contract(source.path)
    if not subject.topics:
        hint = "name the topics of the table, or write tags into a file of paths"
        statement = f"tags of a {source.kind} need the names of the topics, and a pattern chooses these"
        raise ConfigError(Problem("SMT767", "policy tags", statement, hint))
    if source.kind == "schema":
        return _of_schema(subject)
    return registry_tags(source, subject.topics, {"key": subject.key, "value": subject.value})


def _of_schema(subject: Subject) -> Iterator[TopicTags]:
    """Yields the tags in the declared schemas of ``subject`` (the schemas in the table's definition). Each topic gets
    the same tags.
    """
    fields: list[TaggedField] = []
    parts: tuple[tuple[Part, Format], ...] = (("value", subject.value), ("key", subject.key))
    for part, form in parts:
        listed = _declared(form)
        for one in listed:
            if one.tags or one.is_leaf:
                fields.append(replace(value_field(one.steps, one.tags, "the schema"), part=part))
    if not fields:
        hint = "remove the source, or declare an Avro or Protobuf schema"
        raise ConfigError(Problem("SMT767", "policy tags", "the table declares no schema with tags", hint))
    for topic in subject.topics:
        yield TopicTags(name_pattern(topic), tuple(fields), "the schema")


def _declared(form: Format) -> list[SchemaField]:
    settings = form.settings
    if form.kind == "avro" and "schema" in settings:
        return avro_fields(settings["schema"], (), "avro.schema")
    if form.kind == "protobuf" and "descriptor" in settings:
        return protobuf_fields(
            descriptor_files(settings["descriptor"]), settings["message-name"], "protobuf.descriptor"
        )
    if form.kind in (*DESCRIBED, *REGISTERED):
        return []
    fields = []
    for steps in schema_paths(form.known_schema):
        fields.append(SchemaField(steps, text_of(steps), (), True))
    return fields


def _groups(policy: Policy, subject: Subject, tags: Sequence[TopicTags]) -> Iterator[TopicDecisions]:
    if subject.topics:
        yield from _of_names(policy, subject, tags)
        return
    # several sources may have an entry for the same pattern; the fields of these entries are joined into one group
    patterns = list(dict.fromkeys(one.pattern for one in tags))
    if len(patterns) > MOST_GROUPS:
        hint = "name the topics of the table, or join entries with one regular expression"
        statement = f"the sources of tags have more than {MOST_GROUPS} entries for topics"
        raise ConfigError(Problem("SMT767", "policy tags", statement, hint))
    before: list[str] = []
    for pattern in patterns:
        fields: list[TaggedField] = []
        for one in tags:
            if one.pattern == pattern:
                fields.extend(one.fields)
        # if several entries match a topic, only the first entry applies, so that no field is changed twice
        own = f"{_none_of(before)}(?:{pattern})"
        yield _group(policy, subject, own, fields)
        before.append(pattern)
    others = f"{_none_of(before)}.*"
    # a pattern may choose topics that no source of tags lists, such as one that is created tomorrow
    yield TopicDecisions(others, (), subject.added, decided=False, drops_records=subject.writes_keys)


def _none_of(patterns: Sequence[str]) -> str:
    """Returns a prefix for a regular expression. With the prefix, the expression no longer matches a topic name that
    one of ``patterns`` matches as a whole. For the pattern ``a.*``, the prefix is ``(?!(?:(?:a.*))$)``.
    """
    if not patterns:
        return ""
    return f"(?!(?:{'|'.join(f'(?:{pattern})' for pattern in patterns)})$)"


def _of_names(policy: Policy, subject: Subject, tags: Sequence[TopicTags]) -> Iterator[TopicDecisions]:
    """Yields the decisions of ``policy`` about the topics that ``subject`` names. Topics whose fields have equal tags
    get the decisions together, as one group.
    """
    alike: dict[tuple[TaggedField, ...], list[str]] = {}
    for topic in subject.topics:
        fields: list[TaggedField] = []
        for one in tags:
            if one.matches(topic):
                fields.extend(one.fields)
        alike.setdefault(tuple(dict.fromkeys(fields)), []).append(topic)
    if len(alike) > MOST_GROUPS:
        statement = f"the topics have more than {MOST_GROUPS} different sets of tags"
        raise ConfigError(Problem("SMT767", "policy tags", statement, "make several tables of them"))
    for listed, topics in alike.items():
        # with a single group the stages need no predicate on the topic
        pattern = "" if len(alike) == 1 else "|".join(map(name_pattern, topics))
        yield _group(policy, subject, pattern, listed)


def _group(policy: Policy, subject: Subject, topics: str, fields: Sequence[TaggedField]) -> TopicDecisions:
    decisions = policy.decide(topics, [*fields, *_of_columns(subject, fields)])
    # the columns that the topic table adds are not in any tags file, and would be held back
    added = subject.added if policy.untagged == HOLD_BACK else ()
    return TopicDecisions(topics, tuple(_uncovered(decisions, subject.declared)), added, decided=bool(fields))


def _of_columns(subject: Subject, fields: Sequence[TaggedField]) -> Iterator[TaggedField]:
    """Yields the declared fields of the value that no source of tags lists, as fields without tags. Reports can then
    show these fields, too. If a source lists a struct, the fields inside the struct are not yielded either.

    Args:
        subject: The table, with its declared fields.
        fields: The fields that the sources of tags list.
    """
    paths = []
    for field in fields:
        if field.part == "value":
            paths.append(field.steps)
    for steps in schema_paths(subject.declared):
        if not any(covers(path, steps, subject.declared) for path in paths):
            yield value_field(steps, (), "the declared columns")


def _uncovered(decisions: Sequence[Decision], declared: Schema | None) -> Iterator[Decision]:
    """Yields ``decisions`` without the superfluous ones. If there is a decision about ``address``, no decision about
    its untagged field ``address.city`` is needed. ``declared`` is the declared schema of values, if any.
    """
    decided = []
    for d in decisions:
        # the path of a header is a plain name, and an empty path is the whole key: neither can be read as a path
        if d.reason != NO_TAG and d.part != "headers" and d.path:
            decided.append(d)
    steps = {}
    for d in decisions:
        if d.part != "headers" and d.path:
            steps[d.path] = path_steps(d.path, "")
    for one in decisions:
        covered = False
        if one.reason == NO_TAG and one.part != "headers" and one.path:
            schema = declared if one.part == "value" else None
            for other in decided:
                covered |= other.part == one.part and covers(steps[other.path], steps[one.path], schema)
        if not covered:
            yield one


def _check_decided(policy: Policy, subject: Subject, groups: Sequence[TopicDecisions]) -> None:
    """With ``untagged: hold back``, raises an error in two cases: ``policy`` would hold back all fields of a topic, or
    it has no decision about the keys, although the sink contains the keys.

    Raises:
        ConfigError: SMT768.
    """
    if policy.untagged != HOLD_BACK:
        return
    problems = []
    for group in groups:
        names = group.topics or ", ".join(subject.topics)
        if subject.topics and not any(d.part == "value" and d.action != HOLD_BACK for d in group.decisions):
            hint = "propose tags: dagster-smt scan PLACE --topic TOPIC --write tags.yaml"
            statement = "no source of tags lists a field, so all would be held back"
            problems.append(Problem("SMT768", names, statement, hint))
        elif subject.writes_keys and group.decided and not any(d.part == "key" for d in group.decisions):
            hint = "write into the file of paths: key: [] to keep keys, or the tags of their fields"
            problems.append(
                Problem("SMT768", names, "the sink holds keys, and the policy has no decision about them", hint)
            )
    if problems:
        raise ConfigError(problems)


def undecided(
    stages: Iterable[PolicyStage], topic: str, part: Part, paths: Iterable[Steps], schema: Schema | None = None
) -> list[str]:
    """Returns the fields in ``paths`` that the stages of a policy hold back: they drop these fields because the policy
    has no decision about them.

    Args:
        stages: The stages.
        topic: The topic of the records.
        part: ``value`` or ``key``.
        paths: The paths of the fields, as steps.
        schema: The schema of the keys or values, if it is known.
    """
    own = []
    for stage in stages:
        if stage.part == part and stage.acts_on_topic(topic):
            own.append(stage)
    dropped = []
    for stage in own:
        if stage.action == DROP:
            for path in stage.paths:
                dropped.append(path_steps(path, ""))
    held: dict[str, None] = {}
    for stage in own:
        if not stage.holds_back:
            continue
        # a field that the policy drops has a decision, so it is not reported as undecided
        stay = [*dropped, *(path_steps(path, "") for path in stage.paths)]
        for steps in paths:
            if not any(covers(path, steps, schema) for path in stay):
                held[text_of(steps)] = None
    return list(held)


def undecided_headers(stages: Iterable[PolicyStage], topic: str, names: Iterable[str]) -> list[str]:
    """Returns the headers in ``names`` that the stages of a policy hold back: they drop these headers because the
    policy has no decision about them.

    Args:
        stages: The stages.
        topic: The topic of the records.
        names: The names of the headers.
    """
    own = []
    for stage in stages:
        if stage.part == "headers" and stage.acts_on_topic(topic):
            own.append(stage)
    if not any(stage.holds_back for stage in own):
        return []
    decided = set[str]()
    for stage in own:
        decided.update(stage.paths)
    undecided_names = []
    for name in dict.fromkeys(names):
        if name not in decided:
            undecided_names.append(name)
    return undecided_names
