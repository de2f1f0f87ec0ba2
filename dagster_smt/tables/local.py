"""Checks folders of the local file system, writes files atomically, and locks files.

Written files survive a power failure. If a process dies while it holds a lock, the system releases the lock.
"""

import errno
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import BaseFileLock, FileLock, Timeout

from dagster_smt.errors import Problem, TableError, UnsupportedError

# one slash is enough, because ``Path("s3://a")`` becomes the text s3:/a; a scheme of one letter is a drive (C:/)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_GLOB = re.compile(r"([\\{}\[\]*?])")


def is_uri(path: str | Path) -> bool:
    """Returns True if ``path`` is a URI with a scheme, such as ``s3a://lake/orders`` or ``file:/lake/orders``."""
    return bool(_SCHEME.match(str(path)))


def local_folder(path: Path) -> Path:
    """Returns ``path`` as an absolute path of a local folder.

    Raises:
        UnsupportedError: SMT951, the path is a URI.
    """
    if is_uri(path):
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
    """Returns ``path`` as a ``file://`` URI for Spark's readers, with a backslash before characters that are special in
    patterns, such as ``*``.
    """
    return "file://" + _GLOB.sub(r"\\\1", str(path))


def make_folder(path: Path) -> None:
    """Creates the folder ``path`` and its parents. The folders survive a power failure."""
    if path.is_dir():
        return
    make_folder(path.parent)
    # another writer may have created the folder in the meantime
    path.mkdir(exist_ok=True)
    sync(path.parent)


def sync(path: Path) -> None:
    """Writes the file ``path`` from the cache to the disk (``fsync``), so that its content survives a power failure.

    If ``path`` is a folder, its list of files survives.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_json(path: Path, data: Any) -> None:
    """Writes ``data`` to the file ``path`` as JSON. If the process dies, the file contains either all of the new data
    or none of it.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_text(json.dumps(data, separators=(",", ":")), encoding="utf-8")
    sync(temporary)
    publish(temporary, path, exclusive=False)


def publish(temporary: Path, path: Path, *, exclusive: bool) -> None:
    """Renames the finished, synced file ``temporary`` to ``path`` in one step.

    Args:
        temporary: The finished file.
        path: The new name.
        exclusive: True to raise ``FileExistsError`` if the file ``path`` exists, False to replace it.
    """
    if exclusive:
        try:
            os.link(temporary, path)  # unlike a rename, this fails if the name is taken
        finally:
            temporary.unlink()
    else:
        os.replace(temporary, path)
    # the new name survives a power failure only after its folder has been synced
    sync(path.parent)


_REMEDIES = {
    errno.EACCES: ("SMT550", "permission denied", "give the user of this process the right to use it"),
    errno.EPERM: ("SMT550", "permission denied", "give the user of this process the right to use it"),
    errno.ENOSPC: ("SMT551", "the disk is full", "free space, then run again: incomplete files do not count"),
    errno.EDQUOT: ("SMT551", "the disk quota is used up", "free space, then run again"),
    errno.EROFS: ("SMT552", "the file system is read-only", "mount it for writing, or name another folder"),
}


def os_problem(error: OSError, path: Path) -> Problem:
    """Converts ``error``, which the file system raised for ``path``, into a problem (SMT550 to SMT553) with a
    remedy.
    """
    place = str(error.filename or path)
    other = ("SMT553", (error.strerror or type(error).__name__).lower(), "check the file and its file system")
    code, statement, hint = _REMEDIES.get(error.errno or 0, other)
    return Problem(code, place, statement, hint)


@contextmanager
def coded(path: Path) -> Iterator[None]:
    """Converts errors of the file system inside the block into errors with a code.

    Args:
        path: The path for messages, if the error itself names no path.

    Raises:
        TableError: SMT550 permission, SMT551 full disk, SMT552 read-only, SMT553 anything else.
    """
    try:
        yield
    except OSError as error:
        raise TableError(os_problem(error, path)) from None


class LockTaken(Exception):
    """Raised if another process, or another thread of this process, holds a lock. If the holder is known, the message
    names the holder.
    """


_LONGEST_WAIT = 0.2  # seconds between two attempts


@contextmanager
def locked(
    path: Path, holder: str = "", *, wait: bool, say: Callable[[str], None] = lambda line: None
) -> Iterator[None]:
    """Holds the lock file ``path`` while the block runs. If the process dies for any reason, the system releases the
    lock.

    Args:
        path: The lock file, in an existing folder.
        holder: The name of the holder. The name is written to the lock file, so that other processes can show the name
            in messages.
        wait: True to wait for the lock, False to raise.
        say: Is called with one line when the wait begins, then with an empty line at each attempt. An error that it
            raises ends the wait.

    Raises:
        LockTaken: Another process or thread holds the lock, and ``wait`` is false.
    """
    # A soft lock is a file that survives its process, so a soft lock would stop all later runs.
    lock = FileLock(path, fallback_to_soft=False)
    try:
        if not _take(lock):
            other = _holder_in(path)
            if not wait:
                raise LockTaken(other)
            say(f"waiting for {path}, which {other or 'another process'} holds")
            pause = 0.001
            while not _take(lock):
                say("")
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_WAIT)
        # on Windows, a locked file cannot be written, so messages do not name the holder there
        with suppress(PermissionError):
            path.write_text(holder, encoding="utf-8")
        yield
    finally:
        # has no effect if this block does not hold the lock
        lock.release()


def _holder_in(path: Path) -> str:
    """Returns the content of the lock file ``path``: the name of the process that holds the lock.

    The result is an empty string if the file cannot be read, for example because it has just been removed.
    """
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _take(lock: BaseFileLock) -> bool:
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    return True
