"""Histories of tables with keys in which somebody commits in between; and mistakes, which the judge must see."""

from contextlib import contextmanager
from unittest.mock import patch

import pytest
from pyspark.sql import functions as F

from dagster_smt.errors import TableError
from dagster_smt.model.windows.offsets import OffsetSet
from dagster_smt.run import batch
from dagster_smt.run import keyed as of_run
from dagster_smt.run.attempt import Attempt
from dagster_smt.tables.keyed import fold, key_events, row_actions
from tests.run.keyed_table import SINKS, Keys
from tests.run.keyed_world import History
from tests.run.test_keyed import SEEDS, Runs, steps

pytestmark = [pytest.mark.spark, pytest.mark.long]


@contextmanager
def before_the_commit(action):
    """Something happens once, after a run has looked at the table and before it writes."""
    write, done = Attempt.write, []

    def late(*args, **kwargs):
        if not done:
            done.append(True)
            action()
        return write(*args, **kwargs)

    with patch.object(Attempt, "write", late):
        yield


class Crowded(Runs):
    """Other writers commit while a run is under way."""

    ACTIONS = ("add", "next", "some", "again", "rival", "rival", "overtaken", "overtaken", "die")

    def rival(self):
        """A second run of the same table commits first: the other one has to say so, or has nothing to add."""
        self.add()
        with before_the_commit(self.keys.run):
            try:
                self.keys.run()
            except TableError as error:
                assert {problem.code for problem in error.problems} == {"SMT528"}, error
        self.read = set(self.places())

    def overtaken(self):
        """Somebody else writes the files anew in the meantime."""
        self.add()
        with before_the_commit(self.compact):
            self.keys.run()
        self.read = set(self.places())


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", list(SINKS))
def test_a_table_is_the_fold_whoever_commits_in_between(kind, seed, spark, tmp_path):
    runs = Crowded(Keys(tmp_path, spark, kind), History(500 + seed), seed)
    for _ in steps(seed):
        runs.step()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", list(SINKS))
def test_a_row_that_moves_to_another_partition_leaves_no_twin(kind, seed, spark, tmp_path):
    """The table is divided by a column that changes."""
    keys = Keys(tmp_path, spark, kind, partition_by=["name"])
    runs = Runs(keys, History(600 + seed, names=3), seed)
    for _ in steps(seed):
        runs.step()


class Plain(Runs):
    """The steps that show every mistake."""

    ACTIONS = ("add", "next", "again")


def first_events(frame):
    return fold.last_events(frame.withColumn("order", F.struct((-F.col("offset")).alias("offset"))))


def without_table(changes, current, keyed):
    return row_actions.with_actions(changes, None, keyed)


MISTAKES = {
    "a replay brings back what was deleted since": (batch, "offsets_to_read_on", lambda *_: OffsetSet()),
    "an older event wins": (of_run, "last_events", first_events),
    "a large column is lost": (key_events, "unchanged_columns", lambda *_: key_events.no_names()),
    "a row has a twin": (of_run, "with_actions", without_table),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_judge_of_histories_calls_mistakes(mistake, spark, tmp_path):
    owner, name, planted = MISTAKES[mistake]
    for seed in range(8):
        runs = Plain(Keys(tmp_path / str(seed), spark), History(700 + seed), seed)
        with patch.object(owner, name, planted):
            try:
                for _ in range(10):
                    runs.step()
            except AssertionError:
                return
    pytest.fail(f"nobody saw that {mistake}")
