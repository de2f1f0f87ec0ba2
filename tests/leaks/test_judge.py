"""The judge of leaks sees a value wherever it is, and in whatever spelling."""

import base64
import gzip
import json
import sqlite3
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.leaks.counted import PATTERN, CountedPeople
from tests.leaks.judge import leaks
from tests.leaks.letters import leaking_letters
from tests.run.personal import grouped

NAME, CARD = "bdfghjklmn", "4111111111111111"
VALUES = {NAME, CARD}
SPELLINGS = {
    "plain": f"the name {NAME} here",
    "capitals": f"the name {NAME.upper()}",
    "grouped": "card 4111-1111 1111.1111",
    "Base64": base64.b64encode(f"xx{NAME}".encode()).decode(),
    "Base64 inside a word": "prefix" + base64.b64encode(f"xx{NAME}yy".encode()).decode().rstrip("="),
    "hexadecimal": NAME.encode().hex(),
    "hexadecimal behind a digit": f"{NAME.encode().hex()}".join("ab"),
    "bytes": str(list(NAME.encode())),
    "signed bytes": json.dumps([-61, *NAME.encode()]),
    "percent": "".join(f"%{byte:02X}" for byte in NAME.encode()),
    "entities": "".join(f"&#{ord(char)};" for char in NAME),
    "behind an escape": json.dumps(f"a line\n{NAME}"),
    "UTF-16 in JSON": json.dumps(NAME.encode("utf-16").decode("latin-1")),
    "JSON escapes": "".join(f"\\u{ord(char):04x}" for char in NAME),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_value_in_any_spelling(tmp_path, spelling):
    (tmp_path / "log.txt").write_text(SPELLINGS[spelling])
    assert list(leaks(VALUES, tmp_path)) == [str(tmp_path / "log.txt")]


def test_a_value_in_any_file(tmp_path):
    pq.write_table(pa.table({"n": [NAME.encode()]}), tmp_path / "a.parquet", compression="zstd")
    (tmp_path / "b.gz").write_bytes(gzip.compress(NAME.encode()))
    with zipfile.ZipFile(tmp_path / "c.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x", f"{NAME} " * 50)
    with sqlite3.connect(tmp_path / "d.db") as database:
        database.execute("CREATE TABLE t (x BLOB)")
        database.execute("INSERT INTO t VALUES (?)", (NAME.encode(),))
    (tmp_path / "e.txt").write_bytes(NAME.encode("utf-16-le"))
    assert [path[-len("a.parquet") :].rpartition("/")[2] for path in leaks(VALUES, tmp_path)] == [
        "a.parquet", "b.gz", "c.zip", "d.db", "e.txt",
    ]  # fmt: skip


def test_a_value_in_a_name_of_a_file(tmp_path):
    (tmp_path / NAME).mkdir()
    assert list(leaks(VALUES, tmp_path)) == [str(tmp_path / NAME)]


def test_a_value_in_the_footer_of_a_table(tmp_path):
    table = pa.table({"n": [1]}).replace_schema_metadata({"who": NAME})
    pq.write_table(table, tmp_path / "a.parquet")
    assert leaks(VALUES, tmp_path)


def test_a_pattern_finds_counted_values(tmp_path):
    people = CountedPeople(4711)
    key, value = people.record(1)
    data = json.loads(value)
    for text in (
        key.decode(),
        data["name"].upper(),
        data["bank"],
        grouped("".join(filter(str.isdigit, data["card"]))),
        data["ip"],
    ):
        (tmp_path / "log.txt").write_text(f"x{text}x")
        assert leaks(PATTERN, tmp_path), text
    (tmp_path / "log.txt").write_text("1700000000000 4999 7000 247.1.2.0 zqxvk")
    assert leaks(PATTERN, tmp_path) == {}


def letter(context):
    headers = [{"key": "person", "value": "x"}]
    for name, value in {"topic": "t", "partition": "0", "offset": "7", **context}.items():
        headers.append({"key": f"__connect.errors.{name}", "value": value})
    return {"key": "k", "value": {"base64": "/w=="}, "headers": headers}


@pytest.mark.parametrize(
    ("context", "change", "place"),
    [
        ({}, {}, None),
        ({"exception.message": f"not {NAME}"}, {}, "context in"),
        ({}, {"value": "another"}, "not the record"),
        ({}, {"key": None}, "not the record"),
        ({}, {"headers": []}, "not the record"),
    ],
)
def test_letters(tmp_path, context, change, place):
    """A letter is its record, and has a context without values."""
    record = {"partition": 0, "offset": 7, "key": "k", "value": {"base64": "/w=="}}
    record["headers"] = [{"key": "person", "value": "x"}]
    for folder, line in (("topics/t", record | change), ("letters/t.dead", letter(context))):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "0.jsonl").write_text(json.dumps(line))
    places = list(leaking_letters(VALUES, tmp_path))
    assert places == [] if place is None else places[0].startswith(place)


def test_nothing_and_what_is_allowed(tmp_path):
    (tmp_path / "log.txt").write_text("nothing of it: 4111 1111, bdfghjkl")
    (tmp_path / "topics").mkdir()
    (tmp_path / "topics" / "records").write_text(NAME)
    assert leaks(VALUES, tmp_path, [tmp_path / "topics"]) == {}
    assert leaks(VALUES, tmp_path) != {}
