"""Copies of catalogs without a cache: which settings they have, and that no secret is set in a running session."""

from types import SimpleNamespace

import pytest

from dagster_smt.errors import UnsupportedError
from dagster_smt.spark.catalogs import copies_with_secrets, copy_of
from dagster_smt.spark.packages import session_settings
from dagster_smt.tables.sinks import iceberg_sql

ICE, OWN = "spark.sql.catalog.ice", "spark.sql.catalog.smt_ice"
REST = {ICE: "org.apache.iceberg.spark.SparkCatalog", f"{ICE}.type": "rest", f"{ICE}.uri": "http://127.0.0.1:1"}
SECRET = {f"{ICE}.credential": "id:hunter2"}


class Session:
    """A running session that notes what is set in it."""

    def __init__(self, conf):
        self.values, self.later = dict(conf), {}
        self.conf = SimpleNamespace(get=lambda key, standard=None: self.values.get(key, standard), set=self.set)

    def set(self, key, value):
        self.later[key] = self.values[key] = value


@pytest.fixture
def uncached(monkeypatch):
    monkeypatch.setattr(iceberg_sql, "settings_of", lambda session: dict(session.values))
    return lambda session: iceberg_sql._uncached(session, "ice")


def test_a_copy_has_all_settings_and_no_cache():
    assert copy_of({**REST, "spark.sql.catalog.iced.type": "x"}, "ice") == {
        f"{OWN}.type": "rest",
        f"{OWN}.uri": "http://127.0.0.1:1",
        f"{OWN}.cache-enabled": "false",
        OWN: REST[ICE],
    }
    session_catalog = {"spark.sql.catalog.spark_catalog": "org.apache.iceberg.spark.SparkSessionCatalog"}
    assert copy_of(session_catalog, "spark_catalog")["spark.sql.catalog.smt_spark_catalog"] == REST[ICE]


@pytest.mark.parametrize(
    ("conf", "copied"),
    [
        ({**REST, **SECRET}, True),
        (REST, False),
        ({**REST, **SECRET, f"{ICE}.cache-enabled": "FALSE"}, False),
        ({**REST, **SECRET, f"{ICE}.type": "jdbc"}, False),
        ({**REST, f"{ICE}.credential": "${env:NAME}"}, False),
        ({**SECRET, ICE: "org.apache.spark.sql.delta.catalog.DeltaCatalog"}, False),
        ({}, False),
    ],
)
def test_a_catalog_with_a_secret_gets_its_copy_at_the_start(conf, copied):
    assert copies_with_secrets(conf) == (copy_of(conf, "ice") if copied else {})
    assert (OWN in session_settings([], conf, "4.0.5")) == copied


def test_a_running_session_gets_copies_without_secrets(uncached):
    session = Session(REST)
    assert uncached(session) == "smt_ice" and session.later == copy_of(REST, "ice")
    session.later.clear()
    assert uncached(session) == "smt_ice" and session.later == {}
    session.values[f"{ICE}.warehouse"] = "s3://lake"  # somebody adds a setting
    assert uncached(session) == "smt_ice" and session.later == {f"{OWN}.warehouse": "s3://lake"}


def test_no_secret_is_set_in_a_running_session(uncached):
    with pytest.raises(
        UnsupportedError, match=r"SMT665 ice: .* a secret in spark.sql.catalog.smt_ice.credential"
    ) as error:
        uncached(Session({**REST, **SECRET}))
    assert "hunter2" not in str(error.value)
    started = Session(session_settings([], {**REST, **SECRET}, "4.0.5"))
    assert uncached(started) == "smt_ice" and started.later == {}
    without = Session({**REST, **SECRET, f"{ICE}.cache-enabled": "false"})
    assert uncached(without) == "ice" and without.later == {}
