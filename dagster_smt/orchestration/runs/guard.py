"""Runs Spark work inside a Dagster step so that a user can cancel it.

A call to Spark blocks its thread. If a signal interrupts the call, Spark's connection to the JVM stops in the middle of
an answer. Then the run hangs, or the Spark job continues without the run. The work therefore runs in a separate thread,
with a tag. The main thread only waits, and cancels the work if necessary.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from dagster_smt.orchestration.runs.progress_log import SECONDS, log_every
from dagster_smt.spark.environment import is_connect

T = TypeVar("T")
Progress = Callable[[str], None]
SETTLE_SECONDS = 30.0  # the time that a cancelled job has to end; after that, the step ends without waiting for the job


class Cancelled(BaseException):
    """Raised by the progress callback if the work has been cancelled. Like ``KeyboardInterrupt``, it must not be
    caught.
    """


def run_cancellable(
    session: Any,
    tag: str,
    fn: Callable[[Progress], T],
    poll: float = 0.25,
    log: Progress = lambda line: None,
    beat: Callable[[], str] | None = None,
) -> T:
    """Runs the Spark work of the function ``fn`` in a separate thread, so that it can be cancelled. A signal or
    exception in the calling thread stops the work, and the session stays usable.

    Args:
        session: The Spark session, classic or Connect.
        tag: The tag of the Spark jobs of this work, which no other work has.
        fn: The work. Its argument is a callback. ``fn`` must call the callback from time to time, and in any case
            before it commits, with a line for the log. An empty line is not logged. If the work has been cancelled, the
            callback raises ``Cancelled``, so that the work stops.
        poll: The seconds between two checks of the work.
        log: Logs a line, in the calling thread.
        beat: Returns a line about the progress. ``run_cancellable`` calls it every ten seconds, in a separate thread.

    Returns:
        The result of ``fn``. If ``fn`` raises an exception, this function raises it again.
    """
    stopped = threading.Event()
    lines: SimpleQueue[str] = SimpleQueue()
    box: Future[T] = Future()
    add_tag, cancel = _tagging(session, tag)

    def progress(line: str) -> None:
        if stopped.is_set():
            raise Cancelled
        if line:
            lines.put(line)

    def work() -> None:
        try:
            add_tag()
            box.set_result(fn(progress))
        except BaseException as error:  # noqa: BLE001 - handed to the waiting thread
            box.set_exception(error)

    _thread(session, work).start()
    with foreign_sigint_replaced(), log_every(SECONDS, beat, lines.put):
        try:
            while not wait([box], timeout=poll).done:
                _drain(lines, log)
        except BaseException:
            stopped.set()
            _settle(box, cancel, poll)
            raise
        _drain(lines, log)
    return box.result()


def _tagging(session: Any, tag: str) -> tuple[Callable[[], None], Callable[[], Any]]:
    """Returns two functions: the first tags the jobs of the working thread with ``tag``, and the second cancels these
    jobs from another thread.
    """
    if is_connect(session):
        return lambda: session.addTag(tag), lambda: session.interruptTag(tag)
    # the tags of a classic session apply to only one thread, so job tags are used instead
    context = session.sparkContext

    def add() -> None:
        context.addJobTag(tag)
        context.setLocalProperty("spark.jobGroup.id", tag)  # for the progress log; the description stays

    return add, lambda: context.cancelJobsWithTag(tag)


def _thread(session: Any, work: Callable[[], None]) -> threading.Thread:
    if is_connect(session):
        return threading.Thread(target=work, daemon=True)
    from pyspark import InheritableThread  # keeps the caller's pool and description

    return InheritableThread(target=work, daemon=True)


def _settle(box: Future[Any], cancel: Callable[[], Any], poll: float) -> None:
    """Calls ``cancel`` repeatedly until the future ``box`` is done, or until ``SETTLE_SECONDS`` have passed. One call
    is not enough, because the work behind ``box`` may start another Spark job just after the call.
    """
    left = SETTLE_SECONDS
    while not box.done() and left > 0:
        cancel()
        wait([box], timeout=poll)
        left -= poll


def _drain(lines: "SimpleQueue[str]", log: Progress) -> None:
    while True:
        try:
            log(lines.get_nowait())
        except Empty:
            return


@contextmanager
def keep_sigint() -> Iterator[None]:
    """Prevents PySpark from replacing the handler of SIGINT (Ctrl-C) while the block starts a Spark session. Without
    this function, a classic session installs PySpark's own handler.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


@contextmanager
def foreign_sigint_replaced() -> Iterator[None]:
    """Replaces PySpark's handler of SIGINT with Dagster's for the duration of the block.

    PySpark's handler is installed if a session was started outside this package.
    """
    handler = signal.getsignal(signal.SIGINT)
    foreign = str(getattr(handler, "__module__", "")).startswith("pyspark")
    if not foreign or threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = signal.getsignal(signal.SIGTERM)  # Dagster handles SIGINT and SIGTERM with the same function
    signal.signal(signal.SIGINT, ours if callable(ours) else signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
