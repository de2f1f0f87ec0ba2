"""Two runs of one table at once: one commits, and each failed record has one letter, wherever letters go."""

import threading

import pytest

from dagster_smt.errors import TableError
from dagster_smt.run import attempt
from dagster_smt.run.dead_letters import CONNECTOR_HEADER, SOURCE_HEADERS
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink
from dagster_smt.tables.sinks import open_table
from tests import kafka
from tests.run.world import CHAIN, World, mixed, order

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
LONG = ("iceberg", "file topics", "kafka")
FAILED = [("orders", 2), ("orders", 7)]


class Letters:
    """A world, and where its letters go."""

    def __init__(self, spark, folder):
        self.world = World(folder, spark)
        self.options = {"errors_tolerance": "all", "dead_letter_topic": "orders.dead"}

    def run(self):
        return self.world.run(CHAIN, **self.options)

    def there(self):
        return sorted(map(source_of, self.world.dead()))


def source_of(record):
    names = (CONNECTOR_HEADER, *SOURCE_HEADERS)
    headers = {h["key"]: bytes(h["value"]).decode() for h in record.headers if h["key"] in names}
    assert headers[CONNECTOR_HEADER] == "orders"
    topic, _, offset = (headers[name] for name in SOURCE_HEADERS)
    return topic, int(offset)


class InTable(Letters):
    sink = None

    def __init__(self, spark, folder):
        super().__init__(spark, folder)
        self.place = self.sink(folder / "letters")
        self.options = {"errors_tolerance": "all", "dead_letters": self.place}

    def there(self):
        rows = open_table(self.world.session, self.place).read().collect()
        return sorted((r.source_topic, r.source_offset) for r in rows)


class InDelta(InTable):
    sink = DeltaSink


class InIceberg(InTable):
    sink = IcebergSink


class InKafka(Letters):
    def __init__(self, spark, folder, servers):
        super().__init__(spark, folder)
        self.place = kafka.KafkaTopics(servers, create=kafka.NewTopics())
        kafka.Topics(self.place).remove()
        self.options |= {"dead_letters": self.place}

    def there(self):
        """As readers of what is committed see it."""
        from dagster_smt.model.windows.window import Window
        from dagster_smt.tables.sources import open_source

        source = open_source(self.place, self.world.session)
        window = Window(tuple(r for r in source.ranges(["orders.dead"]) if r.records))
        return sorted(map(source_of, source.read(window).collect()))


PLACES = {"file topics": Letters, "delta": InDelta, "iceberg": InIceberg, "kafka": InKafka}


@pytest.fixture(params=[pytest.param(name, marks=[pytest.mark.long] if name in LONG else []) for name in PLACES])
def letters(request, spark, tmp_path):
    more = [request.getfixturevalue("broker").servers] if request.param == "kafka" else []
    return PLACES[request.param](spark, tmp_path, *more)


def two_at_once(letters, monkeypatch):
    """Both have evaluated their records before either publishes a letter."""
    barrier, publish = threading.Barrier(2), attempt.publish
    outcomes = []

    def together(*args):
        barrier.wait(120)
        return publish(*args)

    def work():
        try:
            outcomes.append(letters.run().status)
        except TableError as error:
            outcomes.append(error.problems[0].code)

    with monkeypatch.context() as patch:
        patch.setattr(attempt, "publish", together)
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return sorted(outcomes)


def test_each_failed_record_has_one_letter_after_two_runs_at_once(letters, monkeypatch):
    mixed(letters.world)
    assert two_at_once(letters, monkeypatch) == ["SMT528", "committed"]
    assert letters.there() == FAILED and len(letters.world.rows()) == 7
    letters.world.add(order(10, "no number"))
    assert two_at_once(letters, monkeypatch) == ["SMT528", "committed"]
    assert letters.there() == [*FAILED, ("orders", 10)]
    assert letters.run().status == "empty"


@pytest.mark.parametrize("letters", ["file topics", pytest.param("delta", marks=pytest.mark.long)], indirect=True)
def test_who_has_lost_before_publishes_nothing(letters, monkeypatch):
    """Another run, with a window of its own, commits while this one evaluates."""
    mixed(letters.world)
    check, rivals = attempt.check_expected, []

    def late(*args):
        if not rivals:
            rivals.append(1)
            rivals.append(letters.run().status)
        check(*args)

    monkeypatch.setattr(attempt, "check_expected", late)
    with pytest.raises(TableError, match="SMT528"):
        letters.run()
    assert rivals == [1, "committed"] and letters.there() == FAILED
