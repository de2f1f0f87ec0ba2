"""Runs that die at a statement or at a write: before it, or after it."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from pyspark.sql import DataFrameWriter, SparkSession
from pyspark.sql.readwriter import DataFrameWriterV2

STEPS = (
    (SparkSession, "sql"),
    (DataFrameWriter, "save"),
    (DataFrameWriter, "saveAsTable"),
    (DataFrameWriterV2, "append"),
    (DataFrameWriterV2, "create"),
    (DataFrameWriterV2, "createOrReplace"),
    (DataFrameWriterV2, "overwrite"),
)


class Died(BaseException):
    """The process is gone: no handler of ordinary errors sees it."""


@contextmanager
def dying_at(step: int, *, after: bool) -> Iterator[list[int]]:
    """Has whatever runs die at its step of this number, or right after it; gives the count of the steps left."""
    left, lock, ended_in = [step], threading.Lock(), []

    def count() -> int:
        """Counts a step; the other threads of a run that has died end at their next one."""
        with lock:
            left[0] -= 1
            if ended_in and threading.get_ident() not in ended_in:
                raise Died
            return left[0]

    def die() -> None:
        ended_in.append(threading.get_ident())
        raise Died

    def armed(function):
        def wrapped(*args, **kwargs):
            number = count()
            if number == -1 and not after:
                die()
            try:
                return function(*args, **kwargs)
            finally:  # a statement that fails is a step, too
                if number == -1:
                    die()

        return wrapped

    with ExitStack() as patches:
        for owner, name in STEPS:
            patches.enter_context(patch.object(owner, name, armed(getattr(owner, name))))
        yield left
