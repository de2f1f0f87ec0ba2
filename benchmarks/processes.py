"""Measures the CPU time and memory of this process and its child processes, such as Spark's JVM, Python workers and
Kafka Connect. The numbers come from ``/proc`` on Linux.
"""

import os
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")


def cpu_seconds() -> float | None:
    """Returns the CPU seconds of this process and all processes below it so far. Ended processes are included if their
    parent waited for them. Returns None without ``/proc``.
    """
    if not _PROC.is_dir():
        return None
    ticks = 0
    for number in _below(os.getpid()):
        fields = _stat(number)
        ticks += sum(map(int, fields[11:15])) if fields else 0  # utime, stime, cutime and cstime
    return ticks / os.sysconf("SC_CLK_TCK")


def worker_megabytes() -> int:
    """Returns the largest memory of a Python worker of Spark so far, in megabytes. Returns 0 if there is no worker, or
    no ``/proc``.
    """
    most = 0
    for number in _below(os.getpid()) if _PROC.is_dir() else ():
        try:
            command = (_PROC / str(number) / "cmdline").read_bytes()
            if b"pyspark" in command and b"daemon" in command:
                # VmHWM is the largest resident memory of the process so far, in kB
                status = (_PROC / str(number) / "status").read_text()
                most = max(most, *(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")))
        except OSError:  # the process has ended meanwhile
            continue
    return most // 1024


def _below(root: int) -> Iterator[int]:
    """Yields the id of the process ``root``, and the ids of all processes that descend from it."""
    children: dict[int, list[int]] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdecimal() and (fields := _stat(int(entry.name))):
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    result = [root]
    while result:
        number = result.pop()
        yield number
        result += children.get(number, [])


def _stat(number: int) -> list[str]:
    """Returns the fields of ``/proc/NUMBER/stat`` after the process name, beginning with the state. Empty if the
    process has ended.
    """
    try:
        # the name of the process is in brackets, and may itself contain spaces and brackets
        return (_PROC / str(number) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
