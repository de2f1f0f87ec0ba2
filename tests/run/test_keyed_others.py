"""What other writers do to a table with keys, and what the next runs make of it."""

import deltalake
import pytest

from dagster_smt.errors import TableError
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sinks.delta import DeltaTable
from dagster_smt.tables.window_request import WindowRequest
from tests.run.histories import before_the_commit
from tests.run.keyed_table import Keys
from tests.run.keyed_world import Event
from tests.run.test_keyed import upsert

pytestmark = pytest.mark.spark
FORMS = ["delta", pytest.param("iceberg", marks=pytest.mark.long)]


def names(keys):
    return {key: (row["name"], row["note"]) for key, row in keys.by_key().items()}


@pytest.mark.parametrize("form", FORMS)
def test_a_change_of_others_stays_until_the_next_event_of_its_key(form, spark, tmp_path):
    keys = Keys(tmp_path, spark, form)
    keys.add([upsert(number, number, "ours") for number in range(1, 5)])
    keys.run()
    keys.update_by_others([1, 2], "theirs")
    keys.delete_by_others([3, 4])
    keys.insert_by_others([5, 6], "theirs")
    keys.add([upsert(1, 5, "again"), upsert(3, 6, "again"), upsert(5, 7, "again"), Event(6, None, offset=8)])
    counts = keys.run().keyed["people"]
    assert (counts.inserted, counts.updated, counts.deleted) == (1, 2, 1)
    assert names(keys) == {1: ("again", "t"), 2: ("ours", "theirs"), 3: ("again", "t"), 5: ("again", "t")}
    keys.run(rebuild=True)
    assert names(keys) == {1: ("again", "t"), 2: ("ours", "t"), 3: ("again", "t"), 4: ("ours", "t"), 5: ("again", "t")}


@pytest.mark.long
@pytest.mark.parametrize("form", ["delta", "iceberg"])
def test_rows_that_change_during_a_run_are_told(form, spark, tmp_path):
    """An update of a row that is gone would do nothing: the event would be lost."""
    keys = Keys(tmp_path, spark, form)
    keys.add([upsert(1, 0, "ours"), upsert(2, 1, "ours")])
    keys.run()
    keys.add([upsert(1, 2, "again")])
    with before_the_commit(lambda: keys.delete_by_others([1])), pytest.raises(TableError, match="SMT708"):
        keys.run()
    assert names(keys) == {2: ("ours", "t")}
    keys.run()
    assert names(keys) == {1: ("again", "t"), 2: ("ours", "t")}


@pytest.mark.long
def test_rows_that_change_in_the_moment_of_the_commit_are_told_after_it(spark, tmp_path, monkeypatch):
    """Between a last look at the log and Delta's own look the run is blind; the commit shows what Delta has read."""
    keys = Keys(tmp_path, spark)
    keys.add([upsert(1, 0, "ours")])
    keys.run()
    keys.add([upsert(1, 1, "again")])
    changes_since, calls = DeltaTable._changes_since, []

    def late(table, seen, until=None):
        calls.append(until)
        if len(calls) > 1:
            return changes_since(table, seen, until)
        deltalake.DeltaTable(str(tmp_path / "table")).delete("id = 1")
        return []

    with monkeypatch.context() as patch:
        patch.setattr(DeltaTable, "_changes_since", late)
        report = keys.run()
    assert [problem.code for problem in report.warnings] == ["SMT708"]
    keys.run(window=WindowRequest(everywhere=(1, 2)))
    assert names(keys) == {1: ("again", "t")}


@pytest.mark.long
@pytest.mark.parametrize("form", ["delta", "iceberg"])
def test_two_rows_of_one_key_are_told(form, spark, tmp_path):
    keys = Keys(tmp_path, spark, form)
    keys.add([upsert(1, 0, "ours")])
    keys.run()
    keys.insert_by_others([1], "theirs")
    keys.add([upsert(1, 1, "again")])
    with pytest.raises(TableError, match="SMT709"):
        keys.run()
    spark.sql(f"DELETE FROM {open_table(spark, keys.sink).name} WHERE name = 'theirs'").collect()
    keys.run()
    assert names(keys) == {1: ("again", "t")}
