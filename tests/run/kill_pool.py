"""Processes to kill: while one works, the next one starts."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


class Child:
    """A process that carries out orders; see ``kill_child``."""

    def __init__(self, folder: Path, jars: str, cores: int = 1):
        command = [sys.executable, "-m", "tests.run.kill_child", jars, str(cores)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "SPARK_LOCAL_DIRS": str(folder / "spark")}
        self.log = (folder / "children.log").open("ab")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self.log}
        self.process = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True, **pipes)
        self.lines: queue.Queue[tuple[float, str]] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self.process.stdout:
            self.lines.put((time.monotonic(), line.decode().rstrip("\n")))
        self.lines.put((time.monotonic(), "GONE"))

    def hear(self, until: float) -> tuple[float, str] | None:
        """The next line and when it came; None if none comes by then."""
        try:
            return self.lines.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            return None

    def send(self, order: dict[str, Any]) -> None:
        self.process.stdin.write(json.dumps(order).encode() + b"\n")
        self.process.stdin.flush()

    def kill(self, lag: float = 0.0) -> None:
        """Kill the process, its JVM and its workers, or the process first and the others a little later."""
        if lag:
            self.process.kill()
            time.sleep(lag)
        self._signal_group()
        while others := self._others():  # workers have groups of their own
            for pid in others:
                _kill(pid)
            time.sleep(0.01)
        self.process.wait()
        self.process.stdin.close()
        self.log.close()

    def _signal_group(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def _others(self) -> list[int]:
        """The processes of this one's session that are still there."""
        listed = subprocess.run(["ps", "-eo", "pid=,sess=,stat="], capture_output=True, text=True, check=True).stdout
        rows = [line.split() for line in listed.splitlines()]
        return [int(pid) for pid, session, stat in rows if int(session) == self.process.pid and stat[0] != "Z"]


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


class Pool:
    """Hands out processes that are ready, and starts the next one at once."""

    def __init__(self, folder: Path, ahead: int = 1, cores: int = 1):
        self.folder, self.ahead, self.cores, self.jars = folder, ahead, cores, ""
        self.waiting = [Child(folder, "", cores)]
        self.started = 1

    def take(self, *, last: bool = False) -> Child:
        """A process whose session is there. ``last``: no other one is needed."""
        child = self.waiting.pop(0) if self.waiting else self._start()
        line = child.hear(time.monotonic() + 300)
        if line is None or not line[1].startswith("READY "):
            child.kill()
            raise RuntimeError(f"a process did not start: {line}\n{self.tail()}")
        self.jars = json.loads(line[1].removeprefix("READY "))
        while not last and len(self.waiting) < self.ahead:
            self.waiting.append(self._start())
        return child

    def give_back(self, child: Child) -> None:
        """A process that lives can be taken again."""
        child.lines.put((time.monotonic(), "READY " + json.dumps(self.jars)))
        self.waiting.insert(0, child)

    def _start(self) -> Child:
        self.started += 1
        return Child(self.folder, self.jars, self.cores)

    def tail(self) -> str:
        """The end of what the processes wrote to their standard error."""
        return (self.folder / "children.log").read_bytes()[-3000:].decode(errors="replace")

    def close(self) -> None:
        for child in self.waiting:
            child.kill()
        self.waiting = []
