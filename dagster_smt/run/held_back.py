"""Finds the fields that a policy held back in a run: the policy removed them, because it has no decision about them.
The search happens after the commit.
"""

from dagster_smt.chain import Chain, Plan
from dagster_smt.model.reports.run_report import HeldBack, RunReport
from dagster_smt.model.schema import Schema
from dagster_smt.model.windows.window import Window
from dagster_smt.privacy.applied_policy import undecided
from dagster_smt.privacy.field_paths import schema_paths
from dagster_smt.privacy.field_scan import fields_only
from dagster_smt.privacy.policy_stages import HELD, PolicyStage
from dagster_smt.privacy.tags import Part
from dagster_smt.tables.sources import Source
from dagster_smt.transforms.kafka.filter import Filter


def held_back(
    chain: Chain, plan: Plan, report: RunReport | None, window: Window, sample: Window, source: Source
) -> list[HeldBack]:
    """Returns the fields and headers that the policy of a run removed, because it has no decision about them.

    If a key or value has a schema, the schema shows these fields. For headers, and for keys and values without a
    schema, the counts in the report show only that the policy removed something. The function then reads a sample of
    the window to find the names.

    Args:
        chain: The chain of the run.
        plan: The plan of the chain.
        report: The report of the run; None if the table has no report.
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
            fields += _in_schema(stages, window.topics, "key" if part == "key" else "value", schema)
    parts = _unnamed_parts(stages, report)
    if schemas["value"] is not None:
        parts &= {"headers"}  # the fields of keys and values are known from the schema
    if parts:
        from dagster_smt.spark.field_names import held_back_in

        for row in held_back_in(source.read(sample), stages):
            field = HeldBack(*row)
            if field.part in parts:
                fields.append(field)
        # the counts show that the policy has removed something, but no record of the sample has it
        fields = fields or [HeldBack("", min(parts), "", 0)]
    return list(dict.fromkeys(fields))


def _listed(stages: tuple[PolicyStage, ...], topics: tuple[str, ...]) -> list[HeldBack]:
    """Returns the fields that ``stages`` hold back by name. The policy has chosen these fields because of their tags,
    or because their sampled values look personal.
    """
    fields = []
    for stage in stages:
        if stage.alias.startswith(HELD):
            for topic in topics:
                if stage.acts_on_topic(topic):
                    fields += [HeldBack(topic, stage.side, path, 0) for path in stage.paths]
    return fields


def _in_schema(stages: tuple[PolicyStage, ...], topics: tuple[str, ...], part: Part, schema: Schema) -> list[HeldBack]:
    # a producer may have converted the keys of a map into fields
    paths = list(map(fields_only, schema_paths(schema)))
    fields = []
    for topic in topics:
        for path in undecided(stages, topic, part, paths, schema):
            fields.append(HeldBack(topic, part, path, 0))
    return fields


def _unnamed_parts(stages: tuple[PolicyStage, ...], report: RunReport | None) -> set[Part]:
    """Returns the parts of records (key, value, headers) from which ``stages`` of the policy have removed something,
    according to the counts in ``report``. The result does not say which fields were removed. If a stage dropped whole
    records of a topic, the result contains key and value.
    """
    if report is None:
        return set()
    parts: set[Part] = set()
    by_alias = {stage.alias: stage for stage in stages}
    for line in report.ledger:
        stage = by_alias.get(line.entry.alias)
        if line.records and stage is not None and stage.holds_back:
            parts |= {"headers"} if stage.part == "headers" else {"value", "key"}
    filters = {stage.alias for stage in stages if isinstance(stage.transform, Filter)}
    if any(counts.dropped and counts.alias in filters for counts in report.stages):
        parts |= {"value", "key"}
    return parts
