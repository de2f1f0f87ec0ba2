"""Puts the stages of a privacy policy before the chain of a definition, as the asset does in each run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dagster_smt.chain import Chain
from dagster_smt.model.paths.extended import below
from dagster_smt.privacy.applied_policy import Subject, apply_policy
from dagster_smt.privacy.field_scan import new_personal, scan
from dagster_smt.privacy.policy import HOLD_BACK, policy_of, read_policy
from dagster_smt.tables.planning import declared_values
from dagster_smt.tables.samples import samples
from dagster_smt.tables.sink_options import Sink
from dagster_smt.tables.sources import open_source
from dagster_smt.tables.topic_table import TableSource, TopicTable
from dagster_smt.tables.window_request import WindowRequest
from dagster_smt.tables.windows import choose_topics

_SAMPLE = 200
"""The number of records of each topic that are sampled for values that look personal, as in a run of the asset."""


def under_policy_of(
    data: str | Mapping[str, Any], folder: Path, chain: Chain, table: TopicTable, sink: Sink, *, has_letters: bool
) -> Chain:
    """Returns ``chain`` with the stages of a policy at its beginning. If the policy needs a schema registry or sampled
    values, they are read now.

    Args:
        data: The policy: its contents, or the name of its file in ``folder``.
        folder: The folder of ``defs.yaml``.
        chain: The chain of the definition.
        table: The topics that the asset reads.
        sink: The table that the asset writes.
        has_letters: True if failed records become dead letters.

    Raises:
        ConfigError: The policy is wrong; SMT767 and SMT768, it does not fit the table.
        DataError, EngineError: The schema registry has no subject for a topic, or does not respond.
    """
    policy = read_policy(folder / data) if isinstance(data, str) else policy_of(data, folder)
    subject = Subject(
        topics=table.topics,
        key=table.key,
        value=table.value,
        declared=declared_values(table),
        added=tuple(below("", column.name) for column in table.row.others),
        writes_keys=sink.kind == "records" or (sink.keyed is not None and not sink.keyed.keys),
        has_letters=has_letters,
    )
    applied = apply_policy(policy, subject)
    source = table.source
    # a table as source cannot be sampled, and has no connector that could be taken over
    if policy.looks_personal == HOLD_BACK and policy.untagged != HOLD_BACK and not isinstance(source, TableSource):
        personal: dict[str, tuple[str, ...]] = {}
        for topic in choose_topics(table, WindowRequest(), open_source(source).topics()):
            fields = scan(samples(source, topic, _SAMPLE), table.key, table.value)
            personal |= new_personal(fields, applied.decisions)
        applied = applied.without(personal)
    return applied.on(chain)
