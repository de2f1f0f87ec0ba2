"""A window whose records all name one schema is read once: what one record names is guessed to be what all name.

Windows go through runs with the guess and without: table, report and dead letters are the same.
"""

import json
from dataclasses import replace
from io import BytesIO

import fastavro
import pytest

from dagster_smt.errors import SmtError
from dagster_smt.formats.registry.versions import header_of
from dagster_smt.model.topics.format import Format
from dagster_smt.run import batch
from dagster_smt.run.batch import run
from dagster_smt.run.report_json import report_to_json
from dagster_smt.spark.versions import missing
from dagster_smt.tables.sink_options import IcebergSink
from dagster_smt.tables.sources.file_writer import NewRecord
from dagster_smt.tables.topic_table import TopicTable
from tests.quick import quick
from tests.registry import Registry
from tests.run.world import MASK, SECRET, TRANSFORMS, World

pytestmark = pytest.mark.spark

LOOK, GUESS = "looking for the schemas of the records", "a record names schema"
SCHEMAS = {
    "plain": [("id", "long"), ("name", "string")],
    "later": [("id", "long"), ("name", "string"), ("note", ["null", "string"])],
    "clash": [("id", "string"), ("name", "string")],
    "union": [("id", ["int", "string"])],
}
VALUES = {
    "plain": {"id": 1, "name": SECRET},
    "later": {"id": 2, "name": SECRET, "note": "n"},
    "clash": {"id": "x", "name": SECRET},
    "union": {"id": 3},
}


def schema(name):
    fields = [{"name": field, "type": kind} for field, kind in SCHEMAS[name]]
    return {"type": "record", "name": "Order", "fields": fields}


def encoded(name):
    """A side's bytes: by the name of its schema, or as they are."""
    if name is None or isinstance(name, bytes):
        return name
    out = BytesIO()
    fastavro.schemaless_writer(out, schema(name), VALUES[name])
    return header_of(list(SCHEMAS).index(name) + 1) + out.getvalue()


@pytest.fixture(scope="module")
def registry():
    with Registry() as running:
        for name in SCHEMAS:
            for subject in ("orders-value", "orders-key", "others-value"):
                running.add(subject, json.dumps(schema(name)))
        yield running


class IcebergWorld(World):
    """What is read is the matter here, and not what is written."""

    sink_type = IcebergSink


class Both:
    """The same topics twice: for runs that guess, and for runs that may not."""

    def __init__(self, folder, session, url):
        self.url = url
        self.worlds = [IcebergWorld(folder / name, session) for name in ("guessed", "looked")]

    def add(self, *sides, topic="orders"):
        records = [side if isinstance(side, tuple) else (b"k", side) for side in sides]
        for world in self.worlds:
            world.add(*(NewRecord(*map(encoded, record)) for record in records), topic=topic)

    def run(self, monkeypatch, chain=MASK, key="string", topics=("orders",)):
        """The lines and the report of the run that may guess, once it is seen to be what the other one is."""
        avro = Format("avro-confluent", options={"url": self.url})
        results = []
        for world in self.worlds:
            table = TopicTable(world.topics, topics, key=avro if key == "avro" else Format(key), value=avro)
            spec = replace(world.spec(chain, kind="columns"), table=table, errors_tolerance="all")
            world.lines.clear()
            with monkeypatch.context() as patched:
                if world is self.worlds[1]:
                    patched.setattr(batch, "guessed_forms", lambda frame, table: None)
                results.append(result(replace(spec, dead_letter_topic="dead"), world))
        (guessed, report), (looked, _) = results
        assert guessed == looked
        assert not [line for line in self.worlds[1].lines if line.startswith(GUESS)]
        return self.worlds[0].lines, report


def result(spec, world):
    """What a run leaves, as text."""
    try:
        report = run(spec, world.session, world.lines.append)
    except SmtError as error:
        return [str(problem).replace(world.folder.name, "") for problem in error.problems], None
    results = {name: part for name, part in report_to_json(report).items() if name not in ("seconds", "bytes", "files")}
    letters = [(r.key, r.value, connect_headers(r)) for r in world.dead("dead")] if report.failed else []
    return [json.dumps(results, sort_keys=True), world.rows(), str(letters)], report


def connect_headers(letter):
    return [header for header in letter.headers if header.key.startswith("__connect")]


@pytest.fixture
def both(spark, tmp_path, registry, monkeypatch):
    monkeypatch.setattr(batch, "MANY", 1)
    return Both(tmp_path, spark, registry.url)


def possible(passes):
    """Returns the passes of this Spark. Without ``from_avro`` in SQL, Python looks at the records, too."""
    return TWICE if passes == ONCE and "from_avro in SQL" in missing() else passes


def passes_of(lines):
    """Whether the run made a guess, and whether it looked at all records."""
    return any(line.startswith(GUESS) for line in lines), LOOK in lines


TOMBSTONES = {
    "transforms": "drop,mask",
    "transforms.drop.type": TRANSFORMS + "Filter",
    "transforms.drop.predicate": "gone",
    "predicates": "gone",
    "predicates.gone.type": TRANSFORMS + "predicates.RecordIsTombstone",
    **{key: text for key, text in MASK.items() if key != "transforms"},
}
HOIST = {
    "transforms": "hoist",
    "transforms.hoist.type": TRANSFORMS + "HoistField$Value",
    "transforms.hoist.field": "w",
}
NOTHING = {"transforms": ""}
UNKNOWN, CUT = b"\0\0\0\1\0x", b"\0\0\0\0\1"
KEY, OTHER_KEY = ("plain", "plain"), ("later", "plain")
ONCE, TWICE, AT_ONCE = (True, False), (True, True), (False, True)
WINDOWS = {
    "one schema": ([*["plain"] * 3], {}, ONCE),
    "values that are null, refused": ([None, "plain"], {}, ONCE),
    "another schema later": (["plain", "later", "plain"], {}, TWICE),
    "a schema that nobody knows, later": (["plain", UNKNOWN], {}, TWICE),
    "a schema that nobody knows, first": ([UNKNOWN, "plain"], {}, AT_ONCE),
    "nothing that can be read": ([None, b"no Avro"], {}, AT_ONCE),
    "schemas that clash": (["plain", "clash"], {}, TWICE),
    "a chain that does not fit": (["union"], {"chain": {**HOIST, "transforms.hoist.field": ""}}, TWICE),
    "what Python reads": (["union"], {"chain": NOTHING}, TWICE),
    "null values that a stage wraps": (["plain", None], {"chain": HOIST}, TWICE),
    "keys of one schema": ([KEY, KEY], {"key": "avro"}, ONCE),
    "keys of two": ([KEY, OTHER_KEY], {"key": "avro"}, TWICE),
    "a key that is null, later": ([KEY, (None, "plain")], {"key": "avro"}, TWICE),
    "a key that is null, first": ([(None, "plain"), KEY], {"key": "avro"}, AT_ONCE),
    "a key that cannot be read": ([KEY, (b"x", "later"), (b"", "plain"), KEY], {"key": "avro"}, ONCE),
    "keys without schemas": ([(b"{}", "plain")], {"key": "json"}, TWICE),
}


QUICK = (
    "one schema",
    "another schema later",
    "a schema that nobody knows, first",
    "schemas that clash",
    "what Python reads",
    "keys of two",
    "a key that cannot be read",
)
"""Windows of each kind; CI plays these, the others are long."""


@pytest.mark.parametrize("name", quick(WINDOWS, *QUICK))
def test_a_guess_changes_nothing(both, monkeypatch, name):
    records, changes, passes = WINDOWS[name]
    both.add(*records)
    lines, _ = both.run(monkeypatch, **changes)
    assert passes_of(lines) == possible(passes), lines


def test_schemas_are_counted(both, monkeypatch):
    both.add(b"no Avro", None, "plain", CUT, "plain")
    lines, report = both.run(monkeypatch, TOMBSTONES)
    assert passes_of(lines) == possible(ONCE)
    assert [(use.topic, use.side, use.schema, use.records) for use in report.schemas] == [("orders", "value", "1", 3)]
    assert (report.records_in, report.records_out, report.dropped, report.failed) == (5, 2, 1, 2)


def test_a_wrong_guess_is_told_and_leaves_one_commit(both, monkeypatch):
    both.add(*["plain"] * 4, "later", "later")
    lines, report = both.run(monkeypatch)
    reports_guess = "2 records name other schemas than the first one" in lines
    assert reports_guess is ("from_avro in SQL" not in missing())
    assert (report.records_out, both.worlds[0].state.number) == (6, 1)


@pytest.mark.long
def test_where_there_were_several_schemas_nobody_guesses(both, monkeypatch):
    for records, passes in [(["plain"], ONCE), (["later"], ONCE), (["plain", "later"], TWICE), (["plain"], AT_ONCE)]:
        both.add(*records)
        assert passes_of(both.run(monkeypatch)[0]) == possible(passes), records
    both.add("plain")
    assert passes_of(both.run(monkeypatch)[0]) == possible(ONCE)  # the last window had one


def test_topics_have_schemas_of_their_own(both, monkeypatch):
    both.add("plain")
    both.add("later", topic="others")
    assert passes_of(both.run(monkeypatch, topics=("orders", "others"))[0]) == AT_ONCE
    both.add("plain", topic="others")
    assert passes_of(both.run(monkeypatch, topics=("orders", "others"))[0]) == AT_ONCE  # the last window had two


def test_few_records_are_looked_at(both, monkeypatch):
    monkeypatch.setattr(batch, "MANY", 3)
    for records, passes in [(["plain"] * 2, AT_ONCE), (["plain"] * 3, ONCE)]:
        both.add(*records)
        assert passes_of(both.run(monkeypatch)[0]) == possible(passes), records


def test_a_registry_that_is_silent_ends_the_run(both, registry, monkeypatch):
    both.add("plain")
    both.url = f"{registry.url}/"  # a client that knows nothing yet
    registry.status = 503
    try:
        _, report = both.run(monkeypatch)
    finally:
        registry.status = 200
    assert report is None and both.worlds[0].state is None
