"""What fails in a sink after its commit: the run is committed, says so, and the next one goes on from there."""

from dataclasses import replace

import pytest

from dagster_smt.errors import SmtError
from dagster_smt.run.batch import run
from dagster_smt.tables.sink_options import DeltaSink, FileTopicSink, IcebergSink
from dagster_smt.tables.sinks.delta import DeltaTable
from dagster_smt.tables.sinks.file_topics import FileTopicsTable
from dagster_smt.tables.sinks.iceberg import IcebergTable
from tests.run.world import MASK, ROUTE, World, order


def raises(*arguments, **more):
    raise RuntimeError("secret-4711: a hook after the commit")


def raising_after(method):
    def call(*arguments, **more):
        method(*arguments, **more)
        raises()

    return call


CASES = {
    "Delta repeats the state": (DeltaSink, DeltaTable, "_repeat_state", raises),
    "Delta looks for its commit": (DeltaSink, DeltaTable, "_commit_of", raises),
    "a hook of Delta": (DeltaSink, DeltaTable, "_save", raising_after(DeltaTable._save)),
    "Iceberg counts": (IcebergSink, IcebergTable, "_publish", raising_after(IcebergTable._publish)),
    "Iceberg refreshes its catalog": (IcebergSink, IcebergTable, "commit", raising_after(IcebergTable.commit)),
    "file topics": (FileTopicSink, FileTopicsTable, "commit", raising_after(FileTopicsTable.commit)),
}
QUICK = ("Iceberg refreshes its catalog",)


def cases():
    return [pytest.param(*CASES[name], id=name, marks=[] if name in QUICK else [pytest.mark.long]) for name in CASES]


@pytest.mark.parametrize(("sink", "table", "method", "failing"), cases())
def test_what_a_commit_holds_has_not_failed(spark, tmp_path, monkeypatch, sink, table, method, failing):
    world = World(tmp_path, spark)
    spec = replace(world.spec(ROUTE if sink is FileTopicSink else MASK), sink=sink(tmp_path / "out"))
    world.add(order(0))
    assert world_run(world, spec).status == "committed"
    world.add(order(1))
    with monkeypatch.context() as patch:
        patch.setattr(table, method, failing)
        report = world_run(world, spec)
    assert (report.status, report.records_out) == ("committed", 1)
    assert [p.code for p in report.warnings] == ["SMT595"] and "secret" not in str(report.warnings)
    world.add(order(2))
    assert world_run(world, spec).records_in == 1


@pytest.mark.long
@pytest.mark.parametrize("sink", [DeltaSink, IcebergSink])
def test_what_fails_before_the_commit_has_failed(spark, tmp_path, monkeypatch, sink):
    world = World(tmp_path, spark)
    spec = replace(world.spec(), sink=sink(tmp_path / "out"))
    world.add(order(0))
    world_run(world, spec)
    world.add(order(1))
    table, method = {DeltaSink: (DeltaTable, "_save"), IcebergSink: (IcebergTable, "_write")}[sink]
    with monkeypatch.context() as patch:
        patch.setattr(table, method, raises)
        with pytest.raises(SmtError, match="SMT591"):
            world_run(world, spec)
    assert world_run(world, spec).records_in == 1


def world_run(world, spec):
    return run(spec, world.session, world.lines.append)
