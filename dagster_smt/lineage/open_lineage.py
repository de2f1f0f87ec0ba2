"""Sends OpenLineage events of runs: START, COMPLETE or FAIL, with column lineage, counts and the results of checks.

The client is openlineage-python, from the extra ``lineage``. Events contain names, types, counts and codes, never a
value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal

from dagster_smt.errors import ConfigError, Problem, needs_extras
from dagster_smt.lineage.datasets import DatasetName
from dagster_smt.lineage.edges import Edge
from dagster_smt.model.secrets import as_reference, resolved, shows_secret
from dagster_smt.version import __version__

PRODUCER = f"https://pypi.org/project/dagster_smt/{__version__}"
SUBTYPES = {
    "identity": "IDENTITY",
    "transformation": "TRANSFORMATION",
    "masking": "TRANSFORMATION",
    "partly masked": "TRANSFORMATION",
    "opened": "TRANSFORMATION",
}


@dataclass(frozen=True)
class OpenLineage:
    """The server or file to which the events of runs go.

    Attributes:
        url: The address of a server, such as ``http://marquez:5000``; events go to ``api/v1/lineage``.
        file: A file that receives a line of JSON for each event, instead of a server. Its folder is created.
        api_key: The key of the server, as ``${env:NAME}``.
        namespace: The namespace of jobs.
        catalogs: The namespaces of Spark's catalogs, if they differ from the catalogs' names: ``{"lake":
            "arn:aws:glue:…"}``.
        timeout: The maximum time for one event, in seconds.

    Raises:
        ConfigError: SMT771 if both ``url`` and ``file`` are set, or neither; SMT772 for a key or login in clear text.
    """

    url: str = ""
    file: str = ""
    api_key: str = ""
    namespace: str = "dagster"
    catalogs: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 5.0

    def __post_init__(self) -> None:
        if bool(self.url) == bool(self.file):
            raise ConfigError(Problem("SMT771", "lineage", "events go to a url or into a file", "set one of the two"))
        # the dataclass is frozen
        object.__setattr__(self, "api_key", as_reference(self.api_key))
        for name, option in (("url", "url"), ("api_key", "password")):
            if getattr(self, name) and shows_secret(option, getattr(self, name)):
                hint = "put the key into the environment and refer to it: ${env:NAME}"
                raise ConfigError(Problem("SMT772", f"lineage.{name}", "the definition contains a secret", hint))


@dataclass(frozen=True, slots=True)
class Assertion:
    """The result of a check, as an event reports it."""

    name: str
    success: bool
    severity: str


@dataclass(frozen=True)
class LineageRun:
    """One run that writes a table, as its events describe it.

    Attributes:
        id: The id of the run, a UUID.
        job: The name of the job: the asset or op.
        parent: The id and the job of the Dagster run.
        inputs: The topics.
        output: The table; None if a transform chooses the table for each record.
    """

    id: str
    job: str
    parent: tuple[str, str]
    inputs: Sequence[DatasetName]
    output: DatasetName | None


@dataclass(frozen=True)
class RunOutput:
    """The output of a run, as its last event describes it.

    Attributes:
        rows, bytes, files: The numbers of rows, bytes and files in the commit.
        read: Maps a topic to the number of its records that were read.
        schema: Maps the path of a column to its type.
        edges: The column lineage: the fields from which each column comes.
        assertions: The results of checks.
    """

    rows: int = 0
    bytes: int = 0
    files: int = 0
    read: Mapping[str, int] = field(default_factory=dict)
    schema: Mapping[str, str] = field(default_factory=dict)
    edges: Sequence[Edge] = ()
    assertions: Sequence[Assertion] = ()


class Emitter:
    """A sender of the events of one run. The caller handles transport errors."""

    def __init__(self, settings: OpenLineage, run: LineageRun):
        # only runs that send events need the extra ``lineage``
        with needs_extras():
            from openlineage.client import OpenLineageClient
        self.settings, self.run = settings, run
        self.client = OpenLineageClient(config={"transport": _transport(settings)})

    def start(self) -> None:
        """Sends START with the topics that the run reads."""
        self._send("START", [self._input(name) for name in self.run.inputs], self._outputs())

    def complete(self, written: RunOutput) -> None:
        """Sends COMPLETE with the statistics and the column lineage in ``written``. If there are results of checks, a
        second event reports them, for a job called ``<job>.checks``.
        """
        inputs = []
        for name in self.run.inputs:
            inputs.append(self._input(name, written.read.get(name.name)))
        self._send("COMPLETE", inputs, self._outputs(written))
        if written.assertions and self.run.output is not None:
            # OpenLineage reports checks on the input of a job, and the table is the output of this one
            self._send("COMPLETE", [self._checked(written.assertions)], [], job=f"{self.run.job}.checks")

    def fail(self, codes: Sequence[str], written: RunOutput | None = None) -> None:
        """Sends FAIL with the problem codes ``codes``, and with the output that the run had already written."""
        from openlineage.client.facet_v2 import error_message_run

        facet = error_message_run.ErrorMessageRunFacet(", ".join(codes) or "failed", "python")
        inputs = [self._input(name) for name in self.run.inputs]
        self._send("FAIL", inputs, self._outputs(written), {"errorMessage": facet})

    def _send(
        self,
        kind: Literal["START", "COMPLETE", "FAIL"],
        inputs: list[Any],
        outputs: list[Any],
        facets: Mapping[str, Any] | None = None,
        job: str = "",
    ) -> None:
        from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
        from openlineage.client.facet_v2 import job_type_job, parent_run

        run_id, parent_job = self.run.parent
        namespace = self.settings.namespace
        parent = parent_run.ParentRunFacet(
            run=parent_run.Run(runId=run_id), job=parent_run.Job(namespace=namespace, name=parent_job)
        )
        kind_facet = job_type_job.JobTypeJobFacet("BATCH", "DAGSTER_SMT", "TASK")
        event = RunEvent(
            eventType=RunState[kind],
            eventTime=datetime.now(timezone.utc).isoformat(),
            run=Run(self.run.id if not job else _other_id(self.run.id, job), {"parent": parent, **(facets or {})}),
            job=Job(namespace, job or self.run.job, {"jobType": kind_facet}),
            producer=PRODUCER,
            inputs=inputs,
            outputs=outputs,
        )
        self.client.emit(event)

    def _input(self, name: DatasetName, records: int | None = None) -> Any:
        from openlineage.client.event_v2 import InputDataset
        from openlineage.client.facet_v2 import input_statistics_input_dataset

        facets: dict[str, Any] = {}
        if records is not None:
            facets["inputStatistics"] = input_statistics_input_dataset.InputStatisticsInputDatasetFacet(records)
        return InputDataset(name.namespace, name.name, inputFacets=facets)

    def _checked(self, assertions: Sequence[Assertion]) -> Any:
        from openlineage.client.event_v2 import InputDataset
        from openlineage.client.facet_v2 import data_quality_assertions_dataset as quality

        assert self.run.output is not None
        results = [
            quality.Assertion(assertion=one.name, success=one.success, severity=one.severity) for one in assertions
        ]
        facet = quality.DataQualityAssertionsDatasetFacet(results)
        name = self.run.output
        return InputDataset(name.namespace, name.name, inputFacets={"dataQualityAssertions": facet})

    def _outputs(self, written: RunOutput | None = None) -> list[Any]:
        from openlineage.client.event_v2 import OutputDataset
        from openlineage.client.facet_v2 import output_statistics_output_dataset, schema_dataset

        name = self.run.output
        if name is None:
            return []
        if written is None:
            return [OutputDataset(name.namespace, name.name)]
        facets: dict[str, Any] = {}
        if written.schema:
            fields = []
            for path, kind in written.schema.items():
                fields.append(schema_dataset.SchemaDatasetFacetFields(path, kind))
            facets["schema"] = schema_dataset.SchemaDatasetFacet(fields)
        if written.edges:
            facets["columnLineage"] = self._lineage(written.edges)
        statistics = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
            rowCount=written.rows, size=written.bytes, fileCount=written.files
        )
        return [OutputDataset(name.namespace, name.name, facets=facets, outputFacets={"outputStatistics": statistics})]

    def _lineage(self, edges: Sequence[Edge]) -> Any:
        from openlineage.client.facet_v2 import column_lineage_dataset as lineage

        fields: dict[str, Any] = {}
        for edge in edges:
            transformation = lineage.Transformation(
                "DIRECT", SUBTYPES.get(edge.kind), ", ".join(edge.stages), edge.kind == "masking"
            )
            inputs = fields.setdefault(edge.column, lineage.Fields([])).inputFields
            for name in self.run.inputs:
                inputs.append(lineage.InputField(name.namespace, name.name, edge.field, [transformation]))
        return lineage.ColumnLineageDatasetFacet(fields)


def _transport(settings: OpenLineage) -> dict[str, Any]:
    if settings.file:
        # in a bucket, there is no folder to create
        if "://" not in settings.file:
            Path(settings.file).parent.mkdir(parents=True, exist_ok=True)
        return {"type": "file", "log_file_path": settings.file, "append": True}
    transport: dict[str, Any] = {
        "type": "http",
        "url": settings.url,
        "timeout": settings.timeout,
        "retry": {"total": 1},
    }
    if settings.api_key:
        key = resolved({"api_key": settings.api_key}, "lineage")["api_key"]
        transport["auth"] = {"type": "api_key", "apiKey": key}
    return transport


def _other_id(run_id: str, job: str) -> str:
    from uuid import UUID, uuid5

    # the same id each time, so that a repeated event does not look like another run
    return str(uuid5(UUID(run_id), job))
