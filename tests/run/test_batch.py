"""One run after another over a topic: windows, counts, rejects, dead letters, replay, rebuild."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.errors import ConfigError, PlanError, RecordsRejected, TableError
from dagster_smt.model.format import Format
from dagster_smt.model.report import RunReport
from dagster_smt.model.window import Range, Window
from dagster_smt.run.batch import RunSpec, run
from dagster_smt.run.micro_batch import run_batches
from dagster_smt.run.report_json import report_from_json, report_of, report_to_json
from dagster_smt.tables.commit_log import live
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.file_topics import NewRecord, append_records, read_window, topic_ranges
from dagster_smt.tables.planning import plan_table
from dagster_smt.tables.sink import open_log, read_table
from dagster_smt.tables.spec import FileTopics, ParquetSink, TopicTable, WindowRequest

SECRET = "secret-4711"
TRANSFORMS = "org.apache.kafka.connect.transforms."
CHAIN = {
    "transforms": "drop,cast,mask",
    "transforms.drop.type": TRANSFORMS + "Filter",
    "transforms.drop.predicate": "gone",
    "transforms.cast.type": TRANSFORMS + "Cast$Value",
    "transforms.cast.spec": "amount:int32",
    "transforms.mask.type": TRANSFORMS + "MaskField$Value",
    "transforms.mask.fields": "name,nickname",
    "predicates": "gone",
    "predicates.gone.type": TRANSFORMS + "predicates.RecordIsTombstone",
}
MASK = {
    "transforms": "mask",
    "transforms.mask.type": TRANSFORMS + "MaskField$Value",
    "transforms.mask.fields": "name",
}
COLUMNS = Format("json_schema", parse_ddl("id INT, name STRING, amount BIGINT"))


def order(number: int, amount: object = 5) -> NewRecord:
    value = json.dumps({"id": number, "name": SECRET, "amount": amount})
    return NewRecord(b"k%d" % number, value.encode(), (("trace", b"\xff%d" % number),), 1700000000000 + number)


def window(start: int, end: int, topic: str = "orders", partition: int = 0) -> Window:
    return Window((Range(topic, partition, start, end),))


class World:
    """A folder with topics and a table."""

    def __init__(self, folder: Path, session):
        self.folder, self.session = folder, session
        self.topics = FileTopics(folder / "topics")
        self.lines: list[str] = []

    def add(self, *records: NewRecord, topic: str = "orders", partition: int = 0) -> Range:
        return append_records(self.topics, topic, records, partition)

    def spec(self, chain=MASK, kind="records", value=None, **changes) -> RunSpec:
        table = TopicTable(self.topics, ("orders",), value=value or Format())
        sink = ParquetSink(self.folder / "table", kind)
        return RunSpec("orders", parse_chain(chain), table, sink, **changes)

    def run(self, *args, **kwargs) -> RunReport:
        return run(self.spec(*args, **kwargs), self.session, self.lines.append)

    def rows(self) -> list:
        return sorted(read_table(self.session, self.folder / "table").collect(), key=repr)

    def offsets(self) -> list[int]:
        return sorted(r.offset for r in self.rows())

    def dead(self, topic="orders.dead") -> list:
        ranges = tuple(topic_ranges(self.topics, [topic]))
        return read_window(self.session, self.topics, Window(ranges)).orderBy("partition", "offset").collect()

    @property
    def log(self):
        return open_log(self.folder / "table")


@pytest.fixture
def world(spark, tmp_path):
    return World(tmp_path, spark)


def mixed(world: World) -> None:
    """Ten records: 2 and 7 fail, 4 is a tombstone."""
    amounts = {2: SECRET, 7: SECRET}
    world.add(*(order(n, amounts.get(n, n)) if n != 4 else NewRecord(b"k4", None) for n in range(10)))


def test_windows_follow_each_other(world):
    world.add(*(order(n) for n in range(5)))
    world.add(order(0), partition=1)
    first = world.run()
    assert first.window == Window((Range("orders", 0, 0, 5), Range("orders", 1, 0, 1)))
    assert (first.records_in, first.records_out, first.status) == (6, 6, "committed")
    assert world.run().status == "empty"
    world.add(*(order(n) for n in range(5, 8)))
    assert world.run(window=WindowRequest(max_records=2)).window == window(5, 7)
    assert world.run(window=WindowRequest(max_records=2)).window == window(7, 8)
    assert world.offsets() == [0, *range(8)]
    assert world.lines[0] == "window: 6 records, orders-0 [0, 5), orders-1 [0, 1)"
    assert world.lines[-1].startswith("committed: 1 records in 1 files")


def test_records_sink_keeps_kafka_columns(world):
    world.add(order(1), NewRecord(None, b'{"name":null}', (), 7, 1))
    world.run()
    row, other = sorted(world.rows(), key=lambda r: r.offset)
    assert (bytes(row.key), row.topic, row.partition, row.offset) == (b"k1", "orders", 0, 0)
    assert json.loads(bytes(row.value)) == {"id": 1, "name": "", "amount": 5}
    assert [(h.key, bytes(h.value)) for h in row.headers] == [("trace", b"\xff1")]
    assert row.source_topic == "orders" and row.timestamp.microsecond == 1000
    assert (other.key, other.timestampType, other.headers) == (None, 1, [])


def test_counts_and_ledger(world):
    mixed(world)
    report = world.run(CHAIN, errors_tolerance="all")
    assert (report.records_in, report.records_out, report.dropped, report.failed) == (10, 7, 1, 2)
    assert [(s.alias, s.records_in, s.dropped, s.failed) for s in report.stages] == [
        ("drop", 10, 1, 0),
        ("cast", 9, 0, 2),
        ("mask", 7, 0, 0),
    ]
    assert report.touched("masked") == {"name": 7, "nickname": 0}
    assert report.touched("cast") == {"amount": 7}
    assert [p.place.split()[0] for p in report.warnings if p.code == "SMT350"] == ["transforms.mask"]
    assert report.bytes == sum((world.folder / "table" / f).stat().st_size for f in report.files) > 0
    assert SECRET not in json.dumps(report_to_json(report))


def test_records_rejected_commits_nothing_and_a_mended_chain_goes_on(world):
    mixed(world)
    with pytest.raises(RecordsRejected) as caught:
        world.run(CHAIN)
    problems = caught.value.problems
    assert [p.place for p in problems] == [
        "orders-0@2 transforms.cast (Cast$Value)",
        "orders-0@7 transforms.cast (Cast$Value)",
        "orders",
    ]
    assert problems[-1].statement == "2 of 10 records failed; nothing was committed"
    assert SECRET not in str(caught.value)
    assert world.log.commits() == [] and list((world.folder / "table" / "data").iterdir()) == []
    world.add(order(10))
    mended = {**CHAIN, "transforms.cast.spec": "amount:string"}
    assert world.run(mended, window=WindowRequest(max_records=1)).window == window(0, 10)
    assert "replaying the window of a run that did not commit" in world.lines
    assert world.run(mended).window == window(10, 11)
    assert world.offsets() == [0, 1, 2, 3, *range(5, 11)]


def test_rejects_named_are_the_first_five(world):
    world.add(*(order(n, "x") for n in range(8)))
    with pytest.raises(RecordsRejected) as caught:
        world.run(CHAIN)
    assert [p.place.split()[0] for p in caught.value.problems] == [*(f"orders-0@{n}" for n in range(5)), "orders"]


def test_tolerance_all_without_a_topic(world):
    mixed(world)
    report = world.run(CHAIN, errors_tolerance="all")
    assert [(r.partition, r.offset, r.stage) for r in report.rejects] == [(0, 2, "cast"), (0, 7, "cast")]
    assert world.offsets() == [0, 1, 3, 5, 6, 8, 9]


def test_dead_letters(world):
    mixed(world)
    world.add(NewRecord(b"a", b"{", (), 5), partition=1)
    dead = FileTopics(world.folder / "dead")
    report = world.run(CHAIN, errors_tolerance="all", dead_letters=dead, dead_letter_topic="letters")
    assert (report.failed, report.stages[0].records_in) == (3, 10)
    world.topics = dead
    letters = world.dead("letters")
    headers = [{h.key: bytes(h.value) for h in r.headers} for r in letters]
    first, last = headers[0], headers[2]
    original = order(2, SECRET)
    assert (bytes(letters[0].key), bytes(letters[0].value)) == (original.key, original.value)
    assert letters[0].timestamp.timestamp() * 1000 == original.timestamp
    commit = world.log.commits()[0]
    message = first.pop("__connect.errors.exception.message").decode()
    assert message.startswith("SMT4") and SECRET not in message
    assert first == {
        "trace": b"\xff2",
        "__connect.errors.topic": b"orders",
        "__connect.errors.partition": b"0",
        "__connect.errors.offset": b"2",
        "__connect.errors.connector.name": b"orders",
        "__connect.errors.task.id": b"0",
        "__connect.errors.stage": b"TRANSFORMATION",
        "__connect.errors.class.name": b"org.apache.kafka.connect.transforms.Cast$Value",
        "__connect.errors.exception.class.name": b"org.apache.kafka.connect.errors.DataException",
        "dagster_smt.window": report.window.id.encode(),
        "dagster_smt.commit": commit.attempt.encode(),
    }
    assert (last["__connect.errors.partition"], last["__connect.errors.stage"]) == (b"1", b"VALUE_CONVERTER")
    assert last["__connect.errors.class.name"] == b"org.apache.kafka.connect.json.JsonConverter"
    assert commit.dead_letters.records == 3
    assert not [p for p in world.log.data_folder(commit.attempt).iterdir() if p.is_dir()]


def test_any_folder(spark, tmp_path):
    world = World(tmp_path / "with space [a]{b} %20*?\\ ü" / "x=1", spark)
    mixed(world)
    world.run(CHAIN, errors_tolerance="all", dead_letter_topic="orders.dead")
    assert world.offsets() == [0, 1, 3, 5, 6, 8, 9]
    assert "x" not in read_table(spark, world.folder / "table").columns
    assert len(world.dead()) == 2


def test_stages_that_drop_everything_when_planned(world):
    """No record is left to write, and Spark knows: what is observed must be counted all the same."""
    world.add(order(1), order(2))
    drop = {
        "transforms.drop.type": TRANSFORMS + "Filter",
        "transforms.drop.predicate": "orders",
        "predicates": "orders",
        "predicates.orders.type": TRANSFORMS + "predicates.TopicNameMatches",
        "predicates.orders.pattern": "orders",
    }
    report = world.run({**drop, "transforms": "drop"})
    assert (report.records_in, report.dropped, report.files) == (2, 2, [])


def test_dead_letters_of_a_replayed_window_belong_to_the_new_commit(world):
    mixed(world)
    options = {"errors_tolerance": "all", "dead_letter_topic": "orders.dead"}
    world.run(CHAIN, **options)
    world.run(CHAIN, window=WindowRequest(explicit=window(0, 10)), **options)
    commits = [bytes(h.value).decode() for r in world.dead() for h in r.headers if h.key == "dagster_smt.commit"]
    assert commits == [c.attempt for c in world.log.commits() for _ in range(2)]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"dead_letter_topic": "orders"}, "SMT534"),
        ({"dead_letters": FileTopics(Path("somewhere"))}, "SMT531"),
    ],
)
def test_dead_letter_topic_must_be_another(world, changes, code):
    world.add(order(1))
    with pytest.raises(ConfigError, match=code):
        world.run(CHAIN, errors_tolerance="all", **changes)


def test_explicit_window_replaces_its_commit(world):
    world.add(*(order(n) for n in range(6)))
    for _ in range(3):
        world.run(window=WindowRequest(max_records=2))
    report = world.run(
        {"transforms": "top", "transforms.top.type": TRANSFORMS + "RegexRouter",
         "transforms.top.regex": ".*", "transforms.top.replacement": "again"},
        window=WindowRequest(explicit=window(2, 6)),
    )  # fmt: skip
    assert report.window == window(2, 6)
    assert [(r.offset, r.topic) for r in sorted(world.rows(), key=lambda r: r.offset)] == [
        (0, "orders"), (1, "orders"), (2, "again"), (3, "again"), (4, "again"), (5, "again"),
    ]  # fmt: skip
    with pytest.raises(TableError, match="SMT514"):
        world.run(window=WindowRequest(explicit=window(0, 3)))
    with pytest.raises(TableError, match="SMT510"):
        world.run(window=WindowRequest(explicit=window(4, 9)))
    assert world.run().status == "empty"
    assert len(live(world.log.commits())) == 2


def test_explicit_window_ahead_moves_on_from_there(world):
    world.add(*(order(n) for n in range(6)))
    assert world.run(window=WindowRequest(explicit=window(2, 4))).records_out == 2
    assert world.run().window == window(4, 6)


def test_rebuild_starts_over_in_one_step(world):
    world.add(*(order(n) for n in range(4)))
    world.run(window=WindowRequest(max_records=3))
    world.run()
    report = world.run(kind="columns", value=COLUMNS, rebuild=True, window=WindowRequest(max_records=2))
    assert report.window == window(0, 2)
    assert [r.id for r in world.rows()] == [0, 1]
    assert world.run(kind="columns", value=COLUMNS).window == window(2, 4)
    assert [r.asDict() for r in world.rows()] == [{"id": n, "name": "", "amount": 5} for n in range(4)]
    with pytest.raises(TableError, match="SMT525"):
        world.run(kind="records", window=WindowRequest(explicit=window(0, 2)))


def test_columns_may_come_but_not_change(world):
    world.add(order(1))
    world.run(kind="columns", value=COLUMNS)
    world.add(order(2))
    wider = Format("json_schema", parse_ddl("id INT, name STRING, amount BIGINT, extra DATE"))
    report = world.run(kind="columns", value=wider)
    assert "extra" in report.after.by_name and "extra" in report.before.by_name
    world.add(order(3))
    other = Format("json_schema", parse_ddl("id STRING, name STRING, amount INT"))
    with pytest.raises(TableError) as caught:
        world.run(kind="columns", value=other)
    assert [(p.code, p.place) for p in caught.value.problems] == [("SMT521", "id"), ("SMT521", "amount")]
    assert len(list((world.folder / "table" / "data").iterdir())) == 2 and world.log.intents() == []
    assert [tuple(r) for r in world.rows()] == [(1, "", 5, None), (2, "", 5, None)]


def test_all_dropped(world):
    world.add(*(NewRecord(b"k", None) for _ in range(3)))
    report = world.run(CHAIN)
    assert (report.records_in, report.records_out, report.dropped, report.files) == (3, 0, 3, [])
    assert world.rows() == [] and world.run().status == "empty"


def test_a_retry_of_a_committed_run_is_told_so(world):
    world.add(order(1))
    first = world.run(run_id="r1")
    world.add(order(2))
    again = world.run(run_id="r1")
    assert again == replace(first, status="already committed")
    assert world.run(run_id="r2").window == window(1, 2)
    assert report_of(world.log.commits()[1]).records_in == 1
    assert world.run(run_id="r1", rebuild=True).records_out == 2


def test_report_survives_the_sink(world):
    world.add(order(1))
    report = world.run(kind="columns", value=COLUMNS)
    assert report_from_json(json.loads(json.dumps(report_to_json(report)))) == report
    assert report.before == COLUMNS.schema and report.after is not None
    kept = report_from_json(world.log.commits()[0].report)
    assert replace(kept, seconds={}) == replace(report, seconds={})


def test_a_plan_that_does_not_fit_reads_nothing(world):
    world.add(order(1))
    chain = {"transforms": "f", "transforms.f.type": TRANSFORMS + "ReplaceField$Value", "transforms.f.exclude": "a"}
    with pytest.raises(PlanError):
        world.run(chain, kind="columns", value=Format("string"))
    assert world.log.intents() == [] and world.log.commits() == []


def test_topics_of_one_request_leave_the_others_alone(world):
    for topic in ("a", "b"):
        world.add(order(1), topic=topic)
    table = TopicTable(world.topics, pattern="a|b")
    spec = replace(world.spec(), table=table, window=WindowRequest(("a",)))
    assert run(spec, world.session).window == window(0, 1, "a")
    world.log.take(window(0, 1, "b"), explicit=False, rebuild=False)
    world.add(order(2), topic="a")
    assert run(spec, world.session).window == window(1, 2, "a")
    assert run(replace(spec, window=WindowRequest(("b",))), world.session).window == window(0, 1, "b")


def test_two_writers(world):
    world.add(order(1))
    with world.log.locked("first"), pytest.raises(TableError, match=r"SMT520 .*: run first is writing this table"):
        world.run()


def test_malformed_segment_stops_the_run(world):
    world.add(order(1))
    segment = next((world.folder / "topics").rglob("*.jsonl"))
    segment.write_text(segment.read_text() + "{\n")
    with pytest.raises(TableError, match=r"SMT503 orders/0/0+\.jsonl line 2: "):
        world.run()
    assert world.log.intents() == []


def test_batches(world):
    world.add(*(order(n) for n in range(7)))
    reports = run_batches(world.spec(run_id="r"), world.session, 2, 3)
    assert [r.window for r in reports] == [window(0, 3), window(3, 6)]
    again = run_batches(world.spec(run_id="r"), world.session, 3, 3)
    assert [(r.window, r.status) for r in again] == [
        (window(0, 3), "already committed"),
        (window(3, 6), "already committed"),
        (window(6, 7), "committed"),
    ]
    assert [r.status for r in run_batches(world.spec(), world.session, 5)] == ["empty"]
    assert [r.window for r in run_batches(world.spec(rebuild=True), world.session, 5, 4)] == [
        window(0, 4),
        window(4, 7),
    ]
    assert world.offsets() == list(range(7))
    with pytest.raises(ConfigError, match="SMT535"):
        run_batches(world.spec(window=WindowRequest(explicit=window(0, 1))), world.session, 1)
    with pytest.raises(ConfigError, match="SMT536"):
        run_batches(world.spec(), world.session, 0)


def test_plan_is_typed_where_the_records_are():
    def typed(key: Format, value: Format, chain=MASK) -> bool:
        return plan_table(parse_chain(chain), TopicTable(FileTopics(Path("t")), ("a",), key=key, value=value)).typed

    key_chain = {k.replace("$Value", "$Key"): v.replace("$Value", "$Key") for k, v in MASK.items()}
    assert typed(Format("string"), COLUMNS) and typed(Format("json"), COLUMNS)
    assert not typed(Format("json"), COLUMNS, key_chain)
    assert not typed(Format("string"), Format("json"))
    assert not typed(Format("string"), Format("envelope"))
