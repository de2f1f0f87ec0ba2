"""Checks, before a run reads the first record, whether Spark's executors can import all modules that they need.

Executors are separate processes, mostly on other machines. They need this package and its libraries. The check runs a
small job that tries to import the modules. cloudpickle sends the job's function with its code, so the job itself runs
without this package on the executors.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from weakref import WeakSet

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from dagster_smt.errors import Problem, UnsupportedError
from dagster_smt.spark.environment import is_connect

PACKAGE = "dagster_smt"
MODULES = (PACKAGE, "filelock", "msgspec", "numpy", "pyarrow", "pydantic", "regex", "yaml")
"""The modules that this package's functions import on executors, apart from PySpark."""

SHIPPING = (
    "ship this process's environment to them, as docs/cluster.md explains: spark.archives with the packed "
    "environment, and PYSPARK_PYTHON inside it; over Spark Connect addArtifacts and spark.sql.execution.pyspark.python"
)
"""The remedy in every message about a module or file that executors lack."""

# The two numbers in Spark's message: Python in worker has different version: 3.11 than that in driver: 3.12.
_PYTHON = re.compile(r"PYTHON_VERSION_MISMATCH\]?.*?(\d\.\d+).*?(\d\.\d+)", re.DOTALL)
_NO_MODULE = re.compile(r"(?:ModuleNotFoundError|ImportError): No module named '([\w.]+)'")
_ROWS = 10_000
_checked: "WeakSet[Any]" = WeakSet()


def check_executors(session: SparkSession) -> None:
    """Raises an error if the executors of ``session`` lack modules that tasks need. Each session is checked only once.
    A local session is not checked.

    The check does not see executors that Spark adds later.

    Raises:
        UnsupportedError: SMT630: modules are missing; SMT631: ``dagster_smt`` on the executors differs from
            ``dagster_smt`` in this process; SMT632: executors have a different version of Python.
    """
    if session in _checked or not has_remote_executors(session):
        return
    look = F.udf(probe(PACKAGE, MODULES), "string")
    try:
        # executors with the same modules and code give the same answer, so few rows come back
        rows = session.range(_ROWS).select(look("id").alias("answer")).distinct().collect()
    except PySparkException as error:
        if problem := failed_look(str(error)):
            raise UnsupportedError(problem) from None
        raise
    problems = lacking([json.loads(row.answer) for row in rows])
    if problems:
        raise UnsupportedError(problems)
    # only now, so that a session that has failed the check is checked again
    _checked.add(session)


def has_remote_executors(session: SparkSession) -> bool:
    """Returns True if the executors of ``session`` may be outside this process, for example on a cluster."""
    if is_connect(session):
        return True
    master = session.conf.get("spark.master", "local")
    return re.fullmatch(r"local(\[.*\])?", master or "local") is None


def probe(package: str, modules: Iterable[str]) -> Callable[[int], str]:
    """Returns a function for executors. The function tries to import ``modules``, and returns a JSON text such as
    ``{"missing": ["yaml"], "code": "…"}``. ``code`` is one hash of all Python files of ``package``.

    The function is nested and contains its own imports, so cloudpickle ships it by value.
    """
    names = tuple(modules)
    known: dict[str, str] = {}

    def digest(folder: Any, path: str = "") -> list[tuple[str, str]]:
        import hashlib

        hashes = []
        for entry in folder.iterdir():
            name = f"{path}/{entry.name}"
            if entry.is_dir():
                hashes += digest(entry, name)
            elif name.endswith(".py"):
                hashes.append((name, hashlib.sha256(entry.read_bytes()).hexdigest()))
        return sorted(hashes)

    def look(number: int) -> str:
        import hashlib
        import importlib
        import json
        from importlib.resources import files

        # the task calls this function for each row, but the answer stays the same
        if "found" not in known:
            missing = []
            for name in names:
                try:
                    importlib.import_module(name)
                except ImportError:
                    missing.append(name)
            if package in missing:
                code = ""
            else:
                code = hashlib.sha256(repr(digest(files(package))).encode()).hexdigest()
            known["found"] = json.dumps({"missing": missing, "code": code})
        return known["found"]

    return look


def lacking(looks_of_executors: Iterable[Mapping[str, Any]]) -> list[Problem]:
    """Returns the problems that the executors' answers show. The list is empty if all executors have every module, and
    the same code as this process.

    Args:
        looks_of_executors: One answer per executor: ``{"missing": ["yaml"], "code": "…"}``, with the modules that the
            executor lacks and a hash of its code.
    """
    answers = list(looks_of_executors)
    names = set()
    for answer in answers:
        names.update(answer["missing"])
    missing = sorted(names)
    if missing:
        statement = f"they have no Python module {', '.join(missing)}"
        return [Problem("SMT630", "Spark's executors", statement, SHIPPING)]
    here = json.loads(probe(PACKAGE, (PACKAGE,))(0))["code"]
    if any(answer["code"] != here for answer in answers):
        statement = f"their {PACKAGE} is another than that of this process"
        hint = "pack the environment again with the version that runs here, and " + SHIPPING
        return [Problem("SMT631", "Spark's executors", statement, hint)]
    return []


def failed_look(text: str) -> Problem | None:
    """Returns the problem that explains the error message ``text`` of a job, if the executors can run no Python
    function at all. The reason is a different version of Python, or a missing module. Returns None for any other error
    message.
    """
    if match := _PYTHON.search(text):
        statement = f"they have another version of Python than this process: {match[1]} and {match[2]}"
        return Problem("SMT632", "Spark's executors", statement, SHIPPING)
    if match := _NO_MODULE.search(text):
        return Problem("SMT630", "Spark's executors", f"they have no Python module {match[1]}", SHIPPING)
    return None
