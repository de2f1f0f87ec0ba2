"""Folders of the local file system: refusing what is not one, durable atomic writes, locks held by a process."""

import fcntl
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dagster_smt.errors import Problem, UnsupportedError

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_GLOB = re.compile(r"([\\{}\[\]*?])")


def local_folder(path: Path) -> Path:
    """Return the absolute folder.

    Raises:
        UnsupportedError: SMT951, the path is a URI.
    """
    if _SCHEME.match(str(path)):
        raise UnsupportedError(
            Problem(
                "SMT951",
                str(path),
                "only folders of the local file system are supported",
                "give a plain path without a URI scheme; mount the object store or write it with another job",
            )
        )
    return Path(os.path.abspath(path))


def spark_path(path: Path) -> str:
    """The path as Spark's readers take it: with a scheme, characters of file patterns escaped."""
    return "file://" + _GLOB.sub(r"\\\1", str(path))


def make_folder(path: Path) -> None:
    """Create a folder, its parents too, so that they survive a power failure."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(exist_ok=True)
    sync(path.parent)


def sync(path: Path) -> None:
    """Make a file's content, or a folder's entries, survive a power failure."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_json(path: Path, data: Any, *, exclusive: bool = False) -> None:
    """Write a whole file or nothing.

    Args:
        path: The file.
        data: Its content.
        exclusive: Refuse to replace an existing file.

    Raises:
        FileExistsError: The file exists, and ``exclusive``.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_text(json.dumps(data, separators=(",", ":")), encoding="utf-8")
    sync(temporary)
    publish(temporary, path, exclusive=exclusive)


def publish(temporary: Path, path: Path, *, exclusive: bool) -> None:
    """Give a finished, synced file its name in one step."""
    if exclusive:
        try:
            os.link(temporary, path)  # unlike a rename, this fails if the name is taken
        finally:
            temporary.unlink()
    else:
        os.replace(temporary, path)
    sync(path.parent)


class LockTaken(Exception):
    """Another process, or another thread of this one, holds the lock. The text says who, if it said so."""


@contextmanager
def locked(path: Path, holder: str = "", *, wait: bool) -> Iterator[None]:
    """Hold a lock while the block runs; it is released when the process dies, however it dies.

    Args:
        path: The lock file; its folder exists.
        holder: Who holds it, for the message to others.
        wait: Wait for the lock, or raise.

    Raises:
        LockTaken: The lock is held, and not ``wait``.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise LockTaken(path.read_text(encoding="utf-8").strip()) from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, holder.encode(), 0)
        yield
    finally:
        os.close(handle)
