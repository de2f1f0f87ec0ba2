"""Applies privacy policies to tables: a policy says what happens to fields with a tag, such as ``PII.email``. Each run
asks the schema registry for tags. Definitions load without asking the registry, so they do not know its tags.
"""

from pathlib import Path

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.paths.extended import below
from dagster_smt.orchestration.definitions.tables import SmtTable
from dagster_smt.privacy.applied_policy import AppliedPolicy, Subject, apply_policy
from dagster_smt.privacy.field_scan import new_personal, scan
from dagster_smt.privacy.policy import HOLD_BACK, Policy, policy_of, read_policy
from dagster_smt.tables.planning import declared_values
from dagster_smt.tables.samples import samples
from dagster_smt.tables.topic_table import TableSource, TopicTable
from dagster_smt.tables.window_request import WindowRequest

SAMPLE = 200
"""The number of records of each topic that a run samples for values that look personal."""


def subject_of(table: SmtTable) -> Subject:
    """Returns the facts about ``table`` that a policy needs, such as its topics, formats and declared fields."""
    topics, sink = table.table, table.sink
    return Subject(
        topics=topics.topics,
        key=topics.key,
        value=topics.value,
        declared=declared_values(topics),
        added=tuple(below("", column.name) for column in topics.row.others),
        # a table with keys whose key columns are not listed has the fields of the record's key as key columns
        writes_keys=sink.kind == "records" or (sink.keyed is not None and not sink.keyed.keys),
        has_letters=bool(table.dead_letter_topic or table.dead_letters),
    )


def definition_policy(table: SmtTable) -> AppliedPolicy | None:
    """Applies the policy of ``table`` to its fields, and returns the result; None if the table has no policy. Tags from
    a schema registry are missing in the result, because definitions load without asking the registry.

    Raises:
        ConfigError: The policy, or a source of its tags, is wrong; SMT767, the policy does not fit the table.
    """
    if table.policy is None:
        return None
    policy = table.policy
    if isinstance(policy, Path):
        policy = read_policy(policy)
    elif not isinstance(policy, Policy):
        policy = policy_of(policy)
    if policy.looks_personal == HOLD_BACK and isinstance(table.table.source, TableSource):
        hint = "leave looks_personal out, or use untagged: hold back"
        raise ConfigError(Problem("SMT767", policy.name, "values of a table source cannot be sampled", hint))
    return apply_policy(policy, subject_of(table), asks_registry=False)


def run_policy(applied: AppliedPolicy, table: SmtTable) -> AppliedPolicy:
    """Returns the policy for a run of ``table``: ``applied``, updated with the current tags from the schema registry.

    With ``looks_personal: hold back``, the policy also drops untagged fields whose values look personal. To detect
    these fields, the function reads a sample of records from each topic.

    Raises:
        ConfigError: See ``definition_policy``.
        DataError, EngineError: The schema registry has no subject for a topic, or does not respond. Nothing was read.
    """
    policy = applied.policy
    if any(source.kind == "registry" for source in policy.sources):
        applied = apply_policy(policy, applied.subject)
    # with ``untagged: hold back``, all untagged fields are dropped anyway, so no sample is needed
    if policy.looks_personal != HOLD_BACK or policy.untagged == HOLD_BACK:
        return applied
    personal: dict[str, tuple[str, ...]] = {}
    source = table.table.source
    # definition_policy has already rejected a table as source (SMT767)
    assert not isinstance(source, TableSource)
    for topic in _topics(table.table):
        fields = scan(samples(source, topic, SAMPLE), table.table.key, table.table.value)
        personal |= new_personal(fields, applied.decisions)
    return applied.without(personal)


def _topics(table: TopicTable) -> tuple[str, ...]:
    """Returns the topics of ``table`` that a run samples."""
    from dagster_smt.tables.sources import open_source
    from dagster_smt.tables.windows import choose_topics

    return tuple(choose_topics(table, WindowRequest(), open_source(table.source).topics()))
