"""The base class of two stages. One stage reads the columns of a topic table from a record. The other stage writes the
columns to a record.
"""

from typing import Any

from dagster_smt.authoring.options import option
from dagster_smt.authoring.transform import Parts
from dagster_smt.effects.code import CodeTransform
from dagster_smt.model.topics.columns import Row


class RowTransform(CodeTransform):
    """A stage that a topic table with columns adds to a chain. Users cannot name this class in a chain."""

    connect_class = "dagster_smt.columns"
    sided = False
    null = "pass"
    row: Row = option("The columns.")

    @property
    def sides(self) -> Parts:
        """The parts of the record that the stage reads: the value, and also the key if a column comes from the key."""
        return frozenset({"value", "key"} if self.row.key_fields else {"value"})

    def configured(self) -> dict[str, Any]:
        """Returns the columns of the topic table as the option ``columns``, such as ``{"columns": ["id: int64"]}``. See
        ``Options``.
        """
        return {"columns": [f"{c.name}: {c.schema.label}" for c in self.row.columns]}
