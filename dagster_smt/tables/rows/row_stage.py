"""What the two stages of a topic table with columns have in common."""

from typing import Any

from dagster_smt.authoring.options import option
from dagster_smt.authoring.transform import Transform
from dagster_smt.model.topic_columns import Row


class RowStage(Transform):
    """A stage that a topic table with columns adds to a chain; no class that a chain can name."""

    connect_class = "dagster_smt.columns"
    sided = False
    reads_value = True
    null = "pass"
    row: Row = option("The columns.")

    @property
    def reads_key(self) -> bool:  # type: ignore[override]
        """See ``Transform``."""
        return bool(self.row.key_fields)

    def configured(self) -> dict[str, Any]:
        """See ``Transform``."""
        return {"columns": [f"{c.name}: {c.schema.label}" for c in self.row.columns]}
