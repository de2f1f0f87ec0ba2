"""Applies privacy policies to tables: a policy says what happens to fields with a tag, such as ``PII.email``. Each run
asks the schema registry for tags. Definitions load without asking the registry, so they do not know its tags.
"""

from pathlib import Path

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.orchestration.definitions.tables import SmtTable
from dagster_smt.privacy.applied_policy import AppliedPolicy, apply_policy
from dagster_smt.privacy.policy import HOLD_BACK, Policy, policy_of, read_policy
from dagster_smt.tables.policy_subject import subject_of, without_personal
from dagster_smt.tables.topic_table import TableSource


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
    has_letters = bool(table.dead_letter_topic or table.dead_letters)
    subject = subject_of(table.table, table.sink, has_letters=has_letters)
    return apply_policy(policy, subject, asks_registry=False)


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
    # definition_policy has already rejected a table as source (SMT767)
    return without_personal(applied, table.table)
