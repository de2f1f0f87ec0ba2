"""Whether two ways of writing a place name one folder."""

import pytest

from dagster_smt.tables.locations import location_of, same_name


@pytest.mark.parametrize(
    ("one", "other", "holds"),
    [
        ("/a/b", "/a/b", True),
        ("/a/b", "/a/b/", True),
        ("/a/b", "/a//b/./c", True),
        ("/a/b", "/a/x/../b/c", True),
        ("/a/b", "/a/bc", False),
        ("/a/b", "/a", False),
        ("/", "/a", True),
        ("/a/b", "file:/a/b", True),
        ("/a/b", "file:///a/b/c", True),
        ("/a/b", "file://localhost/a/b", True),
        ("FILE:/a/b", "/a/b", True),
        ("/a/b", "s3a://a/b", False),
        ("s3://lake/a", "s3a://LAKE/a/b", True),
        ("s3n://lake/a", "s3a://lake/x/../a", True),
        ("s3a://lake", "s3a://lake/a", True),
        ("s3a://lake/a", "s3a://other/a", False),
        ("abfs://c@x.dfs/a", "abfss://c@x.dfs/a/b", True),
        ("hdfs://nn/a", "/a", False),
        ("s3a://lake/a?b", "s3a://lake/a?b/c", True),
        ("s3a://lake/a#b", "s3a://lake/a", False),
        ("/a/{{ b }}", "/a/{{ b }}/c", True),
        ("/a/b\n", "/a/b", False),
    ],
)
def test_spellings(one, other, holds):
    assert location_of(one).holds(location_of(other)) is holds


def test_paths_without_a_scheme_lie_in_the_store_of_the_session():
    assert location_of("hdfs://nn/a").holds(location_of("/a/b", "hdfs://nn/"))
    assert not location_of("/a").holds(location_of("/a/b", "hdfs://nn"))


def test_links_and_working_folders_are_followed(tmp_path, monkeypatch):
    (tmp_path / "lake" / "orders").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "lake")
    monkeypatch.chdir(tmp_path / "lake")
    table = location_of(tmp_path / "lake" / "orders")
    for path in ("orders", "./orders/dead", "../link/orders", f"{tmp_path}/link/orders/not/there/yet"):
        assert table.holds(location_of(path))
    assert not table.holds(location_of("other"))


class Session:
    """What ``same_name`` asks of a session."""

    class catalog:  # noqa: N801
        @staticmethod
        def currentCatalog():  # noqa: N802
            return "lake"

        @staticmethod
        def currentDatabase():  # noqa: N802
            return "db"

    class conf:  # noqa: N801
        @staticmethod
        def get(name, default):
            return {"spark.sql.catalog.lake": "x"}.get(name, default)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("orders", "lake.db.Orders", True),
        ("db.orders", "`lake`.`db`.`orders`", True),
        ("db.`a.b`", "lake.db.`a.b`", True),
        ("db.`a.b`", "a.b", False),
        ("`a``b`.c", "ab.c", False),
        ("`a``b`.c", "lake.`a``b`.c", True),
        ("db.`a```", "db.`a`", False),
        ("", "orders", False),
    ],
)
def test_names_of_tables_are_read_as_spark_reads_them(one, other, same):
    assert same_name(Session, one, other) is same
