"""Whose a record is: ids at paths of keys, values and headers, in every format; and the options of an erasure."""

import os
import pickle

import pytest

from dagster_smt.errors import ConfigError, EngineError, Problem
from dagster_smt.interpret.preview import Sample
from dagster_smt.model.topics.format import Format
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.erasure import matching
from dagster_smt.tables.erasure.matching import Erased, RecordMatch, SubjectPaths
from dagster_smt.tables.erasure.spec import SmtErasure, references
from dagster_smt.tables.erasure.subjects import SubjectSource
from dagster_smt.tables.sink_options import DeltaSink, FileTopicSink
from dagster_smt.tables.topic_table import TableSource

SPEC = SmtErasure(
    register_table=DeltaSink("r"), key_ring="e1=${env:EXAMPLE_KEY}", records="value.user.id", columns="id"
)
ROW = Format("json_schema", parse_ddl("id INT, user STRUCT<id: STRING>"))
CSV = Format("csv", parse_ddl("id STRING, name STRING"))


def subjects(path, value=b"null", key=None, headers=(), *, form=None, key_form=None):
    sample = Sample("t", key=key, value=value, headers=headers)
    return SubjectPaths((path,), key_form or Format("string"), form or Format()).subjects(sample)


CASES = (
    ("a path", subjects("value.user.id", b'{"user":{"id":"a"}}'), {"a"}),
    ("a number", subjects("value.user.id", b'{"user":{"id":4711}}'), {"4711"}),
    ("escapes", subjects("value.id", b'{"id":"\\u0061"}'), {"a"}),
    ("no such field", subjects("value.user.id", b'{"user":7}'), set()),
    ("null", subjects("value.id", b'{"id":null}'), set()),
    ("a tombstone", subjects("value.id", None), set()),
    ("a list of ids", subjects("value.ids", b'{"ids":["a",2]}'), {"a", "2"}),
    ("elements", subjects("value.users[*].id", b'{"users":[{"id":"a"},{"id":"b"}]}'), {"a", "b"}),
    ("a declared schema", subjects("value.user.id", b'{"id":1,"user":{"id":"a"}}', form=ROW), {"a"}),
    ("an envelope", subjects("value.id", b'{"schema":null,"payload":{"id":"a"}}', form=Format("envelope")), {"a"}),
    ("a line of CSV", subjects("value.id", b"a,x", form=CSV), {"a"}),
    ("the key", subjects("key", key=b"a"), {"a"}),
    ("the key in JSON", subjects("key", key=b'"a"', key_form=Format("json")), {"a"}),
    ("a field of the key", subjects("key.id", key=b'{"id":7}', key_form=Format("json")), {"7"}),
    ("a single value", subjects("key", key=(7).to_bytes(8, "big"), key_form=Format("long")), {"7"}),
    ("a header", subjects("headers.user", headers=(("user", b"a"), ("other", b"b"))), {"a"}),
    ("a header in JSON", subjects("headers.user", headers=(("user", b'"a"'),)), {"a"}),
)


@pytest.mark.parametrize(("title", "ids", "expected"), CASES, ids=[case[0] for case in CASES])
def test_ids_of_a_record(title, ids, expected):
    assert ids == expected


def test_each_word_of_a_record_that_cannot_be_read_may_be_the_id():
    assert "a@example.org" in subjects("value.id", b'{"mail": "a@example.org", ')
    assert {"4711", "x"} <= subjects("value.id", b"[4711; x.")


HOSTILE = {
    "brackets": b"[" * 20_000 + b"]" * 20_000,
    "objects": b'{"id":' * 20_000 + b"1" + b"}" * 20_000,
    "brackets that a parser reads and Python does not": b"[" * 980 + b"]" * 980,
    "an id in brackets": b'{"id":' + b"[" * 980 + b'"a"' + b"]" * 980 + b"}",
    "a long number": b"9" * 20_000,
    "a number that no double holds": b'{"id":1e99999}',
    "half a character": b'{"id":"\\ud800"}',
    "no text": b"\xff\xfe\x00",
    "a large magic byte": b"\0\xff\xff\xff\xff" + b"\x7f" * 3_000,
    "nothing": b"",
}
FORMS = {
    "json": Format(),
    "declared": ROW,
    "envelope": Format("envelope"),
    "csv": CSV,
    "string": Format("string"),
    "avro": Format("avro", parse_ddl("id STRING")),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", HOSTILE)
def test_no_record_ends_a_run_that_looks_for_persons(text, form):
    """Each of these once raised, or might: in a key, a value or a header, at each kind of path."""
    content = HOSTILE[text]
    paths = ("key", "value.id", "value.**.id", "value.user[*].id", "headers.user")
    form_ = FORMS[form]
    sample = Sample("t", key=content, value=content, headers=(("user", content), ("user", None), ("user", b"a")))
    assert "a" in SubjectPaths(paths, Format("string"), form_).subjects(sample)


def test_the_last_word_of_a_long_record_that_cannot_be_read_may_be_the_id():
    assert "4711" in subjects("value.id", b'{"a": ' + b"x, " * 50_000 + b"4711")


def test_a_person_is_known_by_a_keyed_hash_in_any_process():
    (key,) = SPEC.keys
    known = references(key, "person", ["a"])
    assert len(known["a"]) == 32 and known["a"] != references(key, "other", ["a"])["a"]
    erased = Erased("person", SPEC.keys, {"e1": frozenset(known.values())})
    match = RecordMatch(SubjectPaths(("value.id",), Format("string"), Format()), erased)
    sent = pickle.dumps(match)
    assert b"AAECAwQF" not in sent and bytes(range(32)) not in sent
    for one in (match, pickle.loads(sent)):
        assert one(Sample("t", value=b'{"id":"a"}')) and not one(Sample("t", value=b'{"id":"b"}'))


WRONG = {
    "a sink of topics": {"register_table": FileTopicSink("r")},
    "a table with keys": {"register_table": DeltaSink("r", "columns", mode="upsert")},
    "many tables": {"register_table": DeltaSink("r/{topic}")},
    "no key": {"key_ring": ()},
    "a key itself": {"key_ring": ["e1=c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"]},
    "two keys of one name": {"key_ring": ["e1=${env:A}", "e1=${env:B}"]},
    "an encoding": {"key_encoding": "rot13"},
    "a mode": {"mode": "forget"},
    "clear without rekey": {"clear": ["mail"]},
    "no path": {"records": ()},
    "a path without a part": {"records": ["user_id"]},
}


@pytest.mark.parametrize("title", WRONG)
def test_what_an_erasure_must_not_be(title):
    arguments = {
        "register_table": DeltaSink("r"),
        "key_ring": ["e1=${env:EXAMPLE_KEY}"],
        "records": ["value.id"],
        **WRONG[title],
    }
    with pytest.raises(ConfigError) as refused:
        SmtErasure(**arguments)
    assert {problem.code for problem in refused.value.problems} == {"SMT754"}
    assert "c2VjcmV0" not in str(refused.value)


def test_ids_come_from_a_file_or_a_variable_and_no_message_shows_one(tmp_path, monkeypatch):
    file = tmp_path / "ids.txt"
    file.write_text("a\n\n b \na\n")
    assert SubjectSource(file=str(file)).ids(None) == {"a", "b"}
    monkeypatch.setenv("IDS", "x\ny")
    assert SubjectSource(environment="IDS").ids(None) == {"x", "y"}
    file.write_bytes(b"secret-4711\xff")
    monkeypatch.setitem(os.environb, b"BYTES", b"secret-4711\xff")
    for wrong in (
        lambda: SubjectSource(file=str(file)),
        lambda: SubjectSource(environment="NO_IDS"),
        lambda: SubjectSource(environment="BYTES"),
    ):
        with pytest.raises(ConfigError) as refused:
            wrong().ids(None)
        assert [p.code for p in refused.value.problems] == ["SMT757"] and "secret" not in str(refused.value)
    for arguments in ({}, {"file": "a", "environment": "B"}, {"table": TableSource("t")}):
        with pytest.raises(ConfigError):
            SubjectSource(**arguments)


def test_no_more_ids_than_the_driver_can_hold(tmp_path):
    file = tmp_path / "ids.txt"
    file.write_text("\n".join(map(str, range(10_001))))
    with pytest.raises(ConfigError):
        SubjectSource(file=str(file)).ids(None)


ODD = {
    "brackets": b"[" * 5_000 + b"]" * 5_000,
    "ids in brackets": b'{"id":' + b"[" * 990 + b"1" + b"]" * 990 + b"}",
    "objects": b'{"id":' * 990 + b"1" + b"}" * 990,
    "digits": b'{"id":' + b"9" * 5_000 + b"}",
    "an exponent": b'{"id":1e99999999999999999999}',
    "half of a character": b'{"id":"\\ud800"}',
    "bytes": b"\xff\x00\xfe",
    "an envelope": b'{"schema":[],"payload":[[]]}',
}


@pytest.mark.parametrize("path", ["value.id", "value.**.id", "value", "key", "headers.h"])
@pytest.mark.parametrize("kind", ["json", "string", "bytes", "envelope", "csv", "json_schema"])
def test_no_record_ends_the_search_for_a_person(kind, path):
    """The run looks at every record of a topic, on executors, before the chain can refuse any."""
    form = Format(kind, parse_ddl("id STRING")) if kind in ("csv", "json_schema") else Format(kind)
    paths = SubjectPaths((path,), Format("string"), form)
    for odd in ODD.values():
        ids = deep(lambda odd=odd: paths.subjects(Sample("t", key=odd, value=odd, headers=(("h", odd),))))
        assert all(isinstance(one, str) for one in ids)


def deep(call, levels=100):
    """Calls a function as far down the stack as a worker of Spark does."""
    return call() if levels == 0 else deep(call, levels - 1)


def test_what_no_record_is_to_blame_for_ends_the_search(monkeypatch):
    def silent(*arguments):
        raise EngineError(Problem("SMT636", "registry", "it does not answer"))

    monkeypatch.setattr(matching, "preview", silent)
    with pytest.raises(EngineError, match="SMT636"):
        subjects("value.id", b"a,x", form=CSV)
