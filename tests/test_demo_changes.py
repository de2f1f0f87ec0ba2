"""``make demo CDC=1``: what it prints is what the changes make of the table."""

import dagster as dg
import pytest

from dagster_smt.orchestration import SparkSessionResource
from definitions.demo import FOLDER_VARIABLE
from definitions.demo.changes import CHANGES, SNAPSHOT, UNCHANGED, build_products, show_changes


def rows_after(changes):
    """The rows by key, as a fold of the events."""
    rows = {}
    for change in changes:
        if change.row is None:
            rows.pop(change.key)
        else:
            old = rows.get(change.key)
            rows[change.key] = tuple(old[n] if value == UNCHANGED else value for n, value in enumerate(change.row))
    return rows


@pytest.mark.spark
def test_the_table_follows_the_changes(spark, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    with dg.instance_for_test() as instance:
        assert show_changes(build_products(), SparkSessionResource(), instance)
    text = capsys.readouterr().out
    before, after = text.split("The table before the changes:")[1].split("The table after them:")
    for part, changes in ((before, SNAPSHOT), (after, SNAPSHOT + CHANGES)):
        lines = [line.split() for line in part.split("\n") if line.strip()[:1].isdigit() and "records" not in line]
        rows = {int(line[0]): float(line[-2]) for line in lines}
        expected = rows_after(changes)
        assert rows == {key: row[3] for key, row in expected.items()}
        assert all(row[2] in part for row in expected.values())
    assert "2 rows inserted, 2 rows updated, 2 rows deleted" in text
    assert UNCHANGED not in text
