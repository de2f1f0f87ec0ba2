"""A partition that loses its last records and grows again, as under a leader that was behind (KIP-320)."""

import struct
from pathlib import Path

import pytest

from dagster_smt.errors import UnsupportedError
from dagster_smt.model.topics.state import TableState
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.sources import open_source
from dagster_smt.tables.sources.file_writer import NewRecord
from dagster_smt.tables.window_request import WindowRequest
from dagster_smt.tables.windows import Available, ResolvedWindow, resolve_window
from dagster_smt.testing.broker import KafkaBroker, fetch_jars
from tests.kafka import Topics


class Cluster:
    """A broker with two topics of a partition each, and the state of a table that reads them."""

    def __init__(self, broker: KafkaBroker):
        self.broker, self.state = broker, TableState(0, "", "records")
        self.topics = KafkaTopics(broker.servers)

    def add(self, topic: str, count: int) -> None:
        for _ in range(count):  # each a batch of its own
            Topics(self.topics).add([(topic, 0, NewRecord(b"k", b"v"))])

    def resolve(self, **request) -> ResolvedWindow:
        source = open_source(self.topics)
        measured = source.measure(["cut", "whole"])
        ids = source.identities(["cut", "whole"])
        available = Available(measured.ranges, ids, epochs=measured.epochs, cut_back=source.cut_back)
        return resolve_window(WindowRequest(**request), available, self.state)

    def run(self, **request) -> ResolvedWindow:
        resolved_window = self.resolve(**request)
        self.state = self.state.with_window(resolved_window.window, resolved_window.notes)
        return resolved_window

    def cut(self, topic: str, at: int) -> None:
        """Take the records from an offset on away while the broker is down; it comes back as a later leader."""
        self.broker.stop()
        folder = self.broker.folder / "data" / f"{topic}-0"
        log = folder / "00000000000000000000.log"
        data, position = log.read_bytes(), 0
        while position < len(data):
            base, length = struct.unpack(">qi", data[position : position + 12])
            if base >= at:
                break
            position += 12 + length
        log.write_bytes(data[:position])
        for file in folder.iterdir():
            if file.suffix in (".index", ".timeindex", ".snapshot"):
                file.unlink()
        self.broker.start()


@pytest.fixture
def cluster(tmp_path):
    try:
        fetch_jars()
    except UnsupportedError as error:
        pytest.skip(f"no Kafka: {error}")
    with KafkaBroker(Path(tmp_path) / "kafka") as broker:
        yield Cluster(broker)


def test_a_log_that_lost_its_end_and_grew_again_is_told(cluster):
    for topic in ("cut", "whole"):
        cluster.add(topic, 6)
    assert cluster.run().window.records == 12 and set(cluster.state.epochs.values()) == {0}
    cluster.cut("cut", 4)
    assert [p.code for p in cluster.resolve().problems["cut"]] == ["SMT515"]
    for topic in ("cut", "whole"):
        cluster.add(topic, 4)
    resolved_window = cluster.resolve()
    (problem,) = resolved_window.problems["cut"]
    assert (problem.code, problem.place) == ("SMT593", "cut-0")
    assert problem.statement.endswith("up to offset 6, but the partition lost its records from 4 on and grew again")
    assert resolved_window.window == Window((Range("whole", 0, 6, 10),)) and list(resolved_window.problems) == ["cut"]
    assert cluster.resolve(explicit=Window((Range("cut", 0, 5, 8),))).problems  # the remedy begins at the cut
    assert not cluster.run(explicit=Window((Range("cut", 0, 4, 8),))).problems
    assert cluster.run().window == Window((Range("whole", 0, 6, 10),))
    assert cluster.state.held.of("cut", 0) == ((0, 8),)
