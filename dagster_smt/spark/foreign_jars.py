"""Provides the jars of foreign stages to Spark's executors.

A local session reads the jars from the paths in the chain. For all other sessions, this module packs the jars into one
archive, and Spark copies the archive to its executors. The first task on a machine unpacks the archive.
"""

import hashlib
import os
import tempfile
import zipfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from weakref import WeakKeyDictionary

from filelock import FileLock
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from dagster_smt.authoring.foreign_settings import ForeignSettings
from dagster_smt.authoring.stage import Chain
from dagster_smt.errors import Problem, UnsupportedError
from dagster_smt.foreign.check import classes_for
from dagster_smt.foreign.host import JAR
from dagster_smt.foreign.jars import Plugin
from dagster_smt.foreign.segment import Classes
from dagster_smt.spark.environment import is_connect
from dagster_smt.spark.executors import has_remote_executors

_CONNECT = "connect"
_shipped: "WeakKeyDictionary[SparkSession, set[str]]" = WeakKeyDictionary()


def archive_of(settings: ForeignSettings) -> str:
    """Returns the name of the archive that contains the jars in ``settings``."""
    text = repr((settings.jars, settings.connect_version))
    return f"smt-jars-{hashlib.sha256(text.encode()).hexdigest()[:16]}.zip"


def ship_jars(session: SparkSession, chain: Chain) -> None:
    """Copies the jars of ``chain`` to the executors of ``session``, once per session. If the executors are on this
    machine, nothing is copied.

    Raises:
        ConfigError, UnsupportedError: The errors of ``classes_for``.
        UnsupportedError: SMT645 if the session cannot ship files.
    """
    if not chain.has_foreign or not has_remote_executors(session):
        return
    name = archive_of(chain.foreign)
    if name in _shipped.setdefault(session, set()):
        return
    archive = Path(_archives().name, name)
    part = archive.with_suffix(".part")
    _pack(classes_for(chain.foreign), part)
    # All sessions share the folder. So executors of another session may just be reading an archive with this name, and
    # must not see half of the new one.
    part.replace(archive)
    try:
        if is_connect(session):
            session.addArtifacts(str(archive), file=True)
        else:
            session.sparkContext.addFile(str(archive))
    except (PySparkException, OSError, RuntimeError):
        hint = "run the chain with a session that takes files, or put the jars at the same path on every machine"
        problem = Problem("SMT645", "smt_jars", "the Spark session does not take the jars", hint)
        raise UnsupportedError(problem) from None
    _shipped[session].add(name)


@cache
def _archives() -> "tempfile.TemporaryDirectory[str]":
    """Returns the temporary folder for archives of jars. The folder exists until this process ends, and all sessions
    share it.

    The folder must not be deleted earlier, because an executor fetches an archive only before its first task, long
    after the session began. Sessions must share the folder, because a driver accepts only one path for each archive
    name.
    """
    return tempfile.TemporaryDirectory(prefix="smt-jars-")


def _pack(classes: Classes, archive: Path) -> None:
    """Packs the jars of ``classes`` into the file ``archive``, with one folder for each plug-in. Numbers in the folder
    names preserve the order of the plug-ins.
    """
    # executors may have this package as a zip, and Java cannot start a jar inside a zip
    folders: dict[str, Iterable[Path]] = {_CONNECT: (*classes.connect, JAR)}
    for number, plugin in enumerate(classes.plugins):
        folders[f"{number:04}"] = plugin.jars
    # jars are compressed already
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as packed:
        for folder, jars in folders.items():
            for jar in jars:
                packed.write(jar, f"{folder}/{jar.name}")


def classes_here(chain: Chain) -> Classes | None:
    """Returns the Java classes that ``chain`` needs, from the archive that Spark has copied to this machine. The first
    call unpacks the archive. Returns None if the chain needs no classes, or if there is no archive.
    """
    if not chain.has_foreign:
        return None
    from pyspark import SparkFiles

    try:
        archive = Path(SparkFiles.get(archive_of(chain.foreign)))
    except (AssertionError, AttributeError, TypeError):  # this process is not a Spark worker
        return None
    if not archive.is_file():
        return None
    folder = archive.with_name(archive.name.removesuffix(".zip"))
    # All Python workers of the machine share the folder, and several of them may begin at once. A worker that dies
    # while it unpacks leaves only its own part behind.
    with FileLock(f"{folder}.lock"):
        if not folder.is_dir():
            part = folder.with_name(f"{folder.name}.{os.getpid()}")
            with zipfile.ZipFile(archive) as packed:
                packed.extractall(part)
            part.rename(folder)
    plugins = []
    for of_plugin in sorted(folder.iterdir()):
        if of_plugin.name != _CONNECT:
            plugins.append(Plugin(of_plugin.name, tuple(sorted(of_plugin.iterdir()))))
    return Classes(tuple(sorted((folder / _CONNECT).iterdir())), tuple(plugins))
