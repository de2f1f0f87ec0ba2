"""The data classes of a takeover. In a takeover, runs of this package continue the table of a connector. The classes
describe the connector's state and offsets, the version of the table, a column that differs, the plan, and the audit
record.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from dagster_smt.connect.connectors import Connector
from dagster_smt.connect.takeover.file_names import FileNaming
from dagster_smt.model.windows.offsets import TopicPartition, by_topic
from dagster_smt.run.run_spec import RunSpec

Result = Literal["begun", "taken over", "given back", "refused", "dry run"]


@dataclass(frozen=True)
class ConnectorState:
    """The state of a connector, as reported by its worker.

    Attributes:
        state: ``RUNNING``, ``PAUSED``, ``STOPPED``, ``FAILED`` or ``UNASSIGNED``.
        tasks: The state of each task.
    """

    state: str
    tasks: tuple[str, ...] = ()

    @property
    def is_stopped(self) -> bool:
        """True if the connector is stopped and has no task."""
        return self.state == "STOPPED" and not self.tasks

    @property
    def text(self) -> str:
        """Formats the state as one line, such as ``RUNNING (2 tasks: RUNNING)``."""
        if not self.tasks:
            return f"{self.state} (no tasks)"
        return f"{self.state} ({len(self.tasks)} tasks: {', '.join(sorted({*self.tasks}))})"


@dataclass(frozen=True)
class CommittedOffsets:
    """The offsets that a connector's consumer group has committed.

    Attributes:
        group: The consumer group.
        offsets: The next offset to read, by topic-partition. Partitions from which nothing has been read are missing.
    """

    group: str
    offsets: Mapping[TopicPartition, int]

    def to_json(self) -> dict[str, Any]:
        """Returns the offsets as JSON data."""
        return {"group": self.group, "offsets": by_topic(self.offsets)}


@dataclass(frozen=True)
class TableHead:
    """The version of a table at a point in time.

    Attributes:
        snapshot: The id of the snapshot, or the number of the version; empty if there is none.
        control_offsets: For an Iceberg sink: the offset up to which the coordinator has read each partition of the
            control topic. The snapshot contains these offsets.
        valid_through: For an Iceberg sink: the time up to which the sink has written all records. The snapshot contains
            this time.
    """

    snapshot: str = ""
    control_offsets: Mapping[int, int] = field(default_factory=dict)
    valid_through: str = ""

    def to_json(self) -> dict[str, Any]:
        """Returns the version as JSON data."""
        offsets = {}
        for partition, offset in sorted(self.control_offsets.items()):
            offsets[str(partition)] = offset
        return {"snapshot": self.snapshot, "control_offsets": offsets, "valid_through": self.valid_through}


ColumnDifferenceKind = Literal["added", "absent", "type"]


@dataclass(frozen=True)
class ColumnDifference:
    """A column that differs between the table and the rows of the chain.

    Attributes:
        column: The path of the column.
        kind: ``added``: only the chain's rows have the column; ``absent``: only the table has the column; ``type``: the
            types differ.
        text: The difference in words.
    """

    column: str
    kind: ColumnDifferenceKind
    text: str

    def to_json(self) -> dict[str, str]:
        """Returns the difference as JSON data."""
        return {"column": self.column, "kind": self.kind, "text": self.text}


@dataclass(frozen=True)
class TakeOverPlan:
    """A connector, and the component that takes over its table.

    Attributes:
        connector: The connector, with its configuration.
        url: The address of a worker.
        folder: The folder of the component.
        spec: The run of the component.
        group: The consumer group whose offsets show which records the connector has written.
        worker_group: The consumer group of the worker's tasks. This group differs from ``group`` for Tabular's Iceberg
            sink, and for a sink that sets ``iceberg.connect.group-id``.
        control: For an Iceberg sink: the control topic; empty for other sinks.
        table: For an Iceberg sink: the name that the connector gives to the table; empty for other sinks.
        naming: For a sink that writes Parquet files: the naming of the files; None for other sinks.
    """

    connector: Connector
    url: str
    folder: Path
    spec: RunSpec
    group: str
    worker_group: str
    control: str = ""
    table: str = ""
    naming: FileNaming | None = None

    @property
    def name(self) -> str:
        """The name of the connector."""
        return self.connector.name

    @property
    def coordinator_group(self) -> str:
        """The group of the Iceberg sink's coordinator; empty for other sinks."""
        return f"{self.group}-coord" if self.control else ""

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups that must have no members when the connector is stopped."""
        return tuple(dict.fromkeys(g for g in (self.worker_group, self.group, self.coordinator_group) if g))


@dataclass
class TakeOverRecord:
    """The audit record of a takeover, or of the return of a table to its connector. The audit record contains no value
    of an option or a field.

    Attributes:
        connector: The name of the connector.
        connector_class: The class of the connector.
        config_hash: The SHA-256 of the connector's configuration, without the values of secrets.
        cluster: The address of the worker, without a login.
        table: The location of the table.
        asset: The key of the asset.
        by: The person who started the command.
        begun: The time at which the first attempt began.
        ended: The time of the result.
        tries: The number of times that the command has been executed.
        state_before: The state of the connector before the command.
        state_after: The state of the connector after the command.
        offsets: The committed offsets.
        in_flight: The proof, in words, that no data is in flight.
        head_before: The version of the table to which the proof refers.
        head_after: The version with the note of the takeover or of the return.
        rows: The number of rows in the table when the takeover was noted.
        columns: The differences between columns. The differences were accepted, unless the result is a refusal.
        compared: A sentence about the comparison of the columns.
        result: The result.
        problems: The codes and texts of the problems that caused a refusal.
    """

    connector: str
    connector_class: str = ""
    config_hash: str = ""
    cluster: str = ""
    table: str = ""
    asset: str = ""
    by: str = ""
    begun: str = ""
    ended: str = ""
    tries: int = 0
    state_before: str = ""
    state_after: str = ""
    offsets: dict[str, Any] = field(default_factory=dict)
    in_flight: str = ""
    head_before: dict[str, Any] = field(default_factory=dict)
    head_after: dict[str, Any] = field(default_factory=dict)
    rows: int | None = None
    columns: list[dict[str, str]] = field(default_factory=list)
    compared: str = ""
    result: Result = "begun"
    problems: list[str] = field(default_factory=list)
