"""Logs the progress of a run every few seconds, from a separate thread, while Spark works."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from dagster_smt.model.windows.window import Window
from dagster_smt.spark.environment import is_connect

SECONDS = 10.0


class RunProgress:
    """The progress of a run.

    Args:
        session: The Spark session.
        group: The job group of the run's Spark work.
    """

    def __init__(self, session: Any, group: str):
        if is_connect(session):
            self._tracker = None
        else:
            self._tracker = session.sparkContext.statusTracker()
        self._group = group
        self._began = time.monotonic()
        self._records = 0
        self.phase = ""

    def begun(self, window: Window) -> None:
        """Sets ``window`` as the window of the run."""
        self._records, self._began = window.records, time.monotonic()

    def line(self) -> str:
        """Returns a line for the log, such as
        ``evaluating, 12 s: 30 of 100 tasks, about 3,000 of 10,000 records, about 28 s to go``. The number of records
        and the remaining time are estimates, which the line contains only if there are any.
        """
        spent = time.monotonic() - self._began
        text = f"{self.phase or 'working'}, {spent:.0f} s"
        done, tasks = self._tasks()
        if not tasks:
            return text
        text += f": {done} of {tasks} tasks"
        if done and self.phase == "evaluating":
            read = round(self._records * done / tasks)
            text += f", about {read:,} of {self._records:,} records, about {spent * (tasks - done) / done:.0f} s to go"
        return text

    def _tasks(self) -> tuple[int, int]:
        """Returns the number of finished tasks and the number of all tasks in the running stages. With Spark Connect,
        both are zero.
        """
        done = tasks = 0
        if self._tracker is None:
            return done, tasks
        for job in self._tracker.getJobIdsForGroup(self._group):
            info = self._tracker.getJobInfo(job)
            for stage_id in info.stageIds if info is not None and info.status == "RUNNING" else ():
                stage = self._tracker.getStageInfo(stage_id)
                if stage is not None and stage.numActiveTasks:
                    done += stage.numCompletedTasks
                    tasks += stage.numTasks
        return done, tasks


@contextmanager
def log_every(seconds: float, line: Callable[[], str] | None, log: Callable[[str], None]) -> Iterator[None]:
    """Calls ``log`` with the result of ``line`` every ``seconds`` while the block runs. If ``line`` is None, logs
    nothing.
    """
    if line is None:
        yield
        return
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(seconds):
            with suppress(Exception):  # Spark may have died; the run itself reports the reason
                log(line())

    thread = threading.Thread(target=beat, daemon=True, name="progress")
    thread.start()
    try:
        yield
    finally:
        ended.set()
