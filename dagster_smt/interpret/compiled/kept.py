"""Where compiled code is kept, and the process that compiles it.

Compiling takes eight to ten seconds and 130 MB, once for each machine and version. So a process of its own does it, and
the others load what it has made.
"""

import hashlib
import os
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

_COMPLETE, _BUSY = "complete", "busy"
_PATIENCE = 180
"""Seconds that a process waits for another one to compile."""


class NoFolderError(RuntimeError):
    """There is no folder for compiled code."""


@cache
def folder() -> Path:
    """The folder of this version of the code, on this machine.

    numba itself looks only at the file that a function is in, but what is compiled holds the functions it calls, too:
    so the folder's name is a digest of all sources.

    Raises:
        NoFolderError: There is no folder to write to.
    """
    here = Path(__file__).parent
    sources = b"".join(file.read_bytes() for file in sorted(here.glob("*.py")))
    name = f"compiled-{hashlib.sha256(sources).hexdigest()[:16]}"
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    for place in [Path(chosen)] if chosen else [here / "__pycache__", Path("~/.cache/dagster_smt").expanduser()]:
        try:
            (place / name).mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(place / name, os.W_OK | os.X_OK):
            return place / name
    raise NoFolderError("no folder for compiled code: set NUMBA_CACHE_DIR to one that can be written")


def prepare() -> None:
    """Have the code compiled, unless it is. Where that fails, whoever loads it compiles it himself.

    Raises:
        NoFolderError: There is no folder to write to.
    """
    complete, busy = folder() / _COMPLETE, folder() / _BUSY
    if complete.exists():
        return
    try:
        busy.touch(exist_ok=False)
    except FileExistsError:
        until = time.monotonic() + _PATIENCE
        while busy.exists() and not complete.exists() and time.monotonic() < until:
            time.sleep(0.2)
        if complete.exists():
            return
    path = os.pathsep.join(filter(None, sys.path))
    command = [sys.executable, "-m", "dagster_smt.interpret.compiled.build"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, check=False)
    if done.returncode != 0:
        busy.unlink(missing_ok=True)


def finish() -> None:
    """Say that the code is there. The process that asked for it may have ended meanwhile."""
    (folder() / _COMPLETE).touch()
    (folder() / _BUSY).unlink(missing_ok=True)
