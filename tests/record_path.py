"""Prints the files of ``dagster_smt`` that a record crosses. Run: python -m tests.record_path

A record never is a Python object where Spark and the JVM lane evaluate the chain: the record lies in a frame. So a
record crosses a file if a function of the file holds a frame with the record, from the read of the topic to the commit.
"""

import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import dagster as dg
from pyspark.sql import DataFrame

import dagster_smt
from dagster_smt.orchestration import SmtTable, SparkSessionResource, build_smt_asset
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics, TopicTable

HOUSE = Path(dagster_smt.__file__).parent
MASK = {"alias": "hide", "type": "MaskField$Value", "options": {"fields": "name"}}


class RecordPath:
    """The files whose functions hold a frame, in the order in which the functions return, up to the commit."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self.committed = False

    def watch(self, frame: FrameType, event: str, result: Any) -> None:
        """Is a profile function of ``sys.setprofile``."""
        if event != "return" or self.committed:
            return
        self._add(frame, result)
        if frame.f_code.co_qualname == "DeltaTable.commit":
            self.committed = True
            self._add_callers(frame)

    def _add_callers(self, frame: FrameType) -> None:
        """Adds the functions that wait for the commit."""
        caller = frame.f_back
        while caller is not None:
            self._add(caller, None)
            caller = caller.f_back

    def _add(self, frame: FrameType, result: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if not path.is_relative_to(HOUSE):
            return
        name = path.relative_to(HOUSE).as_posix()
        values = [result, *frame.f_locals.values()]
        if name not in self.files and any(isinstance(value, DataFrame) for value in values):
            self.files.append(name)


def record_path(folder: Path, spark: Any) -> list[str]:
    """Returns the files that a record of declared JSON crosses on its way from a topic into a Delta table.

    Args:
        folder: An empty folder.
        spark: The resource with the session.
    """
    topics = FileTopics(folder / "topics")
    table = TopicTable(topics, ["orders"], columns="id BIGINT, name STRING")
    sink = DeltaSink(folder / "lake", "columns")
    asset = build_smt_asset(SmtTable(key="orders", chain=[MASK], table=table, sink=sink))
    path = RecordPath()
    for number in range(2):  # the second run finds its table, as most runs do
        append_records(topics, "orders", [NewRecord(b"k", f'{{"id":{number},"name":"Ada"}}'.encode(), (), 5)])
        if number == 1:
            threading.setprofile(path.watch)
        try:
            assert dg.materialize([asset], resources={"spark": spark}).success
        finally:
            threading.setprofile(None)  # type: ignore[arg-type]
    return path.files


if __name__ == "__main__":
    session = SparkSessionResource(conf={"spark.master": "local[2]", "spark.ui.enabled": "false"})
    with tempfile.TemporaryDirectory() as temporary:
        files = record_path(Path(temporary), session)
    for file in files:
        sys.stdout.write(f"{file}\n")
    sys.stdout.write(f"{len(files)} files\n")
