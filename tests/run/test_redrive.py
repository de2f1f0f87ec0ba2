"""Failed records run again after the chain is mended: exactly those, once, whatever was run before."""

import shutil
from dataclasses import replace

import pytest

from dagster_smt.errors import ConfigError, TableError, UnsupportedError
from dagster_smt.run.batch import run
from dagster_smt.tables.sink_options import DeltaSink, FileTopicSink
from dagster_smt.tables.window_request import WindowRequest
from tests.run.test_rules import retention
from tests.run.world import CHAIN, COLUMNS, MASK, SECRET, World, mixed, order, window

LETTERS = {"errors_tolerance": "all", "dead_letter_topic": "orders.dead"}
MENDED = {k: v for k, v in CHAIN.items() if ".cast." not in k} | {"transforms": "drop,mask"}
DROP = {"transforms": "drop", "transforms.drop.type": "org.apache.kafka.connect.transforms.Filter"}
AGAIN = {**LETTERS, "window": WindowRequest(redrive=True)}


@pytest.fixture
def world(spark, tmp_path):
    return World(tmp_path, spark)


@pytest.fixture(params=["topic", "table"])
def failed(world, request):
    """Ten records of which 2 and 7 failed, another partition of which 0 did; where letters go."""
    mixed(world)
    world.add(order(0, SECRET), order(1), partition=1)
    options = dict(LETTERS)
    if request.param == "table":
        options = {"errors_tolerance": "all", "dead_letters": DeltaSink(world.folder / "letters")}
    world.run(CHAIN, **options)
    world.options = {**options, "window": WindowRequest(redrive=True)}
    return world


def places(world):
    return sorted((r.partition, r.offset) for r in world.rows())


def test_exactly_the_failed_records_come_into_the_table(failed):
    before = places(failed)
    report = failed.run(MASK, **failed.options)
    assert (report.status, report.records_in, report.records_out, report.failed) == ("committed", 3, 3, 0)
    assert report.window.to_json() == {"orders": {"0": [2, 3, 7, 8], "1": [0, 1]}}
    assert places(failed) == sorted([*before, (0, 2), (0, 7), (1, 0)])
    assert failed.state.rows == {"orders": len(before) + 3}
    assert failed.run(MASK, **failed.options).status == "empty"  # nothing is left
    assert failed.run(MASK, errors_tolerance="all").status == "empty"  # and nothing is new


@pytest.mark.long
def test_records_that_fail_again_have_one_letter_and_are_run_again_later(world):
    mixed(world)
    world.run(CHAIN, **LETTERS)
    again = world.run(CHAIN, **AGAIN)
    assert (again.records_in, again.failed, len(world.dead())) == (2, 2, 2)
    world.add(order(10, SECRET))
    world.run(CHAIN, **LETTERS)
    done = world.run(MASK, **AGAIN)
    assert (done.records_in, done.records_out) == (3, 3)


def test_only_the_topics_that_are_asked_for(world):
    mixed(world)
    world.run(CHAIN, **LETTERS)
    request = WindowRequest(redrive=True, topics=("orders",))
    assert world.run(MASK, **{**AGAIN, "window": request}).records_in == 2


def test_what_failed_in_a_topic_made_anew_does_not_count(world):
    mixed(world)
    world.run(CHAIN, **LETTERS)
    assert world.state.failed.records == 2
    shutil.rmtree(world.folder / "topics" / "orders")
    world.add(*(order(n) for n in range(20)))
    world.run(CHAIN, window=WindowRequest(topics=("orders",)), rebuild=True)
    assert world.run(MASK, **AGAIN).status == "empty"


def test_what_the_mended_chain_drops_is_settled(world):
    mixed(world)
    world.run(CHAIN, **LETTERS)
    done = world.run(DROP, **AGAIN)
    assert (done.records_in, done.dropped, done.records_out) == (2, 2, 0)
    assert world.run(DROP, **AGAIN).status == "empty"


def test_a_row_that_somebody_deleted_stays_away(world):
    mixed(world)
    world.run(CHAIN, **LETTERS)
    world.run(MASK, **AGAIN)
    world.session.sql(f"DELETE FROM delta.`{world.folder / 'table'}` WHERE offset = 2")
    assert world.run(MASK, **AGAIN).status == "empty" and 2 not in world.offsets()


@pytest.mark.long
def test_a_range_that_is_run_again_tells_anew_what_failed(world):
    mixed(world)
    world.run(CHAIN, **LETTERS)
    world.run(MENDED, **{**LETTERS, "window": WindowRequest(explicit=window(0, 5))})
    assert world.run(MENDED, **AGAIN).window.to_json() == {"orders": {"0": [7, 8]}}
    world.run(CHAIN, **{**LETTERS, "window": WindowRequest(explicit=window(0, 5))})
    assert world.run(MENDED, **AGAIN).window.to_json() == {"orders": {"0": [2, 3]}}


def test_under_a_new_name_and_without_letters(world):
    mixed(world)
    world.run(CHAIN, errors_tolerance="all")
    spec = replace(world.spec(MASK, window=WindowRequest(redrive=True)), name="renamed", take_over=True)
    assert run(spec, world.session).records_out == 2


@pytest.mark.long
def test_more_than_a_table_remembers_one_by_one(failed, monkeypatch):
    """Then those between them are read, too, and replaced: the table holds each once."""
    monkeypatch.setattr("dagster_smt.run.commits.MOST_FAILED", 1)
    failed.run(CHAIN, **{**failed.options, "window": WindowRequest(explicit=window(0, 10))})
    assert failed.state.roughly
    before = places(failed)
    report = failed.run(MENDED, **failed.options)
    assert report.window.to_json() == {"orders": {"0": [2, 8], "1": [0, 1]}}
    assert places(failed) == sorted([*before, (0, 2), (0, 7), (1, 0)]) and not failed.state.roughly
    assert failed.state.rows == {"orders": len(before) + 3}
    assert failed.run(MENDED, **failed.options).status == "empty"


def test_a_letter_of_a_run_that_did_not_commit_waits_for_the_next_usual_run(world, monkeypatch):
    from dagster_smt.tables.sinks.delta import DeltaTable

    world.add(order(0))
    world.run(CHAIN, **LETTERS)
    world.add(order(1, SECRET))
    with monkeypatch.context() as patch:
        patch.setattr(DeltaTable, "commit", _dying)
        with pytest.raises(KeyboardInterrupt):
            world.run(CHAIN, **LETTERS)
    assert len(world.dead()) == 1
    assert world.run(MASK, **AGAIN).status == "empty"
    assert world.run(MASK, **LETTERS).records_in == 1


def _dying(*args):
    raise KeyboardInterrupt


@pytest.mark.long
def test_columns_need_not_tell_where_rows_come_from(world, monkeypatch):
    mixed(world)
    options = {"kind": "columns", "value": COLUMNS, "errors_tolerance": "all", "dead_letter_topic": "orders.dead"}
    report = world.run(MASK, **options)
    assert report.failed == 3  # amounts that are texts, and a tombstone, which has no columns
    again = world.run(MASK, window=WindowRequest(redrive=True), **options)
    assert (again.records_in, again.failed, len(world.dead())) == (3, 3, 3)
    spec = world.spec(MASK, window=WindowRequest(redrive=True), **options)
    sink = DeltaSink(world.folder / "plain", "columns", source_columns=None)
    _run(world, spec, sink, window=WindowRequest())
    assert _run(world, spec, sink).records_in == 3
    monkeypatch.setattr("dagster_smt.run.commits.MOST_FAILED", 1)  # but they do if others have to be replaced
    assert _run(world, spec, sink).records_in == 3
    with pytest.raises(TableError, match="SMT514"):
        _run(world, spec, sink)


def test_records_of_topics_cannot_be_replaced(world):
    mixed(world)
    sink = FileTopicSink(world.folder / "out")
    spec = world.spec(CHAIN, **AGAIN)
    _run(world, spec, sink, window=WindowRequest())
    with pytest.raises(UnsupportedError, match="SMT578"):
        _run(world, spec, sink)


def _run(world, spec, sink, **changes):
    return run(replace(spec, sink=sink, **changes), world.session, world.lines.append)


def test_failed_records_that_the_topic_has_lost(world):
    world.add(*(order(n, SECRET if n == 2 else n) for n in range(5)))
    world.add(*(order(n, SECRET if n == 7 else n) for n in range(5, 10)))
    world.run(CHAIN, **LETTERS)
    retention(world, 5)
    done = world.run(MASK, **AGAIN)
    assert (done.records_in, 7 in world.offsets(), 2 in world.offsets()) == (1, True, False)
    (warning,) = [w for w in done.warnings if w.code == "SMT519"]
    assert "failed records from offset 2 to 3 are no longer in the topic" in warning.statement


def test_what_was_not_read_yet_is_no_gap(world):
    """A range was run before what lies before it; its failed record is run again, and nothing is left out for good."""
    mixed(world)
    world.run(CHAIN, **{**LETTERS, "window": WindowRequest(explicit=window(5, 10))})
    request = WindowRequest(redrive=True, accept_gap=True)
    assert world.run(MASK, **{**AGAIN, "window": request}).records_in == 1
    assert not world.state.gaps
    assert world.run(CHAIN, **LETTERS).records_in == 5


def test_a_run_that_is_launched_again_with_a_mended_chain_is_another_request(world):
    mixed(world)
    world.run(CHAIN, **LETTERS)
    assert world.run(CHAIN, key="run/step", **AGAIN).failed == 2
    assert world.run(CHAIN, key="run/step", **AGAIN).status == "already committed"
    assert world.run(MASK, key="run/step", **AGAIN).records_out == 2


WRONG = [
    ({"window": WindowRequest(redrive=True, explicit=window(0, 1))}, "SMT513"),
    ({"window": WindowRequest(redrive=True, max_records=1)}, "SMT513"),
    ({"rebuild": True}, "SMT513"),
]


@pytest.mark.parametrize(("change", "code"), WRONG)
def test_what_makes_no_sense_is_refused(world, change, code):
    mixed(world)
    with pytest.raises(ConfigError, match=code):
        world.run(MASK, **{**AGAIN, **change})


def test_nothing_ever_failed(world):
    world.add(order(0))
    assert world.run(MASK, **AGAIN).status == "empty"  # not even a table is there
    world.run(MASK, **LETTERS)
    assert world.run(MASK, **AGAIN).status == "empty"
