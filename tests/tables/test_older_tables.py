"""Tables that older commits of this package wrote: a run of today goes on with them.

Each folder of ``older`` holds the topics and the Delta table of a commit, which has read ten records in two runs: 2 and
7 failed, 4 is a tombstone. Three records have come since. docs/versions.md says how to add one.
"""

import shutil
from pathlib import Path

import pytest

from dagster_smt.model.topics.state import FORMAT_OF_OWN_TABLES
from dagster_smt.tables.window_request import WindowRequest
from tests.run.world import CHAIN, COLUMNS, SECRET, World, order, window

FOLDER = Path(__file__).parent / "older"
TABLES = sorted(folder.name for folder in FOLDER.iterdir())
MASKED = {**CHAIN, "transforms.mask.fields": "name"}
SETTINGS = {"kind": "columns", "value": COLUMNS, "errors_tolerance": "all", "dead_letter_topic": "orders.dead"}
GOOD = [0, 1, 3, 5, 6, 8, 9]


def world_of(name, folder, spark):
    """The topics and the table of an older commit, in a folder of their own."""
    shutil.copytree(FOLDER / name, folder, dirs_exist_ok=True)
    return World(folder, spark)


def ids(world):
    return sorted(row.id for row in world.rows())


def test_there_are_tables_of_three_commits():
    assert len(TABLES) >= 3


@pytest.mark.parametrize("name", TABLES)
def test_a_run_goes_on_where_an_older_one_ended(spark, tmp_path, name):
    world = world_of(name, tmp_path, spark)
    assert ids(world) == GOOD
    report = world.run(MASKED, **SETTINGS)
    assert (report.records_in, report.failed) == (3, 0)
    assert ids(world) == [*GOOD, 10, 11, 12]
    state = world.state
    assert state.number == 3 and state.held.parts == {("orders", 0): ((0, 13),)}
    assert f'"format":{FORMAT_OF_OWN_TABLES}' in state.to_text() and state.rows == {"orders": 10}
    assert SECRET not in str(world.rows())


@pytest.mark.long
@pytest.mark.parametrize("name", TABLES)
def test_its_rows_are_replaced_and_its_failed_records_run_again(spark, tmp_path, name):
    world = world_of(name, tmp_path, spark)
    world.run(MASKED, **SETTINGS, window=WindowRequest(explicit=window(3, 6)))
    assert ids(world) == GOOD
    if world.state.failed:
        assert world.run(MASKED, **SETTINGS, window=WindowRequest(redrive=True)).records_in == 2
    world.add(order(13))
    assert world.run(MASKED, **SETTINGS).records_in == 4
    assert ids(world) == [*GOOD, 10, 11, 12, 13]
