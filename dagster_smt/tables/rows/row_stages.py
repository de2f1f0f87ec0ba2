"""Adds stages to a chain if the topic table has columns: a first stage converts records into rows, and a last stage
converts rows into records again.
"""

from dataclasses import dataclass, replace

from dagster_smt.authoring.stage import Chain, Stage
from dagster_smt.model.topics.format import Format
from dagster_smt.model.topics.primitives import WHOLE
from dagster_smt.tables.rows.read import ReadRow
from dagster_smt.tables.rows.write import WriteRow
from dagster_smt.tables.sink_options import SinkKind
from dagster_smt.tables.topic_table import TopicTable


@dataclass(frozen=True)
class RowStage(Stage):
    """A stage that a topic table adds to the user's chain: it reads the columns of a row, or writes them."""

    @property
    def label(self) -> str:
        """The name of the stage in messages: ``read columns`` or ``write columns``."""
        if isinstance(self.transform, ReadRow):
            return "read columns"
        return "write columns"

    @property
    def place(self) -> str:
        """The location of the stage in messages, such as ``topic table (read columns)``."""
        return f"topic table ({self.label})"

    @property
    def connect_class(self) -> str:
        """The full name of the transform's class. See ``Stage``."""
        return self.transform.connect_class


def with_row(chain: Chain, table: TopicTable, kind: SinkKind, written: Format | None = None) -> Chain:
    """Adds the stages that read and write the columns of a topic table to ``chain``. If the topic table declares no
    columns, the chain is returned unchanged.

    Args:
        chain: The chain, with or without these stages.
        table: The topic table.
        kind: The kind of the sink. For ``columns``, the stage that reads the columns is enough. For ``records``, a last
            stage converts the rows into records again.
        written: The format of written values. If None, the format of the topic table.
    """
    row = table.row
    if not row:
        return chain
    of_chain = []
    for stage in chain.stages:
        if not isinstance(stage, RowStage):
            of_chain.append(stage)
    own = tuple(of_chain)
    first = RowStage("columns", ReadRow(row=row, form=table.value))
    form = written or table.value
    whole = form.kind in WHOLE or form.is_column
    last = RowStage("record", WriteRow(row=row, whole=whole, unwrapped=form.is_column))
    return replace(chain, stages=(first, *own, last) if kind == "records" else (first, *own))
