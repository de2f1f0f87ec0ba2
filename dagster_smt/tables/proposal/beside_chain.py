"""Proposes columns for records that go through a chain.

Strings may look like times or decimals, such as ``"2026-01-31"``. The field of such strings normally becomes a column
for times or decimals. If the chain changes the field, the field becomes a string column instead.
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
    """Proposes a table as ``propose`` does, for records that go through ``chain``.

    A field of strings normally becomes a time column if the strings look like times. If the chain changes the field,
    the column stays a string column, because the stage that changes the field expects strings. For example, a stage may
    parse the strings or mask them.

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
        # the option may be a JSONPath, such as $.status, so any of its words may name a field
        if "$" in text:
            words.update(_WORD.findall(text))
    return propose(samples, {*paths, *words}, with_key=with_key)


def table_of(proposal: Proposal) -> TopicTable | None:
    """Converts ``proposal`` into a topic table. Returns None if the proposal contains no columns."""
    if not proposal.columns:
        return None
    text = proposal.statement("proposal", {"topic": ";".join(proposal.topics)})
    return TopicTable.create(text, FileTopics(Path()))
