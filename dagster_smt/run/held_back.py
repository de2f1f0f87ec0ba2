"""The fields that a policy held back in a run, determined after the commit."""

from typing import TYPE_CHECKING

from dagster_smt.chain import Chain
from dagster_smt.model.reports.run_report import HeldBack, RunReport
from dagster_smt.model.windows.window import Window
from dagster_smt.privacy.applied import undecided
from dagster_smt.privacy.field_paths import Steps, schema_paths
from dagster_smt.privacy.stages import HELD, PolicyStage
from dagster_smt.privacy.tags import Part, topic_matches
from dagster_smt.tables.sources import Source

if TYPE_CHECKING:
    from dagster_smt.chain import Plan


def held_back(
    chain: Chain, plan: "Plan", report: RunReport | None, window: Window, sample: Window, source: Source
) -> list[HeldBack]:
    """Returns the fields that the policy of a run held back.

    With a schema, the fields follow from the schema. Without a schema, the counts of the run show whether a stage
    dropped any field. In that case the function reads a sample of the window to find the names.

    Args:
        chain: The chain of the run.
        plan: Its plan.
        report: The report of the run; None if the table has none.
        window: The window of the run.
        sample: The part of the window to read again for names.
        source: The source of the topics.
    """
    stages = tuple(stage for stage in chain.stages if isinstance(stage, PolicyStage))
    if not stages or not window.ranges:
        return []
    fields = _listed(stages, window.topics)
    schemas = {"value": plan.value, "key": plan.key}
    if not plan.typed and report is not None:
        schemas = {"value": report.before, "key": None}
    for part, schema in schemas.items():
        if schema is not None:
            fields += _in_schema(stages, window.topics, "key" if part == "key" else "value", list(schema_paths(schema)))
    if schemas["value"] is None and _touched(stages, report):
        from dagster_smt.spark.field_names import held_back_in

        fields += [HeldBack(*row) for row in held_back_in(source.read(sample), stages)]
        fields = fields or [HeldBack("", "value", "", 0)]
    return list(dict.fromkeys(fields))


def _listed(stages: tuple[PolicyStage, ...], topics: tuple[str, ...]) -> list[HeldBack]:
    """Returns the fields that a stage names: their tags say so, or their sampled values look personal."""
    fields = []
    for stage in stages:
        if stage.alias.startswith(HELD):
            for topic in topics:
                if not stage.topics or topic_matches(stage.topics, topic):
                    fields += [HeldBack(topic, stage.side, path, 0) for path in stage.paths]
    return fields


def _in_schema(
    stages: tuple[PolicyStage, ...], topics: tuple[str, ...], part: Part, paths: list[Steps]
) -> list[HeldBack]:
    return [HeldBack(topic, part, path, 0) for topic in topics for path in undecided(stages, topic, part, paths)]


def _touched(stages: tuple[PolicyStage, ...], report: RunReport | None) -> bool:
    """Returns True if a stage that holds fields back dropped anything in a run, or one dropped records of a topic."""
    if report is None:
        return False
    aliases = {stage.alias for stage in stages if stage.holds_back}
    if any(line.records and line.entry.alias in aliases for line in report.ledger):
        return True
    filters = {stage.alias for stage in stages if not stage.paths and not stage.holds_back}
    return any(counts.dropped and counts.alias in filters for counts in report.stages)
