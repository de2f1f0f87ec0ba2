"""The places of an erasure: none is passed over, and one that fails hides no other. Needs no session."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from dagster_smt.model.key_references import forget_keys
from dagster_smt.run import erasure as module
from dagster_smt.run.erasure import ErasureTarget, erase
from dagster_smt.tables.erasure.spec import SmtErasure
from dagster_smt.tables.erasure.stored_files import LocalFiles, folders_of
from dagster_smt.tables.sink_options import DeltaSink, FileTopicSink
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics, TopicTable

PERSON = "anna.with.a.long.name.4711@example.org"
KEY = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    """The register is a table, which needs Spark."""
    monkeypatch.setenv("EXAMPLE_KEY", KEY)

    def register(self):
        for target in self.targets:
            self.registered[target.erasure.register_table.place, target.erasure.kind] = 1

    monkeypatch.setattr(module._Erasure, "_register", register)
    forget_keys()
    yield
    forget_keys()  # other tests have other keys under this name


def target(folder, name="orders", *, sink="clean", letters=None):
    spec = SmtErasure(DeltaSink(folder / "erased"), "e1=${env:EXAMPLE_KEY}", "value.mail")
    table = TopicTable(FileTopics(folder / "in"), ("orders",))
    return ErasureTarget(name, table, FileTopicSink(folder / sink), spec, letters, "letters")


def add(folder, topic):
    append_records(FileTopics(folder), topic, [NewRecord(None, json.dumps({"mail": PERSON}).encode())])


def places(report):
    return [(place.kind, place.place.rpartition(" ")[2], place.rows) for place in report.places]


def test_a_topic_with_the_name_of_the_letters_is_erased_where_it_is_another_one(tmp_path):
    for folder in ("in", "clean"):
        add(tmp_path / folder, "letters")
    report = erase([target(tmp_path)], [PERSON], object())
    assert places(report) == [("dead letters", "letters", 1), ("topic", "letters", 1)]
    assert report.proven and PERSON not in (tmp_path / "clean/letters/0").glob("*.jsonl").__next__().read_text()


def test_letters_among_the_topics_of_the_sink_are_erased_once_as_letters(tmp_path):
    add(tmp_path / "clean", "letters")
    one = target(tmp_path, letters=FileTopics(tmp_path / "in/../clean"))
    report = erase([one], [PERSON], object())
    assert places(report) == [("dead letters", "letters", 1)] and report.proven


def test_a_place_that_cannot_be_listed_hides_no_other(tmp_path, monkeypatch):
    add(tmp_path / "clean", "orders")
    whole = module.of_topics.file_topics

    def listed(topics):
        if topics.root.name == "locked":
            raise PermissionError(13, "Permission denied", f"{tmp_path}/mail={PERSON}/locked")
        return whole(topics)

    monkeypatch.setattr(module.of_topics, "file_topics", listed)
    report = erase([target(tmp_path, "one", sink="locked"), target(tmp_path, "two")], [PERSON], object())
    assert [(place.asset, place.verdict) for place in report.places] == [
        ("one", "failed: SMT622"),
        ("two", "no value is left"),
    ]
    assert not report.proven and report.rows == 1 and PERSON not in report.to_json()


NAMES = {
    "value.mail": "mail",
    "value.user.id": "id",
    "key.ids[0]": "ids",
    "value.users[*].id": "id",
    "value.ids[*]": "ids",
    "value.`user.id`": "user.id",
    "value.attrs['user.id']": "user.id",
    "value.**.`the id`": "the id",
    "headers.user.id": "user.id",
}


@pytest.mark.parametrize(("path", "name"), NAMES.items())
def test_short_ids_are_searched_for_behind_the_last_name_of_each_path(tmp_path, path, name):
    one = target(tmp_path)
    spec = replace(one.erasure, records=("key", path), written=("value",))
    one = replace(one, erasure=spec)
    erasure = module._Erasure((one,), frozenset({"42"}), object(), "", False, print)
    needles = erasure.needles(one, frozenset())
    assert needles.names == {name}
    assert needles.in_bytes(json.dumps({name: ["42"]}).encode()) == 1


class Iceberg:
    """A session that describes one table."""

    def __init__(self, properties):
        described = [("Location", "string"), ("Location", "file:/lake/orders/")]
        self.answers = {
            "DESCRIBE": [SimpleNamespace(col_name=name, data_type=kind) for name, kind in described],
            "SHOW": [SimpleNamespace(key=key, value=value) for key, value in properties.items()],
        }

    def sql(self, statement):
        return SimpleNamespace(collect=lambda: self.answers[statement.split()[0]])


def test_files_of_an_iceberg_table_may_be_in_other_folders():
    table = SimpleNamespace(name="ice.db.orders")
    inside = {"write.metadata.path": "/lake/orders/metadata"}
    assert folders_of(Iceberg(inside), table) == ["file:/lake/orders"]
    outside = {"write.data.path": "/data/orders", **inside}
    assert folders_of(Iceberg(outside), table) == ["file:/lake/orders", "/data/orders"]


def test_a_file_that_goes_while_it_is_listed_is_no_error(tmp_path):
    for name in "abc":
        (tmp_path / name).write_text("x")
    files = LocalFiles().below(str(tmp_path))
    assert next(files).inside == "a"
    (tmp_path / "b").unlink()
    assert [file.inside for file in files] == ["c"]
