"""What the tests of clusters share: the records, what is shipped to executors, and the results of local runs."""

import shutil
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

from dagster_smt.model.reports.run_report import RunReport
from dagster_smt.run.batch import run
from tests.cluster import cluster, runs
from tests.foreign.jar import compiled


@dataclass
class Shared:
    """Topics and a table with the same records, our code in a zip, a Python without packages, and local runs."""

    folder: Path
    session: object
    reports: dict[str, RunReport]

    @property
    def code(self) -> str:
        return str(self.folder / "code.zip")

    @property
    def bare(self) -> str:
        return str(self.folder / "bare" / "bin" / "python")

    def rows(self, path: Path, left_out: tuple[str, ...] = ()) -> list:
        frame = self.session.read.format("delta").load(str(path))
        return sorted(frame.drop(*left_out).collect(), key=repr)

    def equal(self, name: str, lake: Path) -> bool:
        """Whether a lake holds the rows and the dead letters of the local run."""
        name = runs.place_of(name)
        here, dead = self.folder / "here", f"{name}-dead"
        own = ("commit", "headers")  # each commit has a name of its own
        assert self.rows(lake / name) == self.rows(here / name)
        assert self.rows(lake / dead, own) == self.rows(here / dead, own)
        return self.rows(lake / name) != [] != self.rows(lake / dead)


@pytest.fixture(scope="session")
def shared(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared")
    runs.make_topics(folder, spark)
    compiled(folder, name=runs.JAR)
    venv.create(folder / "bare", with_pip=False)
    shutil.make_archive(str(folder / "code"), "zip", cluster.ROOT, "dagster_smt")
    reports = {name: run(runs.spec(folder, folder / "here", name), spark) for name in runs.RUNS}
    return Shared(folder, spark, reports)
