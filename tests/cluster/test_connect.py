"""Runs over Spark Connect: the same rows as in a session of this process, failures with their codes."""

import sys

import pytest

from dagster_smt.tables.sinks.delta import _CONFLICT
from tests.cluster import cluster, runs

pytestmark = [pytest.mark.spark, pytest.mark.long]
SCRIPT = cluster.ROOT / "tests" / "cluster" / "connect_client.py"


@pytest.fixture(scope="module")
def done(shared, tmp_path_factory):
    import pyspark

    from dagster_smt.spark.packages import session_settings

    folder = tmp_path_factory.mktemp("connect")
    own = {"spark.master": "local[2]", "spark.local.dir": str(folder / "server" / "local"), "spark.log.level": "INFO"}
    conf = session_settings(["delta"], {**runs.CONF, **own}, pyspark.__version__)
    with cluster.connect_server(folder / "server", conf, PYSPARK_PYTHON=sys.executable) as remote:
        places = (str(shared.folder), str(folder))
        process = cluster.python(folder / "client", SCRIPT, remote, *places, shared.bare, shared.code)
    assert process.returncode == 0, process.stderr[-3000:]
    return folder, process.stdout.splitlines()


def test_without_our_code_nothing_is_read_or_written(done):
    folder, lines = done
    assert lines[0].startswith(
        "files-columns UnsupportedError SMT630 they have no Python module dagster_smt, filelock, msgspec"
    )
    assert not (folder / "nothing").exists()


@pytest.mark.parametrize("name", runs.RUNS)
def test_rows_dead_letters_and_counts_are_those_of_a_local_run(shared, done, name):
    folder, lines = done
    assert lines[1 + list(runs.RUNS).index(name)] == f"{name} {runs.did(shared.reports[name])}"
    assert shared.equal(name, folder / "lake")


def test_failures_have_their_codes(done):
    folder, lines = done
    results = ["records RecordsRejected SMT414", "no-table TableError SMT546"]
    assert [" ".join(line.split()[:3]) for line in lines[1 + len(runs.RUNS) :]] == results
    assert not (folder / "failed").exists()


def test_delta_tells_of_a_conflict_in_words_that_are_known():
    """Over Connect there is no class of Java's, only this text."""
    assert _CONFLICT.search(
        "(io.delta.exceptions.ConcurrentAppendException) [DELTA_CONCURRENT_APPEND] ConcurrentAppendException: "
        "Files were added to the root of the table by a concurrent update. Please try the operation again."
    )
