"""Selects the checks that apply to a table, and creates the specs and results of these checks in Dagster."""

from collections.abc import Iterator, Sequence

import dagster as dg

from dagster_smt.chain import Chain
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.schema import Schema
from dagster_smt.model.topics.columns import Row
from dagster_smt.orchestration.checks import CHECKS, Evidence, SmtChecks, judged
from dagster_smt.privacy.policy_stages import PolicyStage
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.sink_options import Sink, TableSink
from dagster_smt.visible import visible


def checks_of(checks: SmtChecks, chain: Chain, sink: Sink, row: Row | None = None) -> list[str]:
    """Returns the names of the checks that apply to a table with this chain and sink.

    Args:
        checks: The settings of the checks, as the user has declared them.
        chain: The chain.
        sink: The sink.
        row: The columns of the topic table.
    """
    optional = {
        "lag": checks.max_lag is not None,
        "contract": checks.contract is not None,
        "key_matches_value": row is not None and row.verify_integrity == "check",
        "small_files": checks.max_small_files is not None,
        "same_as_connect": checks.same_as_connect is not None,
    }
    names = []
    for name in CHECKS:
        if name not in checks.off and optional.get(name, True) and _applies(name, chain, sink):
            names.append(name)
    return names


def contract_of(checks: SmtChecks, sink: Sink, name: str) -> Schema | None:
    """Returns the contract in ``checks`` (the columns that readers of the table rely on) as a schema. Returns None if
    the table has no contract.

    Raises:
        ConfigError: SMT044, the table has only Kafka's columns, which need no contract.
    """
    if checks.contract is not None and sink.kind != "columns":
        hint = "write columns, or leave the contract out"
        raise ConfigError(Problem("SMT044", f"{name} checks.contract", "records have only Kafka's columns", hint))
    if checks.contract is not None:
        return parse_ddl(checks.contract, place=f"{name} checks.contract")
    return None


CHECKS_OF_DESTINATIONS = ("rows_match_offsets", "keys_unique", "schema_matches_plan")
"""The names of the checks that a table gets if the option ``destinations`` makes it a separate asset. Such a table is
one of many tables that the same run writes.
"""
_NOT_FOR_MANY_TABLES = ("keys_unique", "schema_matches_plan", "small_files", "contract")
"""The checks that an asset does not have if its sink writes a table for each topic, such as ``lake/{topic}``. These
checks apply to a single table.
"""


def _applies(name: str, chain: Chain, sink: Sink) -> bool:
    """Returns True if the check ``name`` applies to a table with the chain ``chain`` and the sink ``sink``.

    A check that this function does not mention applies to all tables.
    """
    is_many = isinstance(sink, TableSink) and sink.per_topic
    if name == "tables_written":
        return is_many
    if name == "held_back":
        return any(isinstance(stage, PolicyStage) for stage in chain.stages)
    if is_many and name in _NOT_FOR_MANY_TABLES:
        return False
    if name == "schema_matches_plan":
        # a table of records has Kafka's columns, whatever the chain does
        return isinstance(sink, TableSink) and sink.kind == "columns"
    if name == "keys_unique":
        return sink.keyed is not None
    if name == "small_files":
        return isinstance(sink, TableSink)
    if name == "masked_values":
        for s in chain.stages:
            for e in s.transform.ledger():
                if e.action == "masked":
                    return True
        return False
    if name == "dead_mask":
        return chain.hides or any(e.relied_on for s in chain.stages for e in s.transform.ledger())
    return True


def check_specs(key: dg.AssetKey, names: Sequence[str], checks: SmtChecks) -> list[dg.AssetCheckSpec]:
    """Returns the spec of each check in ``names``, for the asset ``key``."""
    specs = []
    for name in names:
        specs.append(
            dg.AssetCheckSpec(
                name,
                asset=key,
                description=(CHECKS[name].__doc__ or "").split("\n")[0],
                blocking=name in checks.blocking,
            )
        )
    return specs


def check_results(
    key: dg.AssetKey, names: Sequence[str], checks: SmtChecks, evidence: Evidence
) -> Iterator[dg.AssetCheckResult]:
    """Yields the result of each check in ``names``, judged from ``evidence``."""
    for name in names:
        judgement = judged(name, evidence)
        severity = checks.severity.get(name, judgement.severity)
        yield dg.AssetCheckResult(
            passed=judgement.passed,
            asset_key=key,
            check_name=name,
            severity=dg.AssetCheckSeverity[severity],
            description=visible(judgement.statement),
            metadata=dict(judgement.metadata),
        )
