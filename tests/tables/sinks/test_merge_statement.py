"""The ``MERGE`` of a table with keys has the clauses that its changes need, and no others."""

import pytest
from pyspark.sql.types import LongType, StringType, StructType

from dagster_smt.tables.sinks.merge import Merge, merge_statement

COLUMNS = StructType().add("id", LongType()).add("a b", StringType())
START = "MERGE INTO t AS now USING c AS change ON now.`id` = change.row.`id` "
DELETE = "WHEN MATCHED AND change.action = 'delete' THEN DELETE"
UPDATE = (
    "WHEN MATCHED AND change.action = 'update' THEN UPDATE SET now.`id` = change.row.`id`, now.`a b` = change.row.`a b`"
)
INSERT = (
    "WHEN NOT MATCHED AND change.action = 'insert' THEN INSERT (`id`, `a b`) VALUES (change.row.`id`, change.row.`a b`)"
)
ALL = {"delete": DELETE, "update": UPDATE, "insert": INSERT}


@pytest.mark.parametrize("actions", [(), ("delete",), ("update",), ("insert",), ("delete", "insert"), tuple(ALL)])
def test_a_statement_has_the_clauses_of_its_actions(actions):
    expected = [ALL[action] for action in actions or ALL]
    merge = Merge(COLUMNS, ("id",), actions=frozenset(actions))
    assert merge_statement("t", "c", merge) == START + " ".join(expected)


def test_a_column_that_an_event_lacks_stays():
    statement = merge_statement("t", "c", Merge(COLUMNS, ("id",), frozenset({"a b"}), frozenset({"update"})))
    value = "CASE WHEN array_contains(change.unchanged, 'a b') THEN now.`a b` ELSE change.row.`a b` END"
    assert statement.endswith(f"now.`id` = change.row.`id`, now.`a b` = {value}")
