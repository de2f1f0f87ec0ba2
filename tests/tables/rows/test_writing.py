"""From rows back to records: key, value, headers and timestamp; what nobody changed keeps its bytes."""

import json
import uuid

import pytest

from dagster_smt.model.topics.columns import HEADER_LIST, decoder
from dagster_smt.model.topics.format import Format
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.rows.decoders import decode_function, encode_function
from dagster_smt.values.headers.fields import header_bytes
from tests.tables.rows.test_reading import ID, TIME, Sent, header, in_python, table

TRANSFORMS = "org.apache.kafka.connect.transforms."


def stages(*source):
    """A chain: pairs of a class and its options."""
    chain = {"transforms": ",".join(f"s{n}" for n in range(len(source)))}
    for number, (kind, options) in enumerate(source):
        chain[f"transforms.s{number}.type"] = TRANSFORMS + kind
        chain |= {f"transforms.s{number}.{key}": value for key, value in options.items()}
    return chain


def mask(*fields):
    return ("MaskField$Value", {"fields": ",".join(fields)})


def drop(*fields):
    return ("ReplaceField$Value", {"exclude": ",".join(fields)})


def set_to(field, text):
    """A fixed text under a name: the old field first goes."""
    return [drop(field), ("InsertField$Value", {"static.field": field, "static.value": text})]


def written(one, record, *source):
    """Key, value, headers, timestamp and chosen partition of what is written; or the problem's code."""
    ((value, key, record),) = in_python(one, [record], stages(*source), "records")
    if isinstance(value, str):
        return value
    headers = [(h.key, header_bytes(h)) for h in record.headers]
    results = {"key": key, "value": value, "headers": headers, "timestamp": record.timestamp}
    return results if record.target_partition is None else {**results, "partition": record.target_partition}


HEADERS = (("trace", b"abc"), ("n", b"\0\0\0\7"), ("trace", b"def"))
COLUMNS = {
    "id": "BIGINT",
    "name": "STRING",
    "at": "BIGINT METADATA FROM 'timestamp'",
    "offset": "BIGINT METADATA VIRTUAL",
    "partition": "INT METADATA",
    "trace": header("utf8", "STRING", "trace"),
    "n": {**header("int_from_bytes", "INT", "n"), "virtual": True},
}
RECORD = Sent(b'{"id":1,"name":"ann","more":true}', HEADERS, b'"k"')
SAME = {"key": b'"k"', "value": {"id": 1, "name": "ann"}, "headers": list(HEADERS), "timestamp": TIME, "partition": 3}
WRITTEN = [
    ([], SAME),  # what is read only is not written, be it virtual or not
    ([mask("name")], {**SAME, "value": {"id": 1, "name": ""}}),
    ([mask("trace")], {**SAME, "headers": [("n", b"\0\0\0\7"), ("trace", b"")]}),  # and no other one of the name stays
    ([drop("trace")], {**SAME, "headers": [("n", b"\0\0\0\7")]}),
    ([mask("n")], SAME),  # virtual: only the column changes
    ([mask("at")], {**SAME, "timestamp": 0}),
    ([drop("at")], {**SAME, "timestamp": None}),
    ([("InsertField$Value", {"static.field": "env", "static.value": "x"})],
     {**SAME, "value": {"id": 1, "name": "ann", "env": "x"}}),
    (set_to("trace", "new"), {**SAME, "headers": [("n", b"\0\0\0\7"), ("trace", b"new")]}),
    ([mask("partition")], {**SAME, "partition": 0}),
    ([drop("partition")], {name: columns for name, columns in SAME.items() if name != "partition"}),
    *[([("Cast$Value", {"spec": f"{name}:string"})], "SMT278") for name in ("at", "partition")],
    *[(set_to(name, "x"), "SMT278") for name in ("at", "partition")],
]  # fmt: skip


@pytest.mark.parametrize(("source", "expected"), WRITTEN)
def test_rows_become_records(source, expected):
    assert written(table(COLUMNS), RECORD, *source) == expected


def test_without_physical_columns_the_value_keeps_its_other_fields():
    columns = {name: column for name, column in COLUMNS.items() if name not in ("id", "name")}
    one = table(columns)
    assert written(one, RECORD)["value"] == {"id": 1, "name": "ann", "more": True}
    result = written(one, RECORD, mask("trace", "name"))
    assert result["value"] == {"id": 1, "name": "", "more": True}
    assert result["headers"] == [("n", b"\0\0\0\7"), ("trace", b"")]
    assert written(one, RECORD, drop("trace"))["headers"] == [("n", b"\0\0\0\7")]


KEYED = {"columns": "id BIGINT, region STRING, note STRING", "key_fields": ("id", "region"), "key": Format("json")}
APART = {**KEYED, "value_fields_include": "EXCEPT_KEY"}
PREFIXED = {**APART, "columns": "k_id BIGINT, note STRING", "key_fields": ("k_id",), "key_fields_prefix": "k_"}
ROW = Sent(b'{"id":1,"region":"eu","note":"n"}', key=b'{"id":1,"region":"eu"}')
KEYS = [
    (KEYED, ROW, [mask("region")], {"id": 1, "region": ""}, {"id": 1, "region": "", "note": "n"}),
    (APART, ROW, [mask("region")], {"id": 1, "region": ""}, {"note": "n"}),
    (APART, ROW, [drop("region")], {"id": 1}, {"note": "n"}),
    (PREFIXED, ROW, [mask("k_id")], {"id": 0}, {"note": "n"}),
]


@pytest.mark.parametrize(("source", "record", "chain", "key", "value"), KEYS)
def test_columns_of_the_key(source, record, chain, key, value):
    result = written(table(**source), record, *chain)
    assert (json.loads(result["key"]), result["value"]) == (key, value)


def test_a_record_without_key_or_value_stays_one():
    result = written(table(**APART), Sent(b'{"note":"n"}'), mask("note"))
    assert result == {"key": None, "value": {"note": ""}, "headers": [], "timestamp": TIME}
    assert written(table(**APART), Sent(None, HEADERS, b'{"id":1}'))["value"] is None


def test_whole_keys_and_values():
    one = table(
        "word STRING, line STRING",
        key_fields=("word",),
        value_fields_include="EXCEPT_KEY",
        value=Format("string"),
        key=Format("string"),
    )
    from dagster_smt.chain import parse_chain
    from dagster_smt.interpret.interpreter import Interpreter
    from dagster_smt.model.record import Record
    from dagster_smt.tables.rows.row_stages import with_row

    interpreter = Interpreter(with_row(parse_chain(stages(mask("word"))), one, "records"), one.key, one.value)
    _, key, value = interpreter.process(Record("t"), b"w", b"a line")
    assert (key, value) == (b"", b"a line")


WHOLE = [
    ({"h": f"{HEADER_LIST} HEADERS"}, [], list(HEADERS)),
    ({"h": f"{HEADER_LIST} HEADERS"}, [drop("h")], []),
    ({"h": {"type": HEADER_LIST, "headers": True, "virtual": True}}, [drop("h")], list(HEADERS)),
    ({"h": "MAP<STRING, BYTES> METADATA FROM 'headers'"}, [], list(HEADERS)),  # not changed: duplicates stay
    ({"h": "MAP<STRING, BYTES> METADATA FROM 'headers'"}, [drop("h")], []),
    ({"h": {**header("utf8", "ARRAY<STRING>", "trace"), "match": "all"}}, [], list(HEADERS)),
    ({"h": {**header("utf8", "ARRAY<STRING>", "trace"), "match": "all"}}, [drop("h")], [("n", b"\0\0\0\7")]),
    ({"h": {**header("utf8", "ARRAY<STRING>", "trace"), "match": "all"}},
     [("MaskField$Value", {"fields": "h", "field.syntax.version": "V2"})], [("n", b"\0\0\0\7")]),
    ({"h": header("int_from_bytes", "INT", "trace")}, [], list(HEADERS)),  # not decoded, not changed
]  # fmt: skip


@pytest.mark.parametrize(("columns", "chain", "expected"), WHOLE)
def test_all_headers(columns, chain, expected):
    result = written(table({"id": "BIGINT", **columns}), Sent(b'{"id":1}', HEADERS), *chain)
    assert result["headers"] == expected


ONE, OTHER = header("utf8", "STRING", "trace"), header("bytes", "BYTES", "trace")
LIST, MAP = f"{HEADER_LIST} HEADERS", "MAP<STRING, BYTES> METADATA FROM 'headers'"
MASKED, GONE = [("n", b"\0\0\0\7"), ("trace", b"")], [("n", b"\0\0\0\7")]
NEW = ("InsertHeader", {"header": "new", "value.literal": "x"})
REMOVED = ("DropHeaders", {"headers": "trace"})
SHARED = [
    *((columns, [change], expected)
      for columns in ({"h": ONE, "all": LIST}, {"all": LIST, "h": ONE}, {"h": ONE, "all": MAP}, {"all": MAP, "h": ONE},
                      {"h": ONE, "u": OTHER}, {"u": OTHER, "h": ONE})
      for change, expected in ((mask("h"), MASKED), (drop("h"), GONE))),
    *(({"h": column}, [NEW, REMOVED], [*GONE, ("new", b"x")]) for column in (ONE, LIST, MAP)),
    ({"h": ONE}, [REMOVED, mask("h")], MASKED),
    ({"h": ONE, "all": LIST}, [drop("all"), mask("h")], [("trace", b"")]),
]  # fmt: skip


@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize(("columns", "chain", "expected"), SHARED)
def test_a_column_that_nobody_changed_undoes_nothing(columns, chain, expected, typed):
    result = written(table({"id": "BIGINT", **columns} if typed else columns), Sent(b'{"id":1}', HEADERS), *chain)
    assert result["headers"] == expected


VALUES = [
    ("bytes", "BYTES", b"\xff"), ("utf8", "STRING", "grün"), ("ascii", "STRING", "a"), ("hex", "STRING", "00FF"),
    ("base64", "STRING", "AP8="), ("uuid", "STRING", str(ID)), ("boolean_from_bytes", "BOOLEAN", True),
    ("short_from_bytes", "SMALLINT", -3), ("int_from_bytes(LITTLE_ENDIAN)", "INT", -3),
    ("bigint_from_bytes", "BIGINT", 2**40), ("float_from_bytes", "FLOAT", 1.5), ("double_from_bytes", "DOUBLE", 0.1),
    ("json", "STRUCT<a: INT, b: ARRAY<STRING>>", {"a": 1, "b": ["x", None]}), ("simple", "BIGINT", 12),
    ("simple", "STRING", "text"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "ddl", "value"), VALUES)
def test_what_is_encoded_is_decoded_again(name, ddl, value):
    schema, result = parse_ddl(f"c {ddl}").by_name["c"], decoder(name)
    data = encode_function(result, schema)(value)
    assert isinstance(data, bytes) and decode_function(result, schema)(data) == value


def test_a_value_that_cannot_be_encoded_is_a_dead_letter():
    one = table({"id": "BIGINT", "h": header("uuid", "STRING", "trace")})
    record = Sent(b'{"id":1}', (("trace", ID.bytes),))
    assert written(one, record, *set_to("h", "no uuid")) == "SMT437"
    assert written(one, record)["headers"] == [("trace", ID.bytes)]
    other = uuid.UUID(int=5)
    assert written(one, record, *set_to("h", str(other)))["headers"] == [("trace", str(other).encode())]
