"""Erasure: tables, letters and topics lose a person, no file keeps a value, and no replay brings the person back."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.errors import SmtError
from dagster_smt.model.topics.format import Format
from dagster_smt.run import erasure as module
from dagster_smt.run.batch import run
from dagster_smt.run.erasure import ErasureTarget, erase
from dagster_smt.run.facts import table_facts
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.erasure.spec import SmtErasure
from dagster_smt.tables.planning import plan_sink
from dagster_smt.tables.sink_options import DeltaSink, FileTopicSink, IcebergSink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from dagster_smt.tables.window_request import WindowRequest

PERSON, OTHER = "anna.with.a.long.name.4711@example.org", "zoe.with.a.long.name.0815@example.org"
TRANSFORMS = "org.apache.kafka.connect.transforms."
CAST = {"transforms": "c", "transforms.c.type": TRANSFORMS + "Cast$Value", "transforms.c.spec": "amount:int32"}
COLUMNS = Format("json_schema", parse_ddl("id INT, mail STRING, amount STRING"))
FLAGGED = Format("json_schema", parse_ddl("id INT, mail STRING, amount STRING, __deleted STRING"))
KEY = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="


REDRIVE = WindowRequest(redrive=True)
ROUTE = {
    "transforms": "r",
    "transforms.r.type": TRANSFORMS + "RegexRouter",
    "transforms.r.regex": "(.*)",
    "transforms.r.replacement": "clean.$1",
}


def record(number, mail=OTHER, amount="5", user=None):
    value = json.dumps({"id": user if user is not None else number, "mail": mail, "amount": amount})
    return NewRecord(mail.encode(), value.encode(), (("user", mail.encode()),), 1700000000000 + number)


class Lake:
    """A topic, a table of columns, and dead letters in a file topic."""

    def __init__(self, folder: Path, session, sink, **changes):
        self.folder, self.session, self.sink = folder, session, sink
        self.topics = FileTopics(folder / "topics")
        self.erasure = SmtErasure(
            register_table=DeltaSink(folder / "erased"),
            key_ring=["e1=${env:EXAMPLE_KEY}"],
            records=["value.mail"],
            columns=["mail"],
        )
        self.erasure = replace(self.erasure, **changes)
        self.letters = {"dead_letter_topic": "orders.dead", "errors_tolerance": "all"}

    @property
    def topic_table(self):
        columns = FLAGGED if self.sink.keyed is not None else COLUMNS
        return TopicTable(self.topics, ("orders",), value=columns if self.sink.kind == "columns" else Format())

    def add(self, *records):
        return append_records(self.topics, "orders", records)

    def spec(self, **changes):
        arguments = {"erasure": self.erasure, **self.letters, **changes}
        return RunSpec("orders", parse_chain(CAST), self.topic_table, self.sink, **arguments)

    def run(self, **changes):
        return run(self.spec(**changes), self.session)

    def erase(self, *ids, **changes):
        place = self.letters.get("dead_letters")
        target = ErasureTarget("orders", self.topic_table, self.sink, self.erasure, place, "orders.dead")
        return erase([target], ids or [PERSON], self.session, **changes)

    @property
    def table(self):
        return open_table(self.session, self.sink)

    def facts(self, report):
        spec = self.spec()
        return table_facts(spec, plan_sink(spec.chain, spec.table, spec.sink), self.session, report.window)

    def mails(self):
        return sorted(row.mail for row in self.table.read().collect())

    def bytes_left(self, *folders):
        """Every file below the folders that holds the person's address, in the clear or as Parquet reads it."""
        return [path for folder in folders for path in (self.folder / folder).rglob("*") if holds(path)]


def holds(path: Path) -> bool:
    import pyarrow.parquet as pq

    if not path.is_file():
        return False
    data = path.read_bytes()
    if data[:4] == b"PAR1":
        data = repr(pq.read_table(path.open("rb")).to_pylist()).encode()
    return PERSON.encode() in data or PERSON[:16].encode() in data


def fill(lake):
    """Two runs: rows of both persons, and a dead letter of each."""
    lake.add(*(record(n, PERSON if n % 2 else OTHER) for n in range(6)), record(6, PERSON, "x"), record(7, OTHER, "x"))
    assert lake.run().failed == 2
    lake.add(record(8, PERSON), record(9))
    return lake.run()


def test_a_person_is_erased_from_a_table_and_a_rebuild_brings_nobody_back(spark, tmp_path):
    """The long tests do this with Delta, more runs, more kinds of replays, and tables that others have changed."""
    register = IcebergSink(tmp_path / "erased")
    lake = Lake(tmp_path, spark, IcebergSink(tmp_path / "table", "columns"), register_table=register)
    lake.add(record(0, PERSON), record(1))
    lake.run()
    assert lake.bytes_left("table")
    assert lake.erase().proven and not lake.bytes_left("table", "erased")
    assert (lake.run(rebuild=True).erased, lake.mails()) == (1, [OTHER])


@pytest.mark.long
@pytest.mark.parametrize("sink", [DeltaSink, IcebergSink])
def test_counts_stay_right_and_no_replay_brings_a_person_back(spark, tmp_path, sink):
    lake = Lake(tmp_path, spark, sink(tmp_path / "table", "columns"))
    fill(lake)
    assert lake.bytes_left("table") and lake.bytes_left("topics/orders.dead")
    report = lake.erase()
    assert report.proven, report.to_markdown()
    assert lake.mails() == [OTHER] * 4 and [place.rows for place in report.places] == [4, 1]
    assert not lake.bytes_left("table", "topics/orders.dead", "erased")
    assert PERSON not in report.to_json() and PERSON not in report.to_markdown()
    state = lake.table.state()
    assert state.erased.persons == 1 and state.rows == {"orders": 4}
    lake.add(record(10), record(11, PERSON), record(12, PERSON, "x"))
    after = lake.run()
    assert (after.records_in, after.erased, after.dropped, after.records_out) == (3, 2, 2, 1)
    facts = lake.facts(after)
    assert facts.rows == facts.counted == 5 and facts.foreign == ()
    for replay in ({"rebuild": True}, {"window": WindowRequest(everywhere=(0, 100))}, {"window": REDRIVE}):
        lake.run(**replay)
        assert lake.mails() == [OTHER] * 5 and not lake.bytes_left("table", "topics/orders.dead")
    with pytest.raises(SmtError) as refused:
        lake.run(erasure=None, rebuild=True)
    assert refused.value.problems[0].code == "SMT756"
    again = lake.erase()
    assert again.proven and again.new == 0 and again.rows == 0, again.to_markdown()


@pytest.mark.long
@pytest.mark.parametrize("sink", [DeltaSink, IcebergSink])
def test_a_second_person_is_erased_later(spark, tmp_path, sink):
    """The first erasure has removed the beginning of Delta's log, which ``VACUUM … LITE`` looks for."""
    lake = Lake(tmp_path, spark, sink(tmp_path / "table", "columns"))
    lake.add(record(0, PERSON), record(1))
    lake.run()
    assert lake.erase(OTHER).proven
    lake.add(record(2, PERSON))
    lake.run()
    report = lake.erase()
    assert report.proven and lake.mails() == [] and not lake.bytes_left("table"), report.to_markdown()


@pytest.mark.long
def test_a_register_that_lost_entries_or_a_key_stops_every_run(spark, tmp_path, monkeypatch):
    lake = Lake(tmp_path, spark, DeltaSink(tmp_path / "table", "columns"))
    lake.add(record(0, PERSON), record(1))
    lake.run()
    lake.erase()
    other = replace(lake.erasure, key_ring=["other=${env:EXAMPLE_KEY}"])
    with pytest.raises(SmtError) as refused:
        lake.run(erasure=other)
    assert refused.value.problems[0].code == "SMT755"
    rotated = replace(lake.erasure, key_ring=["e2=${env:SECOND_KEY}", *lake.erasure.key_ring])
    monkeypatch.setenv("SECOND_KEY", KEY)
    lake.erasure = rotated
    report = lake.erase(OTHER, PERSON)
    assert (report.new, lake.mails()) == (1, [])
    spark.sql(f"DELETE FROM delta.`{tmp_path}/erased` WHERE key_id = 'e2'")
    with pytest.raises(SmtError) as refused:
        lake.run(erasure=rotated)
    assert refused.value.problems[0].code == "SMT755"


def changed_by_others(lake):
    """Old versions of every kind: deletion vectors, change data, a checkpoint, an update, a compaction."""
    name = f"delta.`{lake.folder}/table`"
    properties = "'delta.enableDeletionVectors' = 'true', 'delta.enableChangeDataFeed' = 'true'"
    lake.session.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ({properties}, 'delta.checkpointInterval' = '2')")
    lake.session.sql(f"UPDATE {name} SET amount = 7 WHERE mail = '{PERSON}' AND id = 1")
    lake.session.sql(f"DELETE FROM {name} WHERE mail = '{PERSON}' AND id = 3")
    lake.add(record(20), record(21, PERSON))
    lake.run(settle=True)
    lake.run()


@pytest.mark.long
def test_no_deletion_vector_change_data_or_checkpoint_keeps_a_value(spark, tmp_path):
    lake = Lake(tmp_path, spark, DeltaSink(tmp_path / "table", "columns"))
    fill(lake)
    changed_by_others(lake)
    assert list((tmp_path / "table").rglob("deletion_vector*")) and list((tmp_path / "table/_change_data").iterdir())
    report = lake.erase()
    assert report.proven, report.to_markdown()
    assert PERSON not in lake.mails() and not lake.bytes_left("table")
    lake.add(record(22))
    facts = lake.facts(lake.run())
    assert facts.rows == facts.counted and facts.foreign == ()


@pytest.mark.long
@pytest.mark.parametrize("sink", [DeltaSink, IcebergSink])
def test_an_erasure_that_died_goes_on_with_the_counts_of_its_first_try(spark, tmp_path, monkeypatch, sink):
    """Rows that somebody else deleted before stay a difference that the check shows: the erasure settles its own."""
    lake = Lake(tmp_path, spark, sink(tmp_path / "table", "columns"))
    fill(lake)
    spark.sql(f"DELETE FROM {lake.table.name} WHERE id = 2")
    monkeypatch.setattr(module._TableErasure, "_commit", lambda self, erased, drift: 1 / 0)
    report = lake.erase()
    assert [p.code for p in report.problems] == ["SMT591"] and lake.table.state(settle=True).erased.unfinished
    monkeypatch.undo()
    assert lake.erase().proven
    lake.add(record(10))
    facts = lake.facts(lake.run())
    assert (facts.rows, facts.counted) == (5, 4) and lake.table.state().erased.unfinished is None


@pytest.mark.long
def test_an_old_file_that_nobody_names_is_residue_until_no_run_is_at_work(spark, tmp_path):
    """A run that died has left a file: it may be about to commit, so it stays, and the record says so."""
    lake = Lake(tmp_path, spark, DeltaSink(tmp_path / "table", "columns"))
    fill(lake)
    (data,) = [path for path in (tmp_path / "table").glob("*.parquet") if holds(path)][:1]
    shutil.copy(data, data.with_name("part-00000-of-a-run-that-died.parquet"))
    report = lake.erase()
    (table, _) = report.places
    assert not report.proven and [(one.where, one.file) for one in table.residue] == [
        ("a data file", "part-00000-of-a-run-that-died.parquet")
    ]
    again = lake.erase(no_writers=True)
    assert again.proven and not lake.bytes_left("table"), again.to_markdown()


@pytest.mark.long
def test_a_short_number_is_searched_for_where_it_names_a_person(spark, tmp_path):
    """The id 4711 is also an amount and the offset of nobody: these are no residue, and its own column is none."""
    lake = Lake(tmp_path, spark, DeltaSink(tmp_path / "table", "columns"), records=["value.id"], columns=["id"])
    lake.add(*(record(n, amount="4711") for n in range(4)), record(5, user=4711), record(6, PERSON, "x", user=4711))
    assert lake.run().failed == 1
    report = lake.erase("4711")
    assert report.proven and report.short == 1, report.to_markdown()
    assert sorted(row.id for row in lake.table.read().collect()) == [0, 1, 2, 3]
    assert not [
        path
        for path in (tmp_path / "table/_delta_log").glob("*.*")
        if path.is_file() and b'id\\":4711' in path.read_bytes()
    ]


@pytest.mark.long
def test_rows_are_re_keyed_and_counts_stay(spark, tmp_path):
    changes = {"mode": "rekey", "columns": ["mail"], "clear": ["amount"]}
    lake = Lake(tmp_path, spark, IcebergSink(tmp_path / "table", "columns"), **changes)
    fill(lake)
    report = lake.erase()
    assert report.proven, report.to_markdown()
    rows = [row for row in lake.table.read().collect() if row.mail != OTHER]
    assert len(rows) == 4 and len({row.mail for row in rows}) == 1
    assert all(row.mail.startswith("erased-") and row.amount is None for row in rows)
    lake.add(record(10))
    facts = lake.facts(lake.run())
    assert facts.rows == facts.counted == 9


@pytest.mark.long
@pytest.mark.parametrize("sink", [DeltaSink, IcebergSink])
def test_records_and_letters_in_tables(spark, tmp_path, sink):
    """Kafka's columns: values are JSON, and a value that is no JSON is a letter with the address in it."""
    lake = Lake(tmp_path, spark, sink(tmp_path / "table"), columns=[])
    lake.letters = {"dead_letters": sink(tmp_path / "dead"), "errors_tolerance": "all"}
    broken = NewRecord(b"k", f'{{"mail": "{PERSON}", '.encode())
    lake.add(record(0, PERSON), record(1), record(2, PERSON, "x"), record(3, OTHER, "x"), broken)
    assert lake.run().failed == 3
    assert lake.bytes_left("table") and lake.bytes_left("dead")
    report = lake.erase()
    assert report.proven, report.to_markdown()
    assert [place.rows for place in report.places] == [1, 2] and not lake.bytes_left("table", "dead")
    lake.run(rebuild=True)
    lake.run(window=REDRIVE)
    assert not lake.bytes_left("table", "dead")
    assert lake.table.read().count() == 1 and open_table(spark, lake.letters["dead_letters"]).read().count() == 1


@pytest.mark.long
def test_many_tables_of_one_run(spark, tmp_path):
    """Each table has a place in the record, and the progress of all has the note that stops a run without erasure."""
    lake = Lake(tmp_path, spark, IcebergSink(f"{tmp_path}/lake/{{topic}}", "columns"))
    fill(lake)
    report = lake.erase()
    assert report.proven, report.to_markdown()
    assert [(place.kind, place.rows) for place in report.places] == [("table", 4), ("dead letters", 1)]
    lake.add(record(10, PERSON), record(11))
    assert lake.run().erased == 1 and not lake.bytes_left("lake", "topics/orders.dead")
    table = open_table(spark, lake.sink.of_topic("orders"))
    assert {row.mail for row in table.read().collect()} == {OTHER} and table.state().rows == {"orders": 5}
    with pytest.raises(SmtError) as refused:
        lake.run(erasure=None)
    assert refused.value.problems[0].code == "SMT756"


@pytest.mark.long
def test_a_table_with_keys_and_the_deletions_that_it_remembers(spark, tmp_path):
    """A remembered deletion holds the key of a person. The person is gone from both tables, and stays away."""
    options = {"mode": "upsert", "keys": ["mail"], "sequence_by": "id"}
    lake = Lake(tmp_path, spark, DeltaSink(tmp_path / "table", "columns", **options))
    gone = {"id": 2, "mail": PERSON, "amount": "5", "__deleted": "true"}
    lake.add(record(0, PERSON), record(1), NewRecord(None, json.dumps(gone).encode(), (), 1700000000002))
    lake.run()
    lake.add(record(3, "third.with.a.long.name@example.org"))
    lake.run()
    assert lake.bytes_left("table__deleted")
    report = lake.erase()
    assert report.proven, report.to_markdown()
    assert PERSON not in lake.mails() and not lake.bytes_left("table", "table__deleted")
    lake.run(rebuild=True)
    assert PERSON not in lake.mails() and not lake.bytes_left("table", "table__deleted")


@pytest.mark.long
def test_records_of_topics_that_we_write_are_emptied_and_keep_their_offsets(spark, tmp_path):
    lake = Lake(tmp_path, spark, FileTopicSink(tmp_path / "clean"), columns=[])
    lake.add(record(0, PERSON), record(1), record(2, PERSON))
    chain = parse_chain(ROUTE)
    run(replace(lake.spec(), chain=chain), spark)
    segment = next((tmp_path / "clean/clean.orders/0").glob("*.jsonl"))
    size = segment.stat().st_size
    report = lake.erase()
    assert report.proven and not lake.bytes_left("clean"), report.to_markdown()
    lines = [json.loads(line) for line in segment.read_text().splitlines()]
    assert [line["value"] is None for line in lines] == [True, False, True] and segment.stat().st_size == size
    assert [line["offset"] for line in lines] == [0, 1, 2]
    assert next(h["key"] for h in lines[0]["headers"]).startswith("dagster_smt.")
    lake.add(record(3, PERSON), record(4))
    assert run(replace(lake.spec(), chain=chain), spark).erased == 1
    assert not lake.bytes_left("clean")
