"""Masks that touched nothing, in runs without Dagster: what is on record, what is run again, what cannot be."""

import json
from dataclasses import replace

import pytest

from dagster_smt.errors import PlanError, UnsupportedError
from dagster_smt.model.reports.unmasked import offsets_on_record
from dagster_smt.model.windows.offsets import offsets_of
from dagster_smt.run.batch import run
from dagster_smt.run.micro_batch import run_batches
from dagster_smt.tables.sink_options import FileTopicSink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sources.file_writer import NewRecord
from dagster_smt.tables.window_request import MicroBatches, WindowRequest
from tests.run.test_rules import retention
from tests.run.world import COLUMNS, MASK, World, order, window

WRONG = {**MASK, "transforms.mask.fields": "nmae"}
BOTH = {**MASK, "transforms.mask.fields": "name,email"}
ROUTED = {
    "transforms.route.type": "RegexRouter",
    "transforms.route.regex": "(.*)",
    "transforms.route.replacement": "c.$1",
}
REPAIR = WindowRequest(repair=True)


@pytest.fixture
def world(spark, tmp_path):
    return World(tmp_path, spark)


def with_email(number):
    return NewRecord(None, json.dumps({"name": "x", "id": number, "email": "a@example.org"}).encode())


def test_batches_of_one_run_are_judged_together(world):
    """A field that only the first record has: a single window would have touched it, too."""
    world.add(with_email(0), order(1))
    reports = run_batches(world.spec(BOTH), world.session, MicroBatches(max_records=1))
    assert len(reports) == 2 and not world.state.unmasked


def test_what_the_topic_has_lost_stays_on_record(world):
    world.add(*(order(n) for n in range(5)))
    world.add(*(order(n) for n in range(5, 10)))
    world.run(WRONG)
    retention(world, 5)
    done = world.run(MASK, window=REPAIR)
    assert (done.records_in, done.window.to_json()) == (5, {"orders": {"0": [5, 10]}})
    (warning,) = [w for w in done.warnings if w.code == "SMT353"]
    assert "offsets from 0 to 5 are no longer in the topic" in warning.statement
    (left,) = world.state.unmasked
    assert left.path == "nmae" and left.offsets.to_json() == {"orders": {"0": [[0, 5]]}}
    names = {r.offset: json.loads(r.value)["name"] for r in world.rows()}
    assert {names[n] for n in range(5, 10)} == {""} and "" not in {names[n] for n in range(5)}


def test_topics_remember_it_but_cannot_be_repaired(world):
    world.add(order(0))
    sink = FileTopicSink(world.folder / "out")
    chain = {**WRONG, "transforms": "mask,route", **ROUTED}

    def launched(**changes):
        spec = replace(world.spec(chain), sink=sink, **changes)
        return run(spec, world.session)

    def on_record():
        state = open_table(world.session, sink, world.topics).state()
        return offsets_on_record(state.unmasked), state.accepted

    launched()
    assert on_record()[0] == offsets_of(window(0, 1))
    with pytest.raises(UnsupportedError, match="SMT352"):
        launched(window=REPAIR)
    launched(window=WindowRequest(accept_unmasked="looked at"), key="run/step")
    assert not on_record()[0] and [a.reason for a in on_record()[1]] == ["looked at"]


def test_a_path_that_no_record_can_have_ends_the_run_before_anything_is_read(world):
    with pytest.raises(PlanError, match=r"(?s)SMT303.*did you mean 'name'"):
        world.run(WRONG, kind="columns", value=COLUMNS)
    assert not world.lines and not (world.folder / "table").exists()
