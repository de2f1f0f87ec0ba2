"""A Spark cluster whose workers share no disk with the driver but the table's: the same rows as a local run."""

import json
import sys

import pytest

from tests.cluster import cluster, runs

pytestmark = [pytest.mark.spark, pytest.mark.long]
SCRIPT = cluster.ROOT / "tests" / "cluster" / "runs.py"


@pytest.fixture(scope="module")
def done(shared, tmp_path_factory):
    """Runs in a driver process: first without our code on the executors, then with it."""
    folder = tmp_path_factory.mktemp("cluster")
    before = cluster.files(shared.folder)
    with cluster.standalone(folder / "cluster") as master:
        conf = {**runs.CONF, "spark.master": master, "spark.local.dir": str(folder / "driver" / "local")}
        bare = {"python": shared.bare, "lake": str(folder / "nothing"), "runs": list(runs.RUNS)[:1]}
        full = {"python": sys.executable, "ship": shared.code, "lake": str(folder / "lake"), "runs": list(runs.RUNS)}
        asked = json.dumps([{"conf": conf, **one} for one in (bare, full)])
        process = cluster.python(folder / "driver", SCRIPT, str(shared.folder), asked)
    assert process.returncode == 0, process.stderr[-3000:]
    assert cluster.files(shared.folder) == before  # sources are read only
    return folder, process.stdout.splitlines()


def test_without_our_code_nothing_is_read_or_written(done):
    folder, lines = done
    expected = "table-records UnsupportedError SMT630 they have no Python module dagster_smt, filelock, msgspec, "
    assert lines[0].startswith(expected)
    assert not (folder / "nothing").exists()


@pytest.mark.parametrize("name", runs.RUNS)
def test_rows_dead_letters_and_counts_are_those_of_a_local_run(shared, done, name):
    folder, lines = done
    report = shared.reports[name]
    assert report.failed > 40 and report.dropped > 40
    assert lines[1 + list(runs.RUNS).index(name)] == f"{name} {runs.did(report)}"
    assert shared.equal(name, folder / "lake")


def test_each_executor_has_a_copy_of_the_jars(done):
    """A Python worker unpacks the archive for its Java process."""
    folder, _ = done
    for worker in (folder / "cluster" / "worker0", folder / "cluster" / "worker1"):
        copies = {path.parents[1].name for path in worker.rglob(f"smt-jars-*/*/{runs.JAR}")}
        assert len(copies) == 1, copies


@pytest.mark.parametrize("number", range(2 * len(runs.RUNS)))
def test_rows_and_dead_letters_do_not_fit_into_the_driver(done, number):
    """So the runs had neither there."""
    line = done[1][1 + len(runs.RUNS) + number]
    assert line.endswith(" too big"), line


def test_nothing_was_written_but_the_tables_and_what_each_process_has_for_itself(done):
    folder, _ = done
    written = set(cluster.files(folder))
    places = {path.split("/")[0] for path in written}
    assert {"lake", "cluster"} <= places <= {"lake", "cluster", "driver"}
    tables = {path.split("/")[1] for path in written if path.startswith("lake/")}
    assert tables == {f"{runs.place_of(name)}{suffix}" for name in runs.RUNS for suffix in ("", "-dead")}
    assert not [path for path in written if path.endswith(".parquet") and not path.startswith("lake/")]
