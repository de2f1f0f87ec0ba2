"""The judge of leaks sees a value wherever it is, and in whatever spelling."""

import base64
import gzip
import json
import sqlite3
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.leaks.judge import leaks

NAME, CARD = "bdfghjklmn", "4111111111111111"
VALUES = {NAME, CARD}
SPELLINGS = {
    "plain": f"the name {NAME} here",
    "capitals": f"the name {NAME.upper()}",
    "grouped": "card 4111-1111 1111.1111",
    "Base64": base64.b64encode(f"xx{NAME}".encode()).decode(),
    "Base64 inside a word": "prefix" + base64.b64encode(f"xx{NAME}yy".encode()).decode().rstrip("="),
    "hexadecimal": NAME.encode().hex(),
    "bytes": str(list(NAME.encode())),
    "signed bytes": json.dumps([-61, *NAME.encode()]),
    "percent": "".join(f"%{byte:02X}" for byte in NAME.encode()),
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


def test_nothing_and_what_is_allowed(tmp_path):
    (tmp_path / "log.txt").write_text("nothing of it: 4111 1111, bdfghjkl")
    (tmp_path / "topics").mkdir()
    (tmp_path / "topics" / "records").write_text(NAME)
    assert leaks(VALUES, tmp_path, [tmp_path / "topics"]) == {}
    assert leaks(VALUES, tmp_path) != {}
