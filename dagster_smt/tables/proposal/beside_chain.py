"""Proposes columns for records that go through a chain. If the chain changes a field that holds strings, the proposed
column is a string, even if the strings look like times or decimals.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from dagster_smt.chain import Chain
from dagster_smt.errors import SmtError
from dagster_smt.interpret.preview import Sample
from dagster_smt.tables.planning import plan_table
from dagster_smt.tables.proposal.column_proposal import Proposal, propose
from dagster_smt.tables.proposal.proposed_types import EVERYTHING
from dagster_smt.tables.topic_table import FileTopics, TopicTable

_CHANGES = ("cast", "changed", "masked", "extracted", "routed")
_WORD = re.compile(r"\w+")


def propose_beside(chain: Chain, samples: Sequence[Sample], *, with_key: bool) -> Proposal:
    """Proposes a table as ``propose`` does, for records that go through ``chain``. If the chain changes a field, the
    proposed column keeps the field's JSON type.

    For example, a field that contains times as strings stays a string if a stage parses it as a time. The same is true
    of a field in which a mask writes an empty string.

    Args:
        chain: The chain.
        samples, with_key: See ``propose``.
    """
    first = propose(samples, {EVERYTHING}, with_key=with_key)
    table = table_of(first)
    if table is None:
        return first
    try:
        plan = plan_table(chain, table)
    except SmtError:
        return first
    paths = set[str]()
    for e in plan.entries:
        if e.action in _CHANGES:
            paths.update((e.path, *e.matched))
    conditions = []
    for s in chain.stages:
        for option in s.transform.configured().values():
            conditions.append(str(option))
    words = set()
    for text in conditions:
        if "$" in text:
            words.update(_WORD.findall(text))
    return propose(samples, {*paths, *words}, with_key=with_key)


def table_of(proposal: Proposal) -> TopicTable | None:
    """Returns the topic table of ``proposal``. Returns None if the proposal has no columns, so that the columns come
    from the records.
    """
    if not proposal.columns:
        return None
    text = proposal.statement("proposal", {"topic": ";".join(proposal.topics)})
    return TopicTable.create(text, FileTopics(Path()))
