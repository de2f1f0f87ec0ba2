"""Fetches artifacts and their dependencies from Maven Central, with the Ivy that PySpark ships. Each artifact is
fetched only once.
"""

import os
import re
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from filelock import FileLock

from dagster_smt.errors import Problem, UnsupportedError

_COORDINATES = re.compile(r"([\w.-]+):([\w.-]+):([\w.+-]+)")


def cache_folder() -> Path:
    """Returns the folder in which jars are kept between runs."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dagster_smt"


def coordinates_of(text: str) -> tuple[str, str, str] | None:
    """Splits ``text`` of the form ``group:artifact:version`` into its three parts. Returns None for any other
    string.
    """
    match = _COORDINATES.fullmatch(text)
    if match is None:
        return None
    group, artifact, version = match.groups()
    return group, artifact, version


def folder_of(group: str, artifacts: Sequence[str], version: str, folder: Path | None = None) -> Path:
    """Returns the folder for the jars of ``artifacts``. The folder exists only after the artifacts have been
    fetched.
    """
    return (folder or cache_folder()) / f"{_project(group)}-{version}-{'-'.join(artifacts)}"


def fetch_from_maven(group: str, artifacts: Sequence[str], version: str, folder: Path | None = None) -> Path:
    """Fetches ``artifacts`` of ``group`` and their dependencies from Maven Central, unless they are already in the
    folder.

    Args:
        group: The group of the artifacts, such as ``org.apache.kafka``.
        artifacts: The names of the artifacts.
        version: The version of the artifacts.
        folder: The folder in which to keep the jars.

    Returns:
        The folder with the jars.

    Raises:
        UnsupportedError: SMT960 if the jars cannot be fetched.
    """
    cache = folder or cache_folder()
    jars = folder_of(group, artifacts, version, folder)
    # the usual case needs no lock
    if jars.is_dir():
        return jars
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / "lock", fallback_to_soft=False):  # Ivy's cache allows one process at a time
        # another process may have fetched the jars while this one waited for the lock
        if not jars.is_dir():
            part = jars.with_name(f"{jars.name}.{os.getpid()}")
            for artifact in artifacts:
                _retrieve(group, artifact, version, cache / "ivy", part)
            # the folder exists only with all its jars, even if this process dies while it downloads
            part.rename(jars)
    return jars


def _project(group: str) -> str:
    """Returns the last part of ``group``, such as ``kafka`` for ``org.apache.kafka``."""
    return group.rpartition(".")[2]


def _retrieve(group: str, artifact: str, version: str, ivy: Path, into: Path) -> None:
    ships = _jars_of_pyspark() / "*"
    pattern = f"{into}/[artifact]-[revision](-[classifier]).[ext]"
    arguments = ["-dependency", group, artifact, version, "-confs", "default", "-retrieve", pattern]
    command = [java(), "-cp", str(ships), "org.apache.ivy.Main", "-cache", str(ivy), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or not list(into.glob(f"{artifact}-*.jar")):
        hint = "connect to a network that reaches Maven Central, or copy the jars there"
        statement = f"the jars of {_project(group).capitalize()} {version} could not be fetched"
        raise UnsupportedError(Problem("SMT960", str(into.parent), statement, hint))


def _jars_of_pyspark() -> Path:
    spec = find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        hint = "install PySpark, or copy the jars into a folder and name the folder"
        raise UnsupportedError(Problem("SMT960", "smt_jars", "jars are fetched by the Ivy of PySpark", hint))
    return Path(next(iter(spec.submodule_search_locations))) / "jars"


def java() -> str:
    """Returns the path of the Java that Spark would start. In a Python worker, returns the path of the Java that
    started this worker.
    """
    home = os.environ.get("JAVA_HOME")
    if home:
        return str(Path(home) / "bin" / "java")
    return "java"
