"""What others do to the table between runs: the state is that of the version it stands on, or the run refuses.

A table of changes over both table formats. After each, the next runs leave every offset in the table once, or say a
code whose remedies lead there.
"""

import shutil
import time
from dataclasses import replace
from datetime import datetime, timezone
from typing import ClassVar

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.errors import SmtError
from dagster_smt.model.topics.format import Format
from dagster_smt.run.facts import table_facts
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.planning import plan_sink
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sources.file_topics import ID
from dagster_smt.tables.topic_table import TopicTable
from dagster_smt.tables.window_request import WindowRequest
from tests.run.world import CHAIN, MASK, SECRET, World, order, window

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
LONG_ICEBERG = pytest.param("iceberg", marks=pytest.mark.long)
LETTERS = {"errors_tolerance": "all", "dead_letter_topic": "orders.dead"}


class Lake(World):
    """A world whose table is of either format, over all topics of the folder."""

    sinks: ClassVar = {"delta": DeltaSink, "iceberg": IcebergSink}

    def __init__(self, folder, session, kind):
        super().__init__(folder, session)
        self.kind = kind
        self.sink = self.sinks[kind](folder / "table", "records")

    def spec(self, chain=MASK, **changes):
        table = TopicTable(self.topics, pattern="[a-z]+", value=Format())
        return RunSpec("orders", parse_chain(chain), table, self.sink, **changes)

    @property
    def table(self):
        return open_table(self.session, self.sink)

    @property
    def name(self):
        return self.table.name

    def held(self):
        return sorted((r.topic, r.offset) for r in self.table.read().collect())

    def facts(self, report):
        spec = self.spec()
        return table_facts(spec, plan_sink(spec.chain, spec.table, spec.sink), self.session, report.window)

    def sql(self, text):
        return self.session.sql(text).collect()

    def versions(self):
        """What the table can be restored to, the oldest first."""
        if self.kind == "delta":
            return [r.version for r in self.sql(f"DESCRIBE HISTORY {self.name}")][::-1]
        return [r[0] for r in self.sql(f"SELECT snapshot_id FROM {self.name}.snapshots ORDER BY committed_at")]

    def call(self, procedure, more=""):
        name = self.name.replace("'", "\\'")
        return self.sql(f"CALL {self.table.catalog}.system.{procedure}(table => '{name}'{more})")

    def restore(self, version):
        if self.kind == "delta":
            self.sql(f"RESTORE TABLE {self.name} TO VERSION AS OF {version}")
        else:
            self.call("rollback_to_snapshot", f", snapshot_id => {version}")

    def three_runs(self):
        """Six records in three commits; what each could be restored to."""
        versions = []
        for number in range(3):
            self.add(order(2 * number), order(2 * number + 1))
            assert self.run(key=f"run {number}").status == "committed"
            versions.append(self.versions()[-1])
        return versions


ALL = [("orders", n) for n in range(6)]


@pytest.fixture(params=Lake.sinks)
def lake(spark, tmp_path, request):
    return Lake(tmp_path, spark, request.param)


@pytest.fixture
def delta(spark, tmp_path):
    return Lake(tmp_path, spark, "delta")


@pytest.fixture
def iceberg(spark, tmp_path):
    return Lake(tmp_path, spark, "iceberg")


def codes(call, *args, **kwargs):
    with pytest.raises(SmtError) as caught:
        call(*args, **kwargs)
    assert all(p.hint for p in caught.value.problems)
    return [p.code for p in caught.value.problems]


def test_what_a_restore_took_away_is_read_again(lake):
    """Also by a retry of a run that was restored away; and again after runs and restores."""
    first, second, _ = lake.three_runs()
    lake.restore(first)
    assert lake.state.ends() == {"orders": {"0": 2}} and lake.held() == ALL[:2]
    retry = lake.run(key="run 2")
    assert (retry.status, retry.records_in) == ("committed", 4) and lake.held() == ALL
    assert lake.run().status == "empty"
    if lake.kind == "delta":  # an Iceberg table is rolled back to its own past only
        lake.restore(second)
        assert lake.run().records_in == 2 and lake.held() == ALL
    lake.add(order(6))
    assert lake.run().records_in == 1 and lake.held() == [*ALL, ("orders", 6)]


@pytest.mark.long
def test_restored_by_others_and_to_a_moment(delta):
    from deltalake import DeltaTable

    versions = delta.three_runs()
    moments = {r.version: r.timestamp for r in delta.sql(f"DESCRIBE HISTORY {delta.name}")}
    place = str(delta.folder / "table")
    DeltaTable(place).restore(versions[1])
    assert delta.run().records_in == 2 and delta.held() == ALL
    DeltaTable(place).restore(datetime.fromtimestamp(moments[versions[0]].timestamp(), timezone.utc))
    assert delta.run().records_in == 4 and delta.held() == ALL
    delta.sql(f"RESTORE TABLE {delta.name} TO TIMESTAMP AS OF '{moments[versions[1]]}'")
    assert delta.run().records_in == 2 and delta.held() == ALL


@pytest.mark.long
def test_restored_to_before_our_first_commit(delta):
    """By path that is a version of somebody else's, who had made the table."""
    frame = delta.session.createDataFrame([], "topic STRING, n INT")
    frame.write.format("delta").save(str(delta.folder / "table"))
    delta.three_runs()
    delta.restore(0)
    assert delta.state is None
    assert delta.run().records_in == 6 and delta.held() == ALL


@pytest.mark.long
def test_a_version_whose_commit_the_log_has_lost_is_refused(delta, monkeypatch):
    from dagster_smt.tables.sinks import delta as module

    versions = delta.three_runs()
    delta.restore(versions[0])
    whole = module.DeltaTable._history
    monkeypatch.setattr(
        module.DeltaTable, "_history", lambda self, limit: [c for c in whole(self, limit) if c.version > versions[0]]
    )
    assert codes(delta.run) == ["SMT555"]
    assert delta.run(rebuild=True).status == "committed" and delta.held() == ALL  # a remedy that it names


def overwritten(lake):
    """Somebody restores by hand: the rows of the first two commits are all there is."""
    rows = lake.session.createDataFrame(lake.table.read().where("offset < 4").collect(), lake.table.schema())
    if lake.kind == "delta":
        rows.write.format("delta").mode("overwrite").save(str(lake.folder / "table"))
    else:
        rows.coalesce(1).createOrReplaceTempView("by_hand")
        lake.sql(f"INSERT OVERWRITE {lake.name} SELECT * FROM by_hand")


def emptied(lake):
    lake.sql(f"DELETE FROM {lake.name}")


@pytest.mark.parametrize("lake", ["delta", LONG_ICEBERG], indirect=True)
@pytest.mark.parametrize("change", [pytest.param(overwritten, marks=pytest.mark.long), emptied])
def test_a_table_that_somebody_replaced_is_refused_until_somebody_says_what_holds(lake, change):
    lake.three_runs()
    before = lake.versions()[-1]
    change(lake)
    lake.add(order(6))
    there = lake.held()
    assert codes(lake.run) == ["SMT554"]
    if change is overwritten:
        lake.restore(before)
        assert lake.run().records_in == 1 and lake.held() == [*ALL, ("orders", 6)]
    else:
        report = lake.run(settle=True, key="me")
        assert report.records_in == 1 and lake.held() == [*there, ("orders", 6)]
        assert lake.state.settled[-1].run == "me" and lake.state.rows == {"orders": len(there) + 1}
        assert any("DELETE" in text.upper() for text in lake.state.settled[-1].commits)
    assert lake.run(rebuild=True).records_in == 7 and lake.held() == [*ALL, ("orders", 6)]


@pytest.mark.parametrize("lake", ["delta", LONG_ICEBERG], indirect=True)
def test_rows_that_somebody_deleted_are_named_and_can_be_settled(lake):
    lake.three_runs()
    lake.sql(f"DELETE FROM {lake.name} WHERE offset IN (1, 4)")
    lake.add(order(6))
    facts = lake.facts(lake.run())
    assert (facts.rows, facts.counted) == (7, 5)
    (foreign,) = facts.foreign
    assert "20" in foreign and ("DELETE" in foreign or "delete" in foreign or "overwrite" in foreign)
    report = lake.run(settle=True, key="erasure")
    assert report.status == "committed" and report.records_in == 0
    (settled,) = lake.state.settled
    assert (settled.run, settled.committed, settled.counted, settled.commits) == ("erasure", 7, 5, (foreign,))
    lake.add(order(7))
    facts = lake.facts(lake.run())
    assert facts.rows == facts.counted == 6 and facts.foreign == ()


def test_compaction_and_expiry_do_not_bring_back_what_was_rolled_back(iceberg):
    """The newest snapshot with a mark is not in the table's past, and the past has expired."""
    first, _, _ = iceberg.three_runs()
    iceberg.restore(first)
    iceberg.sql(f"DELETE FROM {iceberg.name} WHERE offset = 12345")
    iceberg.call("rewrite_data_files", ", options => map('rewrite-all', 'true')")
    time.sleep(0.01)
    iceberg.call("expire_snapshots", ", older_than => TIMESTAMP '2999-01-01 00:00:00', retain_last => 1")
    assert len(iceberg.versions()) == 1
    assert iceberg.run().records_in == 4 and iceberg.held() == ALL


def test_where_nothing_tells_what_was_rolled_back_the_run_refuses(iceberg, monkeypatch):
    from dagster_smt.tables.sinks import iceberg_states as module

    first, _, _ = iceberg.three_runs()
    iceberg.restore(first)
    for _ in range(2):
        iceberg.call("rewrite_data_files", ", options => map('rewrite-all', 'true')")
    time.sleep(0.01)
    iceberg.call("expire_snapshots", ", older_than => TIMESTAMP '2999-01-01 00:00:00', retain_last => 1")
    monkeypatch.setattr(module, "older_snapshots", lambda *_: iter(()))
    assert codes(iceberg.run) == ["SMT555"]
    assert iceberg.run(rebuild=True).status == "committed" and iceberg.held() == ALL


@pytest.mark.parametrize("change", ["rewrite_data_files", pytest.param("DELETE", marks=pytest.mark.long)])
def test_what_others_do_while_a_run_commits_is_followed(iceberg, monkeypatch, change):
    """Nothing is evaluated again: the rows are written once more on top of it."""
    from dagster_smt.tables.sinks import iceberg as module

    iceberg.three_runs()
    iceberg.add(order(6))
    write, times = module.IcebergTable._write, []

    def slow(self, frame, branch, replaced):
        write(self, frame, branch, replaced)
        times.append(1)
        if len(times) <= 2 and change == "DELETE":
            iceberg.sql(f"DELETE FROM {iceberg.name} WHERE offset = {len(times)}")
        elif len(times) <= 2:
            iceberg.call("rewrite_data_files", ", options => map('rewrite-all', 'true')")

    monkeypatch.setattr(module.IcebergTable, "_write", slow)
    evaluated = len([line for line in iceberg.lines if line == "evaluating"])
    assert iceberg.run().status == "committed" and len(times) == 3
    assert len([line for line in iceberg.lines if line == "evaluating"]) == evaluated + 1
    gone = [("orders", 1), ("orders", 2)] if change == "DELETE" else []
    assert iceberg.held() == [row for row in [*ALL, ("orders", 6)] if row not in gone]
    assert iceberg.run().status == "empty"


@pytest.mark.long
def test_others_that_never_pause_are_named(iceberg, monkeypatch):
    from dagster_smt.tables.sinks import iceberg as module

    iceberg.three_runs()
    iceberg.add(order(6))
    write = module.IcebergTable._write

    def slow(self, frame, branch, replaced):
        write(self, frame, branch, replaced)
        iceberg.call("rewrite_data_files", ", options => map('rewrite-all', 'true')")

    monkeypatch.setattr(module.IcebergTable, "_write", slow)
    monkeypatch.setattr(module, "_TRIES", 2)
    assert codes(iceberg.run) == ["SMT557"] and iceberg.held() == ALL


# --- rebuilds ---


def two_topics(lake):
    lake.add(order(0), order(1), topic="bills")
    lake.add(order(0))
    assert lake.run(CHAIN).status == "committed"
    assert lake.held() == [("bills", 0), ("bills", 1), ("orders", 0)]


def unreadable(lake):
    (segment,) = (lake.folder / "topics" / "bills" / "0").glob("*.jsonl")
    segment.write_text("no json\n")


def failing(lake):
    lake.add(order(2, SECRET), topic="bills")


def vanished(lake):
    shutil.rmtree(lake.folder / "topics" / "bills")


def expired(lake):
    lake.add(order(2), topic="bills")
    for segment in (lake.folder / "topics" / "bills" / "0").glob("*.jsonl"):
        if int(segment.stem) < 2:
            segment.unlink()


MORE_WRONG = (failing, vanished, expired)


@pytest.mark.parametrize("lake", ["delta", LONG_ICEBERG], indirect=True)
@pytest.mark.parametrize("wrong", [unreadable, *(pytest.param(w, marks=pytest.mark.long) for w in MORE_WRONG)])
def test_a_rebuild_keeps_the_rows_of_topics_that_it_cannot_read_again(lake, wrong):
    two_topics(lake)
    there, state = lake.held(), lake.state
    wrong(lake)
    assert "SMT556" in codes(lake.run, CHAIN, rebuild=True)
    assert lake.held() == there and lake.state == state
    only = WindowRequest(topics=("orders",))
    assert lake.run(CHAIN, rebuild=True, window=only).records_in == 1  # the others by name
    assert lake.held() == there
    if wrong is failing:
        assert lake.run(CHAIN, rebuild=True, **LETTERS).failed == 1
        assert lake.held() == there
    if wrong in (vanished, expired):
        agreed = WindowRequest(accept_gap=True)
        lake.run(CHAIN, rebuild=True, window=agreed)
        assert lake.held() == ([("orders", 0)] if wrong is vanished else [("bills", 2), ("orders", 0)])


def anew(lake, *records, topic="orders"):
    """The topic is deleted and created anew, with other records."""
    shutil.rmtree(lake.folder / "topics" / topic)
    if records:
        lake.add(*records, topic=topic)
    else:
        folder = lake.folder / "topics" / topic
        (folder / "0").mkdir(parents=True)
        (folder / ID).write_text("another one")


@pytest.mark.parametrize("lake", ["delta", LONG_ICEBERG], indirect=True)
def test_a_topic_made_anew_goes_on_beside_the_rows_of_the_former_one(lake):
    lake.three_runs()
    anew(lake, order(10), order(11))
    assert codes(lake.run) == ["SMT516"]
    begin = WindowRequest(begin_anew=True)
    assert lake.run(window=begin, key="a").records_in == 2
    assert lake.held() == sorted([*ALL, ("orders", 0), ("orders", 1)])
    assert lake.run(window=begin, key="a").status == "already committed"
    assert lake.run(window=begin, key="b").status == "empty"  # it is the topic that the table knows
    lake.add(order(12))
    assert lake.run().records_in == 1 and lake.state.rows == {"orders": 9}
    # rows of both topics have the offsets 0 and 1: what is read again must not take those of the former
    again = WindowRequest(explicit=window(0, 2))
    assert codes(lake.run, window=again) == ["SMT556"]
    only = WindowRequest(topics=("orders",))
    assert codes(lake.run, rebuild=True, window=only) == ["SMT556"]
    agreed = replace(again, accept_gap=True)
    lake.run(window=agreed)
    assert lake.held() == sorted([*ALL[2:], ("orders", 0), ("orders", 1), ("orders", 2)])


@pytest.mark.parametrize("lake", ["delta", LONG_ICEBERG], indirect=True)
def test_a_topic_made_anew_that_is_still_empty_can_be_rebuilt(lake):
    """As the hint says: the rows go, the new identity comes, and the hint does not come again."""
    lake.three_runs()
    anew(lake)
    assert codes(lake.run) == ["SMT516"]
    report = lake.run(rebuild=True, window=WindowRequest(topics=("orders",)))
    assert report.status == "committed" and lake.held() == [] and lake.state.rows == {"orders": 0}
    assert lake.run().status == "empty"
    lake.add(order(0))
    assert lake.run().records_in == 1 and lake.held() == [("orders", 0)]
