"""Stops a connector, and proves that all records before its offsets have been committed to the table."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dagster_smt.connect.takeover.connector_table import TakeOverTable
from dagster_smt.connect.takeover.control_topic import InFlight, in_flight
from dagster_smt.connect.takeover.rest import ConnectRest
from dagster_smt.connect.takeover.takeover_parts import CommittedOffsets, TableHead, TakeOverPlan
from dagster_smt.errors import EngineError, Problem, TableError
from dagster_smt.model.windows.offsets import TopicPartition
from dagster_smt.tables.kafka.client import Committed, KafkaClient
from dagster_smt.tables.kafka.spec import KafkaTopics

Say = Callable[[str], None]
Heads = tuple[TableHead, ...]
"""The version of each table that a connector writes."""
_PAUSE = 0.3


@dataclass(frozen=True)
class StoppedConnector:
    """A connector that has been stopped and has no data in flight.

    Attributes:
        offsets: The committed offsets of the connector. The tables contain exactly the records before these offsets.
        heads: The versions of the tables.
        texts: A description of the proof for each table.
    """

    offsets: CommittedOffsets
    heads: Heads
    texts: tuple[str, ...]


@dataclass
class Settling:
    """The procedure that stops a connector, and waits until it has no data in flight. Data is in flight if the
    connector has written it to files, but has not yet committed the files to the table.

    Attributes:
        plan: The connector, and the component that takes over its table.
        rest: The client of the worker.
        tables: The tables of the connector.
        seconds: The longest time to wait for the connector to stop, and for its next commit.
        say: Receives a line about each step.
    """

    plan: TakeOverPlan
    rest: ConnectRest
    tables: Sequence[TakeOverTable]
    seconds: float
    say: Say

    def __post_init__(self) -> None:
        source = self.plan.spec.table.source
        assert isinstance(source, KafkaTopics)
        self.client = KafkaClient(source)

    def settle(self, *, may_run: bool = True) -> StoppedConnector:
        """Stops the connector, and returns the proof that no data is in flight: the connector has committed all files
        that it has written. If files still wait for a commit, the connector first runs again until it has committed
        them, and is then stopped again.

        Args:
            may_run: False if the connector must not run again, because runs have already continued one of its tables.

        Raises:
            EngineError: SMT782, the connector does not stop; SMT783, data stays in flight.
            TableError: SMT789, two sources report different offsets; SMT796, the connector would have to run again.
        """
        end = time.monotonic() + self.seconds
        while True:
            self.stop()
            heads = self.heads()
            flight = self.flight(heads)
            if flight.is_empty:
                settled = self._settled(heads, flight)
                if settled is not None:
                    return settled
            elif not may_run:
                raise self._must_not_run(flight)
            if time.monotonic() > end:
                statement = "others change the table" if flight.is_empty else f"in flight: {flight.text}"
                hint = "run again with a longer --wait: at least the connector's commit interval and timeout"
                raise EngineError(Problem("SMT783", self.plan.name, statement, hint))
            if not flight.is_empty:
                self.say(f"in flight: {flight.text}; the connector runs until its next commit")
                self._drain(heads, end)

    def stop(self) -> None:
        """Stops the connector, and waits until it has no task and its consumer groups have no member."""
        state = self.rest.state()
        if not state.is_stopped:
            self.say(f"stopping {self.plan.name}: {state.text}")
            self.rest.stop()
            state = self.rest.until(lambda s: s.is_stopped, self.seconds)
        if not state.is_stopped:
            statement = f"the connector does not stop within {self.seconds:g} s: {state.text}"
            hint = "look into the worker's log, and run again with a longer --wait"
            raise EngineError(Problem("SMT782", self.plan.name, statement, hint))
        end = time.monotonic() + self.seconds
        # STOPPED is only what the Connect cluster knows. A worker that has lost its cluster may still run tasks. And
        # the coordinator of a stopped Iceberg sink stays in its group for a while, and could still commit.
        while members := self._members():
            if time.monotonic() > end:
                groups = []
                for group, count in members.items():
                    groups.append(f"{group}: {count}")
                listed = ", ".join(groups)
                statement = f"the connector is stopped, and its groups still have members ({listed})"
                hint = "end the consumers of the group: a worker that lost its cluster may still run tasks"
                raise EngineError(Problem("SMT782", self.plan.name, statement, hint))
            time.sleep(_PAUSE)

    def _members(self) -> dict[str, int]:
        counts = {}
        for group in self.plan.groups:
            counts[group] = self.client.members(group)
        members = {}
        for group, count in counts.items():
            if count:
                members[group] = count
        return members

    def heads(self) -> Heads:
        """Returns the current version of each table."""
        return tuple(table.head() for table in self.tables)

    def flight(self, heads: Heads) -> InFlight:
        """Returns the data that is in flight: files that tasks have written, but that the versions ``heads`` of the
        tables do not contain. Only an Iceberg sink can have such files.
        """
        result = InFlight()
        if not self.plan.control:
            return result
        for table, head in zip(self.tables, heads, strict=True):
            plan = table.plan
            result = result.and_(in_flight(self.client, plan.control, plan.group, plan.table, head.control_offsets))
        return result

    def offsets(self) -> CommittedOffsets:
        """Returns the committed offsets of the connector's consumer group."""
        return CommittedOffsets(self.plan.group, self._committed(self.plan.group))

    def set_offsets(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Sets the committed offsets of the stopped connector to ``offsets``, through the worker's REST API. If the
        connector commits its offsets to a consumer group other than the worker's, also sets the offsets of that group.
        """
        self.rest.set_offsets(offsets)
        # the worker sets only the offsets of its own group, such as connect-NAME; the next takeover reads plan.group
        if self.plan.group != self.plan.worker_group:
            positions = {}
            for place, offset in offsets.items():
                positions[place] = Committed(offset, "")
            self.client.commit(self.plan.group, positions)

    def _committed(self, group: str) -> dict[TopicPartition, int]:
        offsets = {}
        for place, c in self.client.committed(group).items():
            offsets[place] = c.offset
        return offsets

    def _settled(self, heads: Heads, flight: InFlight) -> StoppedConnector | None:
        """Returns the stopped connector with its committed offsets. Returns None if a table has a newer version than in
        ``heads``, because the connector has then committed in the meantime.

        Raises:
            TableError: SMT789, the worker and the brokers name different offsets of the connector.
        """
        offsets = self.offsets()
        answer = self.rest.offsets()
        of_worker = self._committed(self.plan.worker_group)
        if self.plan.worker_group == f"connect-{self.plan.name}" and answer != of_worker:
            statement = "the worker and the brokers name different offsets of the connector"
            hint = "give the component the brokers of the worker: table.source.kafka.bootstrap_servers"
            raise TableError(Problem("SMT789", self.plan.name, statement, hint))
        # checked after the offsets were read: offsets of a later commit would not fit the version that was proved
        if self.heads() != heads:
            return None
        return StoppedConnector(offsets, heads, tuple(self._proof(head, flight) for head in heads))

    def _proof(self, head: TableHead, flight: InFlight) -> str:
        if not self.plan.control:
            return "stopped, no task, no member of the group"
        ends = []
        for partition, end in sorted(flight.read_to.items()):
            ends.append(f"{partition}: {end}")
        read = ", ".join(ends)
        return (
            f"stopped, no task, no member of {' and '.join(self.plan.groups)}; the control topic "
            f"{self.plan.control} up to {{{read}}} has no data file and no open transaction after snapshot "
            f"{head.snapshot}"
        )

    def _must_not_run(self, flight: InFlight) -> TableError:
        statement = f"a table of the connector is taken over and has runs; for another one is in flight: {flight.text}"
        hint = "give the tables back with --back, let the connector commit, and take all of them over again"
        return TableError(Problem("SMT796", self.plan.name, statement, hint))

    def _drain(self, heads: Heads, end: float) -> None:
        """Resumes the connector until it has committed all data in flight. ``heads`` are the present versions of the
        tables, and ``end`` is the time limit.
        """
        # Only the connector's coordinator knows which files it has committed. So it has to commit the rest itself.
        self.rest.resume()
        while time.monotonic() < end:
            time.sleep(_PAUSE)
            now = self.heads()
            if now != heads and self.flight(now).is_empty:
                return
