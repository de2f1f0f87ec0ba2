"""``dagster-smt privacy``: columns of tagged fields, and since which run, from Dagster's event log."""

import csv
import io

import dagster as dg
import pytest

from dagster_smt.cli import main
from dagster_smt.cli.privacy_command import RunColumns, columns_since

KEY = dg.AssetKey(["lake", "orders"])


def column(name, state, field="mail"):
    return {"column": name, "field": field, "tags": ["PII.email"], "state": state, "stages": ["policy_mask"]}


def test_since_means_the_first_run_of_the_same_state():
    history = [
        RunColumns("r4", 400, "", [column("mail", "unmasked"), column("who", "masked", "name")]),
        RunColumns("r3", 300, "", [column("mail", "unmasked")]),
        RunColumns("r2", 200, "", [column("mail", "masked"), column("who", "masked", "name")]),
        RunColumns("r1", 100, "", [column("mail", "unmasked")]),
    ]
    assert [(row[0], row[3], row[6]) for row in columns_since(history)] == [
        ("mail", "unmasked", "r3"),
        ("who", "masked", "r4"),
    ]


def test_each_partition_has_a_history_of_its_own():
    history = [RunColumns("r2", 2, "a", [column("m", "masked")]), RunColumns("r1", 1, "b", [column("m", "unmasked")])]
    assert [(row[6], row[7]) for row in columns_since(history)] == [("r2", "a"), ("r1", "b")]


@pytest.fixture
def instance(monkeypatch):
    with dg.instance_for_test() as one:

        def run(*columns):
            @dg.asset(key=KEY)
            def orders():
                metadata = {"dagster_smt/tagged_columns": dg.MetadataValue.json(list(columns))} if columns else {}
                return dg.MaterializeResult(metadata=metadata)

            return dg.materialize([orders], instance=one).run_id

        yield run


def test_the_command_reads_the_event_log(instance, capsys):
    first = instance(column("mail", "unmasked"), column("=1+1", "masked", "x"))
    instance(column("mail", "unmasked"), column("=1+1", "masked", "x"))
    assert main(["privacy", "lake/orders"]) == 0
    text = capsys.readouterr().out
    assert "mail" in text and first in text
    assert main(["privacy", "lake/orders", "--unmasked", "--format", "csv"]) == 1
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["column"], row["state"], row["run"]) for row in rows] == [("mail", "unmasked", first)]
    main(["privacy", "lake/orders", "--format", "csv"])
    assert "'=1+1" in capsys.readouterr().out, "no spreadsheet takes a name for a formula"
    main(["privacy", "lake/orders", "--format", "markdown"])
    assert "| column | field |" in capsys.readouterr().out


def test_a_table_without_a_policy_is_said(instance, capsys):
    instance()
    assert main(["privacy", "lake/orders"]) == 1
    assert "SMT770 lake/orders: no run of the asset has reported tagged columns" in capsys.readouterr().err
