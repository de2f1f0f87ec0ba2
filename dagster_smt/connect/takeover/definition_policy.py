"""Puts the stages of a privacy policy before the chain of a definition, as the asset does in each run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dagster_smt.chain import Chain
from dagster_smt.privacy.applied_policy import apply_policy
from dagster_smt.privacy.policy import policy_of, read_policy
from dagster_smt.tables.policy_subject import subject_of, without_personal
from dagster_smt.tables.sink_options import Sink
from dagster_smt.tables.topic_table import TableSource, TopicTable


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
    applied = apply_policy(policy, subject_of(table, sink, has_letters=has_letters))
    # a table as source cannot be sampled, and has no connector that could be taken over
    if not isinstance(table.source, TableSource):
        applied = without_personal(applied, table)
    return applied.on(chain)
