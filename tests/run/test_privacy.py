"""Transforms with keys in runs: no personal value and no key is left anywhere, and another key stops the run."""

import base64
import json
import logging
import os
import pickle
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.errors import ConfigError, EngineError
from dagster_smt.interpret.examples import EXAMPLE_KEY
from dagster_smt.model.key_references import check_value, forget_keys
from dagster_smt.model.topics.format import Format
from dagster_smt.run.report_json import report_to_json
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.sources.file_writer import NewRecord
from tests.run.personal import People, survivors
from tests.run.world import World

RING = "k1=${env:EXAMPLE_KEY}"
DATA = base64.b64decode(EXAMPLE_KEY[1])
STAGES = {
    "name": ("Tokenize$Value", {"fields": "name", "alphabet": "lowercase", "key.ring": RING}),
    "bank": ("MaskPart$Value", {"fields": "bank"}),
    "mail": ("Pseudonymize$Value", {"fields": "mail,**.mail", "field.syntax.version": "extended", "key.ring": RING}),
    "card": ("Encrypt$Value", {"fields": "card", "mode": "siv", "key.ring": RING}),
    "ip": ("Coarsen$Value", {"fields": "ip", "kind": "ip"}),
    "note": ("Redact$Value", {"fields": "note"}),
}
KEY = {"key": ("Pseudonymize$Key", {"key.ring": RING})}
SCHEMA = parse_ddl(
    "id BIGINT, name STRING, mail STRING, card STRING, bank STRING, ip STRING, "
    "contacts ARRAY<STRUCT<mail: STRING, kind: STRING>>, note STRING, amount BIGINT"
)


def chain_of(stages):
    properties = {"transforms": ",".join(stages)}
    for alias, (kind, options) in stages.items():
        properties[f"transforms.{alias}.type"] = kind
        properties |= {f"transforms.{alias}.{key}": value for key, value in options.items()}
    return properties


def files_of(folder):
    """The texts of all files of a table: rows from Parquet, and the log as it is."""
    for path in folder.rglob("*"):
        if path.suffix == ".parquet":
            for row in pq.read_table(path).to_pylist():
                yield json.dumps(
                    row, default=lambda value: value.decode("latin-1") if isinstance(value, bytes) else str(value)
                )
        elif path.is_file() and path.suffix != ".crc":
            yield path.read_text(encoding="latin-1")


def text_of(value):
    """The text of a value that JSON does not have."""
    if isinstance(value, bytes):
        return value.decode()
    return str(value)


def key_spellings():
    return [EXAMPLE_KEY[1].rstrip("="), DATA.hex(), DATA.decode("latin-1"), str(list(DATA))]


WAYS = {
    "records in the JVM": (STAGES, "records", None),
    "records in Python": (STAGES | KEY, "records", None),
    "columns parsed in the JVM": (STAGES, "columns", Format("json_schema", SCHEMA)),
}


def run_people(spark, folder, way, count, caplog, seed=1):
    stages, kind, value = WAYS[way]
    world, people = World(folder, spark), People(seed)
    records = []
    for number in range(count):
        key, text = people.record(number)
        records.append(NewRecord(key if "key" in stages else b"k", text, (), 1700000000000 + number))
    world.add(*records)
    with caplog.at_level(logging.DEBUG):
        report = world.run(chain_of(stages), kind, value)
    return world, people, report


SOME_WAYS = [pytest.param(way, marks=[pytest.mark.long] if way == "records in Python" else []) for way in WAYS]


@pytest.mark.spark
@pytest.mark.parametrize("way", SOME_WAYS)
def test_no_personal_value_is_left(spark, tmp_path, way, caplog):
    world, people, report = run_people(spark, tmp_path, way, 200, caplog)
    assert (report.records_out, report.way) == (200, way)
    data = json.dumps(report_to_json(report))
    texts = [*files_of(tmp_path / "table"), data, caplog.text, *world.lines]
    assert len(survivors(people.values, [json.dumps(people.record(0)[1].decode())])) > 3, "the judge sees them"
    assert survivors(people.values, texts) == set()
    assert not [text for text in texts for spelling in key_spellings() if spelling in text]
    assert '"pseudonym"' in data


@pytest.mark.spark
@pytest.mark.long
def test_no_personal_value_is_left_of_a_million(spark, tmp_path, caplog):
    count = int(os.environ.get("SMT_PEOPLE", "1000000"))
    _, people, report = run_people(spark, tmp_path, "records in the JVM", count, caplog)
    assert report.records_out == count
    assert survivors(people.values, files_of(tmp_path / "table")) == set()


@pytest.mark.spark
@pytest.mark.long
def test_equal_values_of_two_tables_join(spark, tmp_path):
    """One table with declared columns, one of whole records; a third with a domain of its own does not join."""
    mails = []
    domains = {"a": {}, "b": {}, "c": {"domain": "field"}}
    for name, more in domains.items():
        world = World(tmp_path / name, spark)
        world.add(NewRecord(b"k", b'{"mail":"ada@example.org"}', (), 1700000000000))
        stage = {"p": ("Pseudonymize$Value", {"fields": "mail", "key.ring": RING} | more)}
        if name == "a":
            world.run(chain_of(stage), "columns", Format("json_schema", parse_ddl("mail STRING")))
            mails.append(world.rows()[0].mail)
        else:
            world.run(chain_of(stage))
            mails.append(json.loads(world.rows()[0].value)["mail"])
    assert mails[0] == mails[1] != mails[2]


@pytest.mark.spark
def test_a_missing_key_stops_the_run_before_anything_is_read(spark, tmp_path, monkeypatch):
    world = World(tmp_path, spark)
    world.add(NewRecord(b"k", b'{"a":"x"}', (), 1700000000000))
    stage = {"p": ("Pseudonymize$Value", {"fields": "a", "key.ring": "k1=${env:NO_SUCH_KEY}"})}
    with pytest.raises(
        ConfigError, match=r"SMT582 transforms.p \(Pseudonymize\$Value\) key.ring the key k1: .*NO_SUCH_KEY"
    ):
        world.run(chain_of(stage))
    assert world.lines == []


def test_a_chain_that_was_sent_needs_the_same_keys(monkeypatch):
    stage = {"p": ("Pseudonymize$Value", {"fields": "a", "key.ring": RING})}
    transform = parse_chain(chain_of(stage)).stages[0].transform
    arrived = pickle.loads(pickle.dumps(transform))
    assert arrived.ring.writer.check == check_value(DATA)
    assert arrived.ring == transform.ring
    monkeypatch.setenv("EXAMPLE_KEY", base64.b64encode(b"o" * 32).decode())
    forget_keys()
    with pytest.raises(EngineError, match="SMT741"):
        arrived.ring.writer.key()
    monkeypatch.undo()
    forget_keys()


@pytest.mark.spark
@pytest.mark.parametrize("way", ["records", "columns"])
def test_another_key_on_an_executor_is_an_error(spark, tmp_path, monkeypatch, way):
    """The variable of this process is not that of Java, nor that of the Python workers."""
    monkeypatch.setenv("EXAMPLE_KEY", base64.b64encode(b"o" * 32).decode())
    forget_keys()
    world = World(tmp_path, spark)
    world.add(NewRecord(b"k", b'{"a":"x"}', (), 1700000000000))
    stage = {"p": ("Pseudonymize$Value", {"fields": "a", "key.ring": RING})}
    value = Format("json_schema", parse_ddl("a STRING")) if way == "columns" else None
    with pytest.raises(EngineError, match="SMT741 Spark's executors, the key k1: is another key there"):
        world.run(chain_of(stage), way, value)
    monkeypatch.undo()
    forget_keys()


@pytest.mark.spark
@pytest.mark.long
def test_the_event_log_and_plans_hold_no_key(tmp_path):
    """A session of its own, whose event log has the plans of all queries."""
    command = [sys.executable, "-m", "tests.run.privacy_log", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    log = "\n".join(
        path.read_text() for path in (tmp_path / "log").rglob("*") if path.is_file() and path.suffix != ".crc"
    )
    assert "${env:EXAMPLE_KEY}" in log, "programs with references are in the log"
    assert not [spelling for spelling in key_spellings() if spelling in log + done.stdout + done.stderr]


@pytest.mark.spark
@pytest.mark.long
def test_tokens_are_the_same_on_all_ways(spark, tmp_path):
    """A short card is a dead letter on each way, and a wrong one, too."""
    cards = ["4111-1111-1111-1111", "55", "5555 5555 5555 4444", "4111-1111-1111-1112"]
    results = {}
    for name, (kind, value) in {"records": ("records", None), "columns": ("columns", "card STRING")}.items():
        for side in ("", "key"):
            world = World(tmp_path / (name + side), spark)
            world.add(*(NewRecord(b"k", json.dumps({"card": card}).encode(), (), 1700000000000) for card in cards))
            stages = {"t": ("Tokenize$Value", {"fields": "card", "checksum": "luhn", "key.ring": RING})}
            if side:
                stages |= {"key": ("Pseudonymize$Key", {"key.ring": RING})}
            declared = value and Format("json_schema", parse_ddl(value))
            report = world.run(chain_of(stages), kind, declared, errors_tolerance="all")
            assert (report.records_out, report.failed) == (2, 2)
            rows = [json.loads(row.value)["card"] if kind == "records" else row.card for row in world.rows()]
            results[report.way, side] = sorted(rows)
    assert len(results) == 4 and len({tuple(rows) for rows in results.values()}) == 1, results
    assert [row for row in results.popitem()[1] if "-" in row] == ["8047-6194-1852-1428"]
