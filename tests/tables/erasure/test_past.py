"""The old versions of a table: which of them Delta is told of as removed, and how Iceberg is called."""

from types import SimpleNamespace

import pytest

from dagster_smt.spark.versions import SINCE_4
from dagster_smt.tables.erasure import past
from dagster_smt.tables.sinks.iceberg import IcebergTable


@pytest.mark.parametrize(
    ("names", "noted"),
    [
        (["00000000000000000011.json", "00000000000000000012.json"], [11]),  # Delta 4.0 rejects a note of 10
        (["00000000000000000000.json", "00000000000000000001.json"], []),
        (["00000000000000000013.checkpoint.parquet", "_last_checkpoint"], []),
    ],
)
def test_a_log_that_lost_its_beginning_is_noted_with_its_first_version(monkeypatch, names, noted):
    files = SimpleNamespace(below=lambda folder: [SimpleNamespace(inside=f"_delta_log/{name}") for name in names])
    versions = []
    monkeypatch.setattr(past, "_location", lambda session, table: "/lake/orders")
    monkeypatch.setattr(past, "files_of", lambda session, folder: files)
    monkeypatch.setattr(past, "note_vacuum", lambda session, path, table, version: versions.append(version))
    past._note_begin_of_log(None, SimpleNamespace(spec=SimpleNamespace(path="/lake/orders", table=None)))
    assert versions == noted


class Calls:
    """A session that notes its statements, and answers each with one row."""

    def __init__(self):
        self.conf, self.statements = SimpleNamespace(get=lambda key, standard=None: standard), []

    def sql(self, statement):
        self.statements.append(statement)
        return SimpleNamespace(collect=lambda: [SimpleNamespace(n=1)])

    def table(self, name):
        nothing = SimpleNamespace(append=lambda: None)
        return SimpleNamespace(limit=lambda n: SimpleNamespace(writeTo=lambda name: nothing))


def test_arguments_of_procedures_are_literals_in_spark_3(monkeypatch):
    monkeypatch.setattr("dagster_smt.tables.sinks.replaced_rows.missing", lambda: frozenset(SINCE_4))
    monkeypatch.setattr(past, "expire_now", lambda session, table: 0)
    table, session = object.__new__(IcebergTable), Calls()
    table.name, table.catalog, table.anchor = "ice.db.`it's $x`", "ice", lambda: True
    past.purge_deleted_rows(session, table)
    list(past.rewrite_manifest(session, table))
    calls = [statement for statement in session.statements if statement.startswith("CALL")]
    assert len(calls) == 3 and all("table => 'ice.db." in call for call in calls)
