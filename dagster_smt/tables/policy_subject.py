"""Gives a privacy policy the facts about a table: its topics, formats, declared fields, and fields whose values look
personal. The asset uses this module in each run, and ``dagster-smt take-over`` uses it to compare with a connector.
"""

from dagster_smt.model.paths.extended import below
from dagster_smt.privacy.applied_policy import AppliedPolicy, Subject
from dagster_smt.privacy.field_scan import new_personal, scan
from dagster_smt.privacy.policy import HOLD_BACK
from dagster_smt.tables.planning import declared_values
from dagster_smt.tables.samples import samples
from dagster_smt.tables.sink_options import Sink
from dagster_smt.tables.topic_table import TableSource, TopicTable
from dagster_smt.tables.window_request import WindowRequest

SAMPLE = 200
"""The number of records of each topic that are sampled for values that look personal."""


def subject_of(table: TopicTable, sink: Sink, *, has_letters: bool) -> Subject:
    """Returns the facts about a table that a policy needs.

    Args:
        table: The topics that the asset reads.
        sink: The table that the asset writes.
        has_letters: True if failed records become dead letters.
    """
    return Subject(
        topics=table.topics,
        key=table.key,
        value=table.value,
        declared=declared_values(table),
        added=tuple(below("", column.name) for column in table.row.others),
        # a table with keys whose key columns are not listed has the fields of the record's key as key columns
        writes_keys=sink.kind == "records" or (sink.keyed is not None and not sink.keyed.keys),
        has_letters=has_letters,
    )


def without_personal(applied: AppliedPolicy, table: TopicTable) -> AppliedPolicy:
    """Returns ``applied``; with ``looks_personal: hold back``, the result also drops untagged fields whose values look
    personal. To detect these fields, the function reads a sample of records from each topic.

    Args:
        applied: The policy, applied to ``table``.
        table: The topics. Their source is not a table, because the values of a table cannot be sampled (SMT767).
    """
    policy = applied.policy
    # with ``untagged: hold back``, all untagged fields are dropped anyway, so no sample is needed
    if policy.looks_personal != HOLD_BACK or policy.untagged == HOLD_BACK:
        return applied
    source = table.source
    assert not isinstance(source, TableSource)
    personal: dict[str, tuple[str, ...]] = {}
    for topic in _topics(table):
        fields = scan(samples(source, topic, SAMPLE), table.key, table.value)
        personal |= new_personal(fields, applied.decisions)
    return applied.without(personal)


def _topics(table: TopicTable) -> tuple[str, ...]:
    """Returns the topics of ``table`` that a run samples."""
    from dagster_smt.tables.sources import open_source
    from dagster_smt.tables.windows import choose_topics

    return tuple(choose_topics(table, WindowRequest(), open_source(table.source).topics()))
