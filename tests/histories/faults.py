"""Runs that die at a point, and runs that are overtaken by another one: the same every time."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from dagster_smt.run import batch
from dagster_smt.tables import local
from dagster_smt.tables.sinks.delta import DeltaTable
from dagster_smt.tables.sinks.file_topics import FileTopicsTable
from dagster_smt.tables.sinks.iceberg import IcebergTable
from dagster_smt.tables.sinks.kafka import KafkaTable
from dagster_smt.tables.sinks.kafka_topics import KafkaPlace
from dagster_smt.tables.sinks.topics import FilePlace

POINTS = ("before the letters", "before the commit", "while committing", "after the commit")
TABLES = (DeltaTable, IcebergTable, KafkaTable, FileTopicsTable)
PLACES = (FilePlace, KafkaPlace)
PATIENCE = 8
"""Seconds that a run which has been overtaken waits for the other one: it may wait for this one, too."""


class Died(BaseException):
    """The process is gone: no handler of ordinary errors sees it."""


def _die(*args: Any, **kwargs: Any) -> None:
    raise Died


def _dying_after(function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(*args: Any, **kwargs: Any) -> None:
        function(*args, **kwargs)
        raise Died

    return wrapped


def _dying_inside(commit: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a commit that dies at its first write. Letters may have a table of the same class."""

    def wrapped(*args: Any, **kwargs: Any) -> None:
        with ExitStack() as patches:
            for write in _writes():
                patches.enter_context(write)
            commit(*args, **kwargs)

    return wrapped


def _writes() -> list[Any]:
    return [
        patch.object(DeltaTable, "_save", _die),
        patch.object(IcebergTable, "_write", _dying_after(IcebergTable._write)),
        patch.object(IcebergTable, "_create", _die),
        patch.object(IcebergTable, "_make_anew", _die),
        patch.object(KafkaTable, "_write", _dying_after(KafkaTable._write)),
        patch.object(local, "write_json", _die),
    ]


def _patches(point: str) -> list[Any]:
    if point == "before the letters":
        return [patch.object(batch.Attempt, "verify", _die)]
    if point == "before the commit":
        return [patch.object(table, "commit", _die) for table in TABLES]
    if point == "while committing":
        return [patch.object(table, "commit", _dying_inside(table.commit)) for table in TABLES]
    return [patch.object(table, "commit", _dying_after(table.commit)) for table in TABLES]


@contextmanager
def dying(point: str) -> Iterator[None]:
    """Have a run die at a point."""
    patches = _patches(point) if point else []
    for one in patches:
        one.start()
    try:
        yield
    finally:
        for one in patches:
            one.stop()


@contextmanager
def overtaken(rival: Callable[[], None] | None) -> Iterator[None]:
    """Have another run begin and end while a run is about to publish letters, or to commit if it has none."""
    if rival is None:
        yield
        return
    begun = threading.Event()
    thread = threading.Thread(target=rival)

    def overtake() -> None:
        if not begun.is_set():
            begun.set()
            thread.start()
            thread.join(PATIENCE)

    def before(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            overtake()
            return function(*args, **kwargs)

        return wrapped

    patches = [
        patch.object(owner, name, before(function))
        for owner in (*TABLES, *PLACES, *KafkaPlace.__subclasses__())
        for name in ("commit", "append", "append_new")
        if (function := vars(owner).get(name)) is not None
    ]
    for one in patches:
        one.start()
    try:
        yield
    finally:
        for one in patches:
            one.stop()
        if begun.is_set():
            thread.join()
