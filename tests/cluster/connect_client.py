"""A client of a Connect server, in a process of its own: the runs of ``runs``, and how failures come out there."""

import sys
from dataclasses import replace
from pathlib import Path

from dagster_smt.orchestration import SparkSessionResource
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.spark.environment import is_connect
from dagster_smt.tables.topic_table import TableSource
from tests.cluster import runs


def failing(folder: Path, lake: Path) -> dict[str, RunSpec]:
    """Runs that fail, by what is wrong."""
    base = runs.spec(folder, lake, "files-columns")
    nowhere = replace(base.table, source=TableSource(path=str(folder / "nowhere")))
    return {"records": replace(base, errors_tolerance="none"), "no-table": replace(base, table=nowhere)}


def main(remote: str, folder: Path, out: Path, bare: str, shipped: str) -> None:
    """First with executors that have none of our code, then with them."""
    conf = {"spark.sql.shuffle.partitions": "2"}
    python = {"spark.sql.execution.pyspark.python": bare}
    session = SparkSessionResource(remote=remote, conf={**conf, **python}).spark_session
    print(runs.outcome_of(folder, out / "nothing", "files-columns", session), flush=True)
    session.stop()
    session = SparkSessionResource(remote=remote, conf=conf).spark_session
    assert is_connect(session)
    session.addArtifacts(shipped, pyfile=True)
    for name in runs.RUNS:
        print(runs.outcome_of(folder, out / "lake", name, session), flush=True)
    for name, spec in failing(folder, out / "failed").items():
        print(runs.ended(name, spec, session), flush=True)
    session.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), *sys.argv[4:])
