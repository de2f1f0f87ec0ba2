"""What executors lack is found by a function that needs nothing of ours where it runs."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark import cloudpickle

from dagster_smt.errors import UnsupportedError
from dagster_smt.run.spark_failures import coded_failures
from dagster_smt.spark.executors import MODULES, PACKAGE, SHIPPING, failed_look, lacking, probe

ROOT = Path(__file__).parents[2]
LOOK = "import pickle, sys; print(pickle.load(sys.stdin.buffer)(0))"


def answer(folder, *flags):
    """What the function says in an interpreter that sees PySpark's cloudpickle, and one folder."""
    path = folder / "pyspark_only" / "pyspark"
    if not path.exists():
        shutil.copytree(Path(cloudpickle.__file__).parent, path / "cloudpickle")
        (path / "__init__.py").write_text("")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(path.parent)])}
    source = cloudpickle.dumps(probe(PACKAGE, MODULES))
    done = subprocess.run([sys.executable, *flags, "-c", LOOK], input=source, env=env, cwd=folder, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def copied(folder):
    return Path(shutil.copytree(ROOT / PACKAGE, folder / PACKAGE, ignore=shutil.ignore_patterns("__pycache__")))


def test_modules_that_are_missing_are_named(tmp_path):
    result = answer(tmp_path, "-S")
    (problem,) = lacking([result, {"missing": [], "code": "x"}])
    assert set(result["missing"]) == set(MODULES)
    expected = "SMT630 Spark's executors: they have no Python module dagster_smt, filelock, msgspec, numpy, pyarrow, "
    assert str(problem).startswith(expected) and problem.hint == SHIPPING


def test_the_same_code_elsewhere_is_the_same(tmp_path):
    copied(tmp_path)
    assert lacking([answer(tmp_path)]) == []


def test_other_code_is_not(tmp_path):
    with (copied(tmp_path) / "values" / "mask.py").open("a") as file:
        file.write("# another version\n")
    (problem,) = lacking([answer(tmp_path)])
    assert str(problem).startswith("SMT631 Spark's executors: their dagster_smt is another than that of this process")


def test_the_list_of_modules_is_what_executors_import():
    code = """
import sys
there = {*sys.modules}
import dagster_smt.spark.records.arrow_map, dagster_smt.spark.records.envelopes, dagster_smt.spark.reading.json_columns
import dagster_smt.tables.sources.file_topics, dagster_smt.tables.sources.frame_writer
import dagster_smt.tables.sources.parquet_rows
print(*{name.split(".")[0] for name in sys.modules} - there - set(sys.stdlib_module_names))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    brought = {"annotated_types", "cython_runtime", "pydantic_core", "typing_extensions", "typing_inspection"}
    result = {n for n in done.stdout.split() if not n.startswith("_")} - brought - {"pyspark", "py4j"}
    assert result == set(MODULES), done.stderr


FAILED = [
    ("ModuleNotFoundError: No module named 'pandas.core'", "SMT630 Spark's executors: they have no Python module pand"),
    (
        "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.10 than that in driver: 3.11, PySpark",
        "SMT632 Spark's executors: they have another version of Python than this process: 3.10 and 3.11",
    ),
]


@pytest.mark.parametrize(("text", "expected"), FAILED)
def test_executors_that_cannot_run_the_function(text, expected):
    assert str(failed_look(text)).startswith(expected)
    assert failed_look("something else") is None


def test_a_connect_server_that_is_gone():
    from pyspark.errors.exceptions import base

    if not hasattr(base, "RetriesExceeded"):
        pytest.skip("PySpark 3.5 has no such condition")
    with pytest.raises(Exception) as caught, coded_failures("orders"):
        raise base.RetriesExceeded(errorClass="RETRIES_EXCEEDED", messageParameters={})
    assert str(caught.value).startswith("SMT621 orders: the Spark Connect server no longer responds")


def test_what_slips_through_gets_the_same_remedy():
    from pyspark.errors import PySparkException

    with pytest.raises(Exception) as caught, coded_failures("orders"):
        raise PySparkException("ModuleNotFoundError: No module named 'acme'")
    (problem,) = caught.value.problems
    assert (problem.code, problem.hint) == ("SMT624", SHIPPING)
    assert not isinstance(caught.value, UnsupportedError)
