"""The residue scan, attacked: values in every place of a file, and texts that only look like one."""

import gzip
import io
import json
import struct
from uuid import UUID

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dagster_smt.tables.erasure.needles import Needles, is_short
from dagster_smt.tables.erasure.residue import ResidueScan, count_in, kind_of
from dagster_smt.tables.erasure.stored_files import LocalFiles

MAIL, NUMBER = "anna.with.a.long.name.4711@example.org", "4711"
NEEDLES = Needles(frozenset({MAIL, NUMBER, "4711.00"}), frozenset({"user_id", "mail"}))


def parquet(**columns):
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream, compression="zstd")
    return stream.getvalue()


def avro(schema, rows):
    stream = io.BytesIO()
    fastavro.writer(stream, fastavro.parse_schema(schema), rows)
    return stream.getvalue()


STRUCT = pa.array([{"user_id": 4711, "other": 1}])
MAP = pa.array([[("user_id", NUMBER)]], pa.map_(pa.string(), pa.string()))
STATS = {"numRecords": 1, "minValues": {"user_id": 4711}, "maxValues": {"user_id": 9}}
ADD = json.dumps({"add": {"path": "part-0.parquet", "stats": json.dumps(STATS)}})
LEFT = {
    "a text": parquet(mail=[MAIL]),
    "a text in another column": parquet(note=[f"ask {MAIL}, please"]),
    "a number": parquet(user_id=[1, 4711]),
    "a number as a text": parquet(user_id=[NUMBER]),
    "a decimal": parquet(user_id=pa.array([4711], pa.decimal128(10, 0))),
    "a decimal with places": parquet(user_id=pa.array([4711], pa.decimal128(10, 2))),
    "a double": parquet(user_id=[4711.0]),
    "a float": parquet(user_id=pa.array([4711.0], pa.float32())),
    "bytes": parquet(value=[json.dumps({"mail": MAIL}).encode()]),
    "a number in bytes of JSON": parquet(value=[b'{"user_id" : 4711}']),
    "a struct": parquet(customer=STRUCT),
    "a list of structs": parquet(customers=pa.array([[{"user_id": 4711}]])),
    "a map, as partition values of a checkpoint are": parquet(partitionValues=MAP),
    "a dictionary": parquet(mail=pa.array([MAIL, MAIL]).dictionary_encode()),
    "a fixed length": parquet(mail=pa.array([MAIL.encode()], pa.binary(len(MAIL)))),
    "statistics of a checkpoint, as a text": parquet(add=pa.array([{"stats": json.dumps(STATS)}])),
    "statistics of a checkpoint, parsed": parquet(add=pa.array([{"minValues": {"user_id": 4711}}])),
    "statistics in the log": ADD.encode(),
    "a text that Delta cut": json.dumps({"stats": json.dumps({"minValues": {"mail": MAIL[:32]}})}).encode(),
    "the upper end of a text that Delta cut, in the log": json.dumps(
        {"stats": json.dumps({"maxValues": {"mail": MAIL[:32] + "\U0010ffff"}}, ensure_ascii=False)}, ensure_ascii=False
    ).encode(),
    "the next text after one that Delta cut": json.dumps(
        {"stats": json.dumps({"maxValues": {"mail": MAIL[:31] + chr(ord(MAIL[31]) + 1)}})}
    ).encode(),
    "the upper end of a text that Delta cut": parquet(maxValues=pa.array([{"mail": MAIL[:32] + "\U0010ffff"}])),
    "a path of a partition": json.dumps({"add": {"path": "user_id=4711/part-0.parquet"}}).encode(),
    "a path of a partition, escaped": json.dumps({"path": f"mail={MAIL.replace('@', '%40')}/part-0"}).encode(),
    "a condition of a DELETE": json.dumps({"predicate": f"[\"(mail = '{MAIL}')\"]"}).encode(),
    "escapes of JSON": json.dumps({"mail": "änna.with.umlauts@example.org"}).encode(),
    "a compressed file of metadata": gzip.compress(MAIL.encode()),
}
UMLAUT = Needles(frozenset({"änna.with.umlauts@example.org"}), frozenset({"mail"}))


@pytest.mark.parametrize("title", LEFT)
def test_a_value_is_found_wherever_a_file_has_it(title):
    needles = UMLAUT if title == "escapes of JSON" else NEEDLES
    assert count_in("part-0.parquet", LEFT[title], needles) > 0


def test_a_value_in_the_metadata_of_a_file_is_found():
    stream = io.BytesIO()
    pq.write_table(pa.table({"a": [1]}).replace_schema_metadata({"note": MAIL}), stream)
    assert count_in("part-0.parquet", stream.getvalue(), NEEDLES) > 0


BOUND = {
    "type": "record",
    "name": "bound",
    "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": "bytes"}],
}
MANIFEST = {
    "type": "record",
    "name": "entry",
    "fields": [{"name": "lower_bounds", "type": {"type": "array", "items": BOUND}}],
}
COLUMNS = json.dumps(
    {
        "type": "struct",
        "fields": [
            {"id": 1, "name": "user_id", "type": "long"},
            {"id": 2, "name": "mail", "type": "string"},
            {"id": 4, "name": "user_id", "type": "decimal(10, 0)"},
            {"id": 5, "name": "user_id", "type": "decimal(10, 2)"},
            {"id": 6, "name": "user_id", "type": "double"},
            {"id": 7, "name": "user_id", "type": "float"},
            {"id": 8, "name": "amount", "type": "decimal(10, 0)"},
            {"id": 9, "name": "amount", "type": "double"},
            {"id": 10, "name": "user_id", "type": "decimal(38, 2)"},
        ],
    }
)


@pytest.mark.parametrize(
    ("number", "value", "left"),
    [
        (1, (4711).to_bytes(8, "little", signed=True), True),
        (1, (4712).to_bytes(8, "little", signed=True), False),
        (2, MAIL.encode(), True),
        (2, MAIL[:16].encode(), True),
        (2, (MAIL[:15] + chr(ord(MAIL[15]) + 1)).encode(), True),
        (2, MAIL[:15].encode(), False),
        (3, (4711).to_bytes(8, "little", signed=True), False),
        (4, (4711).to_bytes(2, "big", signed=True), True),
        (4, (4712).to_bytes(2, "big", signed=True), False),
        (5, (471100).to_bytes(3, "big", signed=True), True),
        (5, (4711).to_bytes(2, "big", signed=True), False),
        (6, struct.pack("<d", 4711.0), True),
        (6, struct.pack("<d", 4711.5), False),
        (6, b"\0", False),
        (7, struct.pack("<f", 4711.0), True),
        (8, (4711).to_bytes(2, "big", signed=True), False),
        (9, struct.pack("<d", 4711.0), False),
    ],
)
def test_bounds_of_a_manifest_are_read_as_their_columns_are(number, value, left):
    stream = io.BytesIO()
    rows = [{"lower_bounds": [{"key": number, "value": value}]}]
    fastavro.writer(stream, fastavro.parse_schema(MANIFEST), rows, metadata={"schema": COLUMNS})
    assert bool(count_in("m.avro", stream.getvalue(), NEEDLES)) is left


def test_a_bound_of_more_digits_than_decimals_of_python_keep_is_not_rounded():
    number = 10**35 + 7
    needles = Needles(frozenset({f"{number}.00"}), frozenset({"user_id"}))
    for difference, count in ((0, 1), (1, 0), (100, 0)):
        stream = io.BytesIO()
        bound = (number * 100 + difference).to_bytes(16, "big", signed=True)
        rows = [{"lower_bounds": [{"key": 10, "value": bound}]}]
        fastavro.writer(stream, fastavro.parse_schema(MANIFEST), rows, metadata={"schema": COLUMNS})
        assert count_in("m.avro", stream.getvalue(), needles) == count


@pytest.mark.parametrize(
    ("bound", "count"),
    [
        ((4711).to_bytes(8, "little"), 1),
        ((4711).to_bytes(4, "little"), 1),
        (b"4711", 1),
        (struct.pack("<d", 4711.0), 1),
        (struct.pack("<f", 4711.0), 1),
        ((4712).to_bytes(8, "little"), 0),
        ((4711).to_bytes(2, "big"), 0),  # a decimal, or a text of two characters
        (struct.pack("<d", 4711.5), 0),
        (b"", 0),
        (b"a long text of a partition that names nobody", 0),
        (None, 0),
    ],
)
def test_bounds_of_partitions_in_a_list_of_manifests_are_read(bound, count):
    fields = [{"name": "contains_null", "type": "boolean"}]
    fields += [{"name": name, "type": ["null", "bytes"]} for name in ("lower_bound", "upper_bound")]
    summary = {"type": "record", "name": "summary", "fields": fields}
    whole = {
        "type": "record",
        "name": "m",
        "fields": [{"name": "partitions", "type": {"type": "array", "items": summary}}],
    }
    row = {"contains_null": False, "lower_bound": bound, "upper_bound": None}
    assert count_in("snap.avro", avro(whole, [{"partitions": [row]}]), NEEDLES) == count


NOTHING = {
    "a number that is no id": parquet(amount=[4711], offset=[4711]),
    "another double": parquet(user_id=[4711.5, float("nan")], amount=[4711.0, 1.0]),
    "a longer number": parquet(user_id=[47110, 14711]),
    "a longer word": parquet(note=[f"x{MAIL}", f"{MAIL}x"]),
    "a short number as a text elsewhere": parquet(note=["4711"], value=[b'{"amount": 4711}']),
    "sizes in the log": json.dumps({"add": {"size": 4711, "stats": '{"minValues":{"amount":4711}}'}}).encode(),
    "a decimal number": b'{"user_id": 4711.5}',
}


@pytest.mark.parametrize("title", NOTHING)
def test_what_only_looks_like_a_value_is_none(title):
    assert count_in("part-0.parquet", NOTHING[title], NEEDLES) == 0


def test_files_that_cannot_be_read_prove_nothing(tmp_path):
    (tmp_path / "data.orc").write_bytes(b"ORC rest")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / ".hidden").write_text("nothing")
    scan = ResidueScan(NEEDLES)
    scan.folder(LocalFiles(), str(tmp_path))
    assert not scan.scan.whole and [line.partition(":")[0] for line in scan.scan.unread] == [
        "broken.parquet",
        "data.orc",
    ]
    assert scan.scan.files == 3 and not scan.residue


def test_names_of_files_and_folders_are_searched_and_not_shown(tmp_path):
    folder = tmp_path / f"mail={MAIL}"
    folder.mkdir()
    (folder / "part-0.parquet").write_bytes(parquet(a=[1]))
    (tmp_path / f"{MAIL}.txt").write_text("nothing")
    scan = ResidueScan(NEEDLES)
    scan.folder(LocalFiles(), str(tmp_path))
    assert len(scan.residue) == 2 and MAIL not in repr(scan.residue)


def test_kinds_of_files():
    kinds = {
        "_delta_log/00000000000000000000.json": "statistics in the log",
        "x/_change_data/cdc-0.parquet": "change data",
        "metadata/v1.metadata.json": "a manifest",
        "data/part-0.parquet": "a data file",
        "notes.txt": "another file",
    }
    assert {path: kind_of(path) for path in kinds} == kinds


def test_short_texts_are_searched_for_only_where_a_person_is_named():
    assert [is_short(text) for text in ("4711", "12345678", "123456789", "abc12", "abc123")] == [
        True,
        True,
        False,
        True,
        False,
    ]
    assert NEEDLES.short == {"4711"}
    assert NEEDLES.floats == {4711.0} and Needles(frozenset({"nan", "inf", "x", "1e3"}), frozenset()).floats == {1000.0}


@pytest.mark.parametrize(
    ("start", "bound"),
    [
        ("anna.with.a.nam\ud7ff", "anna.with.a.nam\ue000"),  # the code points in between are no characters
        ("anna.with.a.nam\U0010ffff", "anna.with.a.nan"),  # no character is greater
        ("anna.with.a.n\ud7ff" + 2 * "\U0010ffff", "anna.with.a.n\ue000"),
        (16 * "\U0010ffff", None),
    ],
)
def test_values_of_any_characters_are_searched_for_in_files(start, bound):
    """Iceberg cuts a value after 16 characters, and then takes the next greater text as the bound."""
    value = start + "\ud7ff and a rest that is longer than thirty-two characters"
    needles = Needles(frozenset({value}), frozenset({"mail"}))
    rows = parquet(note=[value, "nothing"], other=[b"nothing", value.encode()])
    assert count_in("part-0.parquet", rows, needles) == 2
    assert count_in("part-0.parquet", parquet(mail=["nothing"]), needles) == 0
    statistics = json.dumps({"minValues": {"mail": value[:32]}}, ensure_ascii=False)
    assert count_in("0.json", statistics.encode(), needles) == 1
    if bound is not None:
        stream = io.BytesIO()
        rows = [{"lower_bounds": [{"key": 2, "value": bound.encode()}]}]
        fastavro.writer(stream, fastavro.parse_schema(MANIFEST), rows, metadata={"schema": COLUMNS})
        assert count_in("m.avro", stream.getvalue(), needles) == 1


OF_A_PERSON = UUID("6f1c2a7e-3b9d-4c55-9f0a-1d2e3f405060")
OF_ANOTHER = UUID("6f1c2a7e-3b9d-4c55-9f0a-1d2e3f405061")


@pytest.mark.parametrize(("uuid", "count"), [(OF_A_PERSON, 1), (OF_ANOTHER, 0)])
def test_a_column_of_uuids_has_them_as_sixteen_bytes(uuid, count):
    """As other engines write them; Spark reads such a column as text."""
    needles = Needles(frozenset({str(OF_A_PERSON)}), frozenset({"user_id"}))
    values = pa.array([uuid.bytes], pa.binary(16))
    for array in (values, pa.ExtensionArray.from_storage(pa.uuid(), values)):
        assert count_in("p.parquet", parquet(user_id=array), needles) == count
    columns = json.dumps({"type": "struct", "fields": [{"id": 1, "name": "user_id", "type": "uuid"}]})
    stream = io.BytesIO()
    rows = [{"lower_bounds": [{"key": 1, "value": uuid.bytes}]}]
    fastavro.writer(stream, fastavro.parse_schema(MANIFEST), rows, metadata={"schema": columns})
    assert count_in("m.avro", stream.getvalue(), needles) == count
