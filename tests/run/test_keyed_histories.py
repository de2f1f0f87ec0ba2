"""The long histories in short: each kind of table once, and mistakes, which must be called.

``python -m tests.run.histories --histories 1000`` plays as many as one likes.
"""

from unittest.mock import patch

import pytest

from dagster_smt.tables.sinks.delta import DeltaTable
from dagster_smt.tables.sinks.iceberg import IcebergTable
from tests.run.histories import KINDS, World
from tests.run.test_keyed_judge import MISTAKES

pytestmark = [pytest.mark.spark, pytest.mark.long]


@pytest.mark.parametrize("form", ["delta", "iceberg"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_world_of_each_kind(kind, form, spark, tmp_path):
    world = World(tmp_path, spark, form, kind, 1, 10)
    assert world.play(6) == []
    assert world.number > 0


def called(folder, session, kind, form="delta"):
    """True if the judge says that something is wrong, in any of some worlds."""
    for seed in range(6):
        if World(folder / str(seed), session, form, kind, 100 + seed, 12).play(8):
            return True
    return False


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_called(mistake, spark, tmp_path):
    owner, name, planted = MISTAKES[mistake]
    with patch.object(owner, name, planted):
        assert called(tmp_path, spark, "upsert"), f"nobody saw that {mistake}"


@pytest.mark.parametrize(("form", "table"), [("delta", DeltaTable), ("iceberg", IcebergTable)])
def test_changes_of_others_that_are_overlooked_are_called(form, table, spark, tmp_path):
    with patch.object(table, "_changes_since", lambda *_: []):
        assert called(tmp_path, spark, "foreign", form)
