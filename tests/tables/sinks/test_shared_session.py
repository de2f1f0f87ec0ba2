"""Sinks of several threads in one session: no statement gets the settings of another thread."""

import threading
from types import SimpleNamespace

import pytest

from dagster_smt.spark.versions import settings_of
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.sinks import merge
from dagster_smt.tables.sinks.delta import DeltaTable
from dagster_smt.tables.sinks.delta_history import EMPTY_COMMITS
from dagster_smt.tables.sinks.merge import Merge, session_with, shared_setting
from dagster_smt.tables.sinks.protocol import Replaced
from tests.hostile_settings import under
from tests.tables.sinks.kinds import NOTHING, state

COMMITS = ("MERGE", "ALTER", "COMMENT", "CREATE")


class Watched:
    """A session that notes each statement that commits while other threads may change the settings."""

    def __init__(self, session):
        self.session, self.committed, self.unprotected = session, set(), []

    def __getattr__(self, name):
        return getattr(self.session, name)

    def sql(self, statement):
        verb = statement.partition(" ")[0]
        if verb in COMMITS:
            self.committed.add(verb)
            if not merge._SETTINGS._is_owned():
                self.unprotected.append(statement)
        return self.session.sql(statement)


@pytest.mark.spark
@pytest.mark.long
def test_over_connect_each_statement_that_commits_waits_for_the_settings_of_others(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(merge, "is_connect", lambda session: True)
    monkeypatch.setattr(DeltaTable, "_check_session", lambda self: None)
    watched = Watched(spark)
    cleaned = {"properties": {"delta.enableExpiredLogCleanup": "true"}}
    table = DeltaTable(watched, DeltaSink(tmp_path / "table", "columns", comment="c", **cleaned))
    table.commit(spark.sql("SELECT 1 AS id"), state(1), NOTHING, None)
    wider = spark.sql("SELECT 2L AS id, 'x' AS `a b`")
    table.commit(wider, state(2), NOTHING, state(1))
    table.append_new(spark.sql("SELECT 3L AS id, 'x' AS `a b`"), ["id"])
    table.commit(wider, state(3), Replaced(everything=True), state(2))
    changes = spark.sql("SELECT named_struct('id', 4L, 'a b', 'x') AS row, array() AS unchanged, 'insert' AS action")
    table.merge(changes, Merge(wider.schema, ("id",)), state(4), state(3), table.version())
    assert sorted(row.id for row in table.read().collect()) == [2, 4]
    assert {"MERGE", "ALTER", "COMMENT"} <= watched.committed and watched.unprotected == []


class Conf(dict):
    set, unset = dict.__setitem__, dict.__delitem__


def test_a_shared_setting_begins_and_ends_while_no_other_thread_has_changed_the_settings(monkeypatch):
    """Otherwise the end of the other thread's MERGE would restore the value from before the shared setting."""
    monkeypatch.setattr(merge, "is_connect", lambda session: True)
    session, inside, go_on = SimpleNamespace(conf=Conf()), threading.Event(), threading.Event()

    def write():
        with shared_setting(session, EMPTY_COMMITS, "false"):
            inside.set()
            go_on.wait(10)

    thread = threading.Thread(target=write)
    with session_with(session, {EMPTY_COMMITS: "false"}):
        thread.start()
        assert not inside.wait(0.1)
    assert inside.wait(10) and session.conf == {EMPTY_COMMITS: "false"}
    with session_with(session, {EMPTY_COMMITS: "false"}):
        go_on.set()
        thread.join(0.1)
        assert thread.is_alive()
    thread.join(10)
    assert session.conf == {}


@pytest.mark.spark
def test_a_second_session_has_the_settings_that_spark_itself_does_not_know(spark, tmp_path):
    """Such as the account of a store, which file systems read, or a catalog that was added at run time."""
    settings = {
        "fs.azure.account.key.example": "key",
        "spark.sql.catalog.late": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.late.type": "hadoop",
        "spark.sql.catalog.late.warehouse": str(tmp_path),
    }
    with under(spark, settings):
        spark.catalog.setCurrentCatalog("late")
        try:
            with session_with(spark, {"spark.sql.shuffle.partitions": "3"}) as own:
                assert settings.items() <= settings_of(own).items()
                assert own.conf.get("spark.sql.shuffle.partitions") == "3"
                assert own.catalog.currentCatalog() == "late"
        finally:
            spark.catalog.setCurrentCatalog("spark_catalog")
