"""Stops a connector, and proves that nothing of it is in flight."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from dagster_smt.connect.takeover.connector_table import TakeOverTable
from dagster_smt.connect.takeover.control_topic import InFlight, in_flight
from dagster_smt.connect.takeover.rest import ConnectRest
from dagster_smt.connect.takeover.types import CommittedOffsets, TableHead, TakeOverPlan
from dagster_smt.errors import EngineError, Problem, TableError
from dagster_smt.tables.kafka.client import KafkaClient
from dagster_smt.tables.spec import KafkaTopics

Say = Callable[[str], None]
_PAUSE = 0.3


@dataclass(frozen=True)
class Settled:
    """A stopped connector with nothing in flight.

    Attributes:
        offsets: Its committed offsets: the table has all records before them, and none from there on.
        head: The version of the table.
        text: A description of the proof.
    """

    offsets: CommittedOffsets
    head: TableHead
    text: str


@dataclass
class Settling:
    """Brings a connector to rest.

    Attributes:
        plan: The connector and its table.
        rest: The worker.
        table: The table.
        seconds: The longest time to wait for the connector to stop, and for its next commit.
        say: Receives a line about each step.
    """

    plan: TakeOverPlan
    rest: ConnectRest
    table: TakeOverTable
    seconds: float
    say: Say

    def __post_init__(self) -> None:
        source = self.plan.spec.table.source
        assert isinstance(source, KafkaTopics)
        self.client = KafkaClient(source)

    def settle(self) -> Settled:
        """Stops the connector. If data files wait for a commit, lets the connector commit them, and stops it again.

        Raises:
            EngineError: SMT782, the connector does not stop; SMT783, data stay in flight.
            TableError: SMT789, two places name different offsets.
        """
        end = time.monotonic() + self.seconds
        while True:
            self.stop()
            head = self.table.head()
            flight = self.flight(head)
            if flight.is_empty:
                settled = self._settled(head, flight)
                if settled is not None:
                    return settled
            if time.monotonic() > end:
                statement = "others change the table" if flight.is_empty else f"in flight: {flight.text}"
                hint = "run again with a longer --wait: at least the connector's commit interval and timeout"
                raise EngineError(Problem("SMT783", self.plan.name, statement, hint))
            if not flight.is_empty:
                self.say(f"in flight: {flight.text}; the connector runs until its next commit")
                self._drain(head, end)

    def stop(self) -> None:
        """Stops the connector, and waits until no task and no member of its groups is left."""
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
        groups = [group for group in (self.plan.group, self.plan.coordinator_group) if group]
        while members := {group: self.client.members(group) for group in groups if self.client.members(group)}:
            if time.monotonic() > end:
                listed = ", ".join(f"{group}: {count}" for group, count in members.items())
                statement = f"the connector is stopped, and its groups still have members ({listed})"
                hint = "end the consumers of the group: a worker that lost its cluster may still run tasks"
                raise EngineError(Problem("SMT782", self.plan.name, statement, hint))
            time.sleep(_PAUSE)

    def flight(self, head: TableHead) -> InFlight:
        """Returns the data in flight after a version of the table."""
        if not self.plan.control:
            return InFlight()
        name = self.plan.connector.config["iceberg.tables"].strip()
        return in_flight(self.client, self.plan.control, self.plan.group, name, head.control_offsets)

    def offsets(self) -> CommittedOffsets:
        """Returns the offsets of the connector's group."""
        committed = self.client.committed(self.plan.group)
        return CommittedOffsets(self.plan.group, {place: c.offset for place, c in committed.items()})

    def _settled(self, head: TableHead, flight: InFlight) -> Settled | None:
        """Returns the offsets, if nothing changed while they were read."""
        offsets = self.offsets()
        answer = self.rest.offsets()
        if self.plan.group == f"connect-{self.plan.name}" and answer != offsets.offsets:
            statement = "the worker and the brokers name different offsets of the connector"
            hint = "give the component the brokers of the worker: table.source.kafka.bootstrap_servers"
            raise TableError(Problem("SMT789", self.plan.name, statement, hint))
        if self.table.head() != head:
            return None
        if not self.plan.control:
            return Settled(offsets, head, "stopped, no task, no member of the group")
        read = ", ".join(f"{partition}: {end}" for partition, end in sorted(flight.read_to.items()))
        text = (
            f"stopped, no task, no member of {self.plan.group} and {self.plan.coordinator_group}; the control topic "
            f"{self.plan.control} up to {{{read}}} has no data file and no open transaction after snapshot "
            f"{head.snapshot}"
        )
        return Settled(offsets, head, text)

    def _drain(self, head: TableHead, end: float) -> None:
        """Lets the connector run until a commit leaves nothing in flight."""
        self.rest.resume()
        while time.monotonic() < end:
            time.sleep(_PAUSE)
            now = self.table.head()
            if now != head and self.flight(now).is_empty:
                return
