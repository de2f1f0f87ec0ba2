"""What this process and those below it have used, as Linux tells it: Spark's JVM, Python workers, Kafka Connect."""

import os
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")


def cpu_seconds() -> float | None:
    """CPU time so far, user and system, with ended processes that were waited for; None where nothing tells it."""
    if not _PROC.is_dir():
        return None
    ticks = 0
    for number in _below(os.getpid()):
        fields = _stat(number)
        ticks += sum(map(int, fields[11:15])) if fields else 0  # utime, stime, and those of children
    return ticks / os.sysconf("SC_CLK_TCK")


def worker_megabytes() -> int:
    """The most memory that a Python worker of Spark has had at a time; 0 if there is none, or nothing tells it."""
    most = 0
    for number in _below(os.getpid()) if _PROC.is_dir() else ():
        try:
            command = (_PROC / str(number) / "cmdline").read_bytes()
            if b"pyspark" in command and b"daemon" in command:
                status = (_PROC / str(number) / "status").read_text()
                most = max(most, *(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")))
        except OSError:  # it has ended meanwhile
            continue
    return most // 1024


def _below(root: int) -> Iterator[int]:
    """The process and all that come from it."""
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
    """The fields after the name, from the state on; empty if the process has ended."""
    try:
        return (_PROC / str(number) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
