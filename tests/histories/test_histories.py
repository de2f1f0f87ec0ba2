"""Random histories of every source and sink: after each step rows and dead letters are what the model says.

``HISTORIES=20 SEED=1000 pytest -m long tests/histories`` looks for new ones. A history that goes wrong prints its
setting and its steps: ``History(setting, …).play(steps)`` plays them again, and fewer of them.
"""

import os
import pprint
import random
from pathlib import Path

import pytest

from tests.histories.draw import PAIRS, play, setting_of
from tests.histories.history import History
from tests.histories.ways import WAYS

QUICK = [
    ("files", "iceberg records"),
    pytest.param(("kafka", "files"), marks=pytest.mark.long),
]
"""These are played in CI, with so many runs; bronze tables and Delta are in ``WAYS``, and brokers have tests of their
own. The long test plays all pairs."""
RUNS = 2
SEED = int(os.environ.get("SEED", "2"))
HISTORIES = int(os.environ.get("HISTORIES", "10"))


def check(spark, folder: Path, pair, seed: int, runs: int, servers: str = "") -> None:
    """Play a history; a problem is told with what it takes to play it again."""
    chance = random.Random(f"{seed} {pair}")
    history = History(setting_of(pair, chance), spark, folder, servers)
    problems = play(history, chance, runs)
    if problems:
        steps = pprint.pformat(history.steps, width=120)
        pytest.fail(f"{history.setting}, seed {seed}\n{steps}\n" + "\n".join(problems), pytrace=False)


def servers_of(pair, request) -> str:
    return request.getfixturevalue("broker").servers if "kafka" in pair else ""


@pytest.mark.parametrize("pair", QUICK, ids=" to ".join)
def test_rows_and_letters_are_what_the_model_says(spark, tmp_path, request, pair):
    check(spark, tmp_path, pair, SEED, RUNS, servers_of(pair, request))


@pytest.mark.long
@pytest.mark.parametrize("pair", PAIRS, ids=" to ".join)
def test_many_histories(spark, tmp_path, request, pair):
    for number in range(HISTORIES):
        check(spark, tmp_path / str(number), pair, SEED + number, 8, servers_of(pair, request))


PART_OF_ANOTHER = (
    "Delta is restored",
    "Delta is restored, and a run is tried again",
    "Iceberg is rolled back",
    "Iceberg is rolled back, compacted and expired",
    "records of others in the topics",
    "two runs at once, with letters in a topic",
    "two runs at once, with letters in a table",
    "two runs at once, with letters in a new table",
    "a fixed range again with a mended chain",
    "a topic that had wholly expired loses more",
    "topics are copied under their own names",
    "retention in a partition that was added",
    "two runs at once, from and to a broker",
    "a rebuild again with a mended chain",
    "records of others in file topics",
    "a bronze table is filled later",
    "timestamps in nanoseconds",
)
"""Ways that others go, too, and further, or that take long: these are long."""


def ways():
    assert set(PART_OF_ANOTHER) < WAYS.keys()
    return [
        pytest.param(*way, id=name, marks=[pytest.mark.long] if name in PART_OF_ANOTHER else [])
        for name, way in WAYS.items()
    ]


@pytest.mark.parametrize(("setting", "steps"), ways())
def test_what_happens_is_what_the_model_says(spark, tmp_path, request, setting, steps):
    history = History(setting, spark, tmp_path, servers_of((setting.source,), request))
    assert history.play(steps) == []
