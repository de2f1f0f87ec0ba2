"""Implements ``SmtTopicCollectionComponent``. The component turns every topic of a cluster or folder into an asset with
the columns of its records.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import dagster as dg
from dagster.components import DefsStateConfig, DefsStateConfigArgs, ResolvedDefsStateConfig

from dagster_smt.errors import SmtError
from dagster_smt.model.schema import Schema
from dagster_smt.model.schema_json import schema_from_json, schema_to_json
from dagster_smt.model.topics.format import Format
from dagster_smt.orchestration.components.table_models import ResolvedFormat, ResolvedTopics
from dagster_smt.orchestration.definitions.op_names import op_name
from dagster_smt.orchestration.definitions.topic_assets import build_topic_assets
from dagster_smt.orchestration.launch.code_versions import digest
from dagster_smt.tables.topic_table import TopicTable
from dagster_smt.tables.windows import matching
from dagster_smt.visible import visible


@dataclass
class SmtTopicCollectionComponent(dg.StateBackedComponent, dg.Resolvable):
    """All topics of a cluster or folder that match a pattern: observable assets with the columns of their records.

    A refresh of the state reads the topics and the last records of each topic. The state is refreshed by
    ``dg utils refresh-defs-state``, and each time that ``dg dev`` loads the component. Loading the definitions reads
    only the state, which contains names and types but no values.
    """

    source: ResolvedTopics
    pattern: Annotated[
        str, dg.Resolver.default(description="A regular expression that whole names match.", examples=["orders\\..*"])
    ] = ".*"
    exclude: Annotated[
        str, dg.Resolver.default(description="A regular expression for topics to leave out although they match.")
    ] = ""
    value: ResolvedFormat = field(default_factory=Format)
    sample: Annotated[
        int, dg.Resolver.default(description="The number of last records that determine the columns of a topic.")
    ] = 100
    max_topics: Annotated[int, dg.Resolver.default(description="Limit of the assets.")] = 1_000
    group_name: Annotated[str | None, dg.Resolver.default(description="The group of the topics' assets.")] = None
    defs_state: ResolvedDefsStateConfig = field(default_factory=DefsStateConfigArgs.local_filesystem)

    @property
    def defs_state_config(self) -> DefsStateConfig:
        """The settings of the component's state, as ``dg.StateBackedComponent`` describes."""
        settings = [self.source.place, self.pattern, self.exclude, repr(self.value), self.sample, self.max_topics]
        # after a change of the settings, the key is new, so Dagster does not load the state of the former settings
        key = f"SmtTopicCollectionComponent[{digest(settings)}]"
        return DefsStateConfig.from_args(self.defs_state, default_key=key)

    def write_state_to_path(self, state_path: Path) -> None:
        """Derives the columns of each topic from its last records, and writes topics and columns to ``state_path``."""
        from dagster_smt.tables.sources import open_source  # may load a Kafka client

        listed = matching(self.pattern, open_source(self.source).topics())
        topics = sorted(set(listed) - set(matching(self.exclude, listed)))[: self.max_topics]
        state = [{"topic": topic, "schema": self._schema(topic)} for topic in topics]
        state_path.parent.mkdir(parents=True, exist_ok=True)
        state_path.write_text(json.dumps(state), encoding="utf-8")

    def _schema(self, topic: str) -> dict[str, Any] | None:
        """Returns the columns of ``topic`` as JSON; None if the records of the topic cannot be read.

        Because the result is None instead of an error, the component can still list the other topics.
        """
        try:
            schema = self._topic_schema(topic)
            if schema is not None:
                # the default of a field is a value, and the state must not contain values
                data = schema_to_json(schema.without_defaults())
            else:
                data = None
            if data is not None:
                # raises an error for names that no schema can have, as loading the state would do later
                schema_from_json(data)
        # json.loads raises ValueError for broken JSON, and RecursionError for a value such as 100,000 brackets
        except (SmtError, ValueError, RecursionError) as error:
            if isinstance(error, SmtError):
                reason = str(error.problems[0].code)
            else:
                reason = type(error).__name__
            dg.get_dagster_logger("dagster_smt").warning(
                visible(f"the columns of {topic} cannot be derived from its records: {reason}")
            )
            return None
        return data

    def _topic_schema(self, topic: str) -> Schema | None:
        from dagster_smt.interpret.arrays import rows_of
        from dagster_smt.interpret.infer import inferred_schema
        from dagster_smt.tables.samples import samples

        if self.value.known_schema is not None or self.value.kind not in ("json", "envelope"):
            return self.value.known_schema
        values = [s.value for s in samples(self.source, topic, self.sample)]
        if self.value.arrays_as_rows:
            values = [row for value in values for row in rows_of(value)]
        if self.value.kind == "json":
            return inferred_schema(values)
        return _enveloped(values)

    def build_defs_from_state(self, context: dg.ComponentLoadContext, state_path: Path | None) -> dg.Definitions:
        """Returns the assets of the topics in the state at ``state_path``. Before the first refresh of the state, there
        are no assets.
        """
        if state_path is not None:
            state = json.loads(state_path.read_text(encoding="utf-8"))
        else:
            state = []
        tables = []
        for entry in state:
            tables.append(TopicTable(self.source, (entry["topic"],), value=_with_columns(entry["schema"], self.value)))
        name = op_name(dg.AssetKey(["topics", context.path.name]))
        if tables:
            assets = [build_topic_assets(tables, name=name, group_name=self.group_name)]
        else:
            assets = []
        return dg.Definitions(assets=assets)


def _with_columns(data: dict[str, Any] | None, form: Format) -> Format:
    """Returns the format ``form`` with the columns in ``data``, the JSON of a schema.

    If ``data`` is None, the columns are unknown, and the function returns ``form`` itself. There is one exception: if
    ``form`` turns array elements into rows, the function returns ``form`` without its options.
    """
    if data is None:
        if form.arrays_as_rows:
            # TopicTable rejects arrays-as-rows without columns
            return replace(form, options=())
        return form
    return Format("json_schema", schema_from_json(data), options=form.options if form.kind == "json" else ())


def _enveloped(values: Sequence[bytes | None]) -> Schema | None:
    """Returns the schema of the last ``{"schema", "payload"}`` envelope in ``values``; None if there is no envelope."""
    for value in reversed(values):
        data = json.loads(value) if value is not None else None
        if isinstance(data, dict) and data.get("schema") is not None:
            return schema_from_json(data["schema"])
    return None
