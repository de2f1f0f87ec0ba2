"""Finds the plug-ins of ``smt_jars``: the jars that belong together, and the classes that these jars contain. No JVM is
required.

An entry is one of

- a jar, which is a plug-in of its own;
- a folder, as in Connect's ``plugin.path``: each subfolder is a plug-in, and the jars directly in the folder are one
  more plug-in;
- Maven coordinates ``group:artifact:version``: the artifact and its dependencies are a plug-in.
"""

import hashlib
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from dagster_smt.errors import CONFIG_EXCEPTION, ConfigError, Problem
from dagster_smt.foreign.maven import coordinates_of, fetch_from_maven, folder_of

ARCHIVES = (".jar", ".zip")


@dataclass(frozen=True)
class Plugin:
    """Jars whose classes are loaded together, separately from the classes of other plug-ins.

    Attributes:
        name: The entry of ``smt_jars``, with the subfolder if there is one.
        jars: The jars in a fixed order. Empty for Maven coordinates that have not been fetched yet.
    """

    name: str
    jars: tuple[Path, ...]

    def has(self, class_name: str) -> bool:
        """Returns True if one of the plug-in's jars contains the class ``class_name``."""
        for jar in self.jars:
            if class_name in classes_of(jar, jar.stat().st_mtime_ns):
                return True
        return False


def plugins_of(entries: Iterable[str], base: Path | None = None, *, fetch: bool = False) -> tuple[Plugin, ...]:
    """Returns the plug-ins named by ``entries``, the entries of ``smt_jars``.

    Args:
        entries: The entries.
        base: The folder to which relative paths refer. If None, the current folder.
        fetch: True to fetch Maven coordinates that have not been fetched yet. Fetching starts a JVM.

    Raises:
        ConfigError: SMT027 if an entry is not a jar, a folder or coordinates. The error lists all such entries.
        UnsupportedError: SMT960 if coordinates cannot be fetched.
    """
    plugins: list[Plugin] = []
    problems = []
    for entry in entries:
        coordinates = coordinates_of(entry)
        path = (base or Path()) / entry
        # a file may also be called a:b:c
        if coordinates is not None and not path.exists():
            plugins.append(_of_maven(entry, coordinates, fetch))
        elif path.is_dir():
            of_folder = list(_of_folder(path))
            plugins += of_folder
            if not of_folder:
                problems.append(_problem(entry, "the folder has no jars"))
        elif path.is_file() and zipfile.is_zipfile(path):
            plugins.append(Plugin(entry, (path.resolve(),)))
        elif path.is_file():
            problems.append(_problem(entry, "is not a jar"))
        else:
            problems.append(_problem(entry, "there is no such file or folder"))
    if problems:
        raise ConfigError(problems)
    return tuple(plugins)


def _problem(entry: str, statement: str) -> Problem:
    hint = "name a jar, a folder of jars as in plugin.path, or Maven coordinates: group:artifact:version"
    return Problem("SMT027", f"smt_jars {entry}", statement, hint, CONFIG_EXCEPTION)


def _of_maven(entry: str, coordinates: tuple[str, str, str], fetch: bool) -> Plugin:
    group, artifact, version = coordinates
    if fetch:
        folder = fetch_from_maven(group, (artifact,), version)
    else:
        folder = folder_of(group, (artifact,), version)
    return Plugin(entry, _archives(folder) if folder.is_dir() else ())


def _of_folder(folder: Path) -> Iterable[Plugin]:
    direct = []
    for child in sorted(folder.iterdir()):
        if child.is_dir() and (jars := _archives(child)):
            yield Plugin(f"{folder}/{child.name}", jars)
        elif child.suffix.lower() in ARCHIVES and child.is_file():
            direct.append(child.resolve())
    if direct:
        yield Plugin(str(folder), tuple(direct))


def _archives(folder: Path) -> tuple[Path, ...]:
    archives = []
    # sorted, so that every machine searches the jars in the same order
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in ARCHIVES and path.is_file():
            archives.append(path.resolve())
    return tuple(archives)


@lru_cache(maxsize=512)
def classes_of(jar: Path, modified: int) -> frozenset[str]:
    """Returns the names of the classes in ``jar``. The result is cached. ``modified`` is the time of the jar's last
    change. It is a part of the cache key, so that a changed jar is read again.
    """
    try:
        with zipfile.ZipFile(jar) as archive:
            names = archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return frozenset()
    classes = set()
    for name in names:
        # META-INF/versions has copies of classes for newer versions of Java
        if name.endswith(".class") and not name.startswith("META-INF/"):
            classes.add(name.removesuffix(".class").replace("/", "."))
    return frozenset(classes)


def plugin_with(plugins: Sequence[Plugin], class_name: str) -> Plugin | None:
    """Returns the first of ``plugins`` that contains the class ``class_name``. Returns None if no plug-in contains the
    class.
    """
    for plugin in plugins:
        if plugin.has(class_name):
            return plugin
    return None


def connect_jars(version: str) -> tuple[Path, ...]:
    """Returns Kafka Connect's own jars of ``version``: its API, its JSON converter and its transforms.

    Raises:
        UnsupportedError: SMT960 if the jars cannot be fetched.
    """
    return _archives(fetch_from_maven("org.apache.kafka", ("connect-json", "connect-transforms"), version))


def digest_of(jars: Iterable[Path]) -> str:
    """Returns a hash of the contents of ``jars``."""
    content = hashlib.sha256()
    for jar in jars:
        content.update(jar.name.encode() + b"\0" + _digest(jar, jar.stat().st_mtime_ns))
    return content.hexdigest()[:16]


@lru_cache(maxsize=512)
def _digest(jar: Path, modified: int) -> bytes:
    return hashlib.sha256(jar.read_bytes()).digest()
