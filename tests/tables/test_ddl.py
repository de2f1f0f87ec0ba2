"""Column lists: what each type becomes, and how a wrong one is refused."""

import pytest

from dagster_smt.errors import ConfigError
from dagster_smt.model.schema import Schema, Type, date, decimal, optional, time, timestamp
from dagster_smt.tables.ddl import _TYPES, parse_ddl
from dagster_smt.tables.ddl_text import column_text


def opt(kind: Type) -> Schema:
    return Schema(kind, True)


TYPES = {
    "TINYINT": opt(Type.INT8), "BYTE": opt(Type.INT8),
    "SMALLINT": opt(Type.INT16), "SHORT": opt(Type.INT16),
    "INT": opt(Type.INT32), "INTEGER": opt(Type.INT32),
    "BIGINT": opt(Type.INT64), "LONG": opt(Type.INT64),
    "FLOAT": opt(Type.FLOAT32), "REAL": opt(Type.FLOAT32), "DOUBLE": opt(Type.FLOAT64),
    "BOOLEAN": opt(Type.BOOLEAN), "STRING": opt(Type.STRING), "BINARY": opt(Type.BYTES),
    "VARCHAR(5)": opt(Type.STRING), "CHAR(5)": opt(Type.STRING), "CHARACTER(5)": opt(Type.STRING),
    "DATE": date(optional=True), "TIME": time(optional=True), "TIME(3)": time(optional=True),
    "TIME WITHOUT TIME ZONE": time(optional=True),
    "MULTISET<STRING>": Schema(Type.MAP, True, keys=Schema(Type.STRING), values=Schema(Type.INT32)),
    "TIMESTAMP": timestamp(optional=True), "TIMESTAMP_LTZ": timestamp(optional=True).with_(zoned=True),
    "BYTES": opt(Type.BYTES), "VARBINARY(16)": opt(Type.BYTES), "TIMESTAMP(3)": timestamp(optional=True),
    "TIMESTAMP(3) WITH LOCAL TIME ZONE": timestamp(optional=True).with_(zoned=True),
    "TIMESTAMP WITHOUT TIME ZONE": timestamp(optional=True),
    "ROW<a INT, b STRING>": Schema(Type.STRUCT, True, fields=(("a", opt(Type.INT32)), ("b", opt(Type.STRING)))),
    "DECIMAL(10,2)": decimal(2, 10, optional=True), "DEC(4)": decimal(0, 4, optional=True),
    "NUMERIC": decimal(0, 10, optional=True),
    "ARRAY<INT>": Schema(Type.ARRAY, True, values=opt(Type.INT32)),
    "MAP<STRING, ARRAY<DECIMAL(3,1)>>": Schema(
        Type.MAP, True, keys=Schema(Type.STRING), values=Schema(Type.ARRAY, True, values=decimal(1, 3, optional=True))
    ),
    "MAP<STRING NOT NULL, BYTES>": Schema(Type.MAP, True, keys=Schema(Type.STRING), values=opt(Type.BYTES)),
    "STRUCT<b: INT NOT NULL, `c.d` STRING COMMENT 'it''s'>": Schema(
        Type.STRUCT, True, fields=(("b", Schema(Type.INT32)), ("c.d", Schema(Type.STRING, True, doc="it's")))
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", TYPES)
def test_type(text):
    assert parse_ddl(f"x {text}").by_name["x"] == TYPES[text]
    assert parse_ddl(f"a INT, x {text.lower()} NOT NULL, z INT").by_name["x"].optional is False


def test_every_type_has_a_case():
    assert {t.split("(")[0].split("<")[0].split()[0] for t in TYPES} == set(_TYPES)


def test_names():
    names = ["id", "`a b`", "`x``y`", "`a.b`", "order", "date", "ünï", "_9", "`Id`", "timestamp"]
    schema = parse_ddl(", ".join(f"{n} INT" for n in names))
    assert list(schema.by_name) == ["id", "a b", "x`y", "a.b", "order", "date", "ünï", "_9", "Id", "timestamp"]
    assert schema.type is Type.STRUCT and not schema.optional


def test_comment_and_not_null_in_any_order():
    expected = Schema(Type.INT32, doc="two words")
    assert parse_ddl("a INT COMMENT 'two words' NOT NULL").by_name["a"] == expected
    assert parse_ddl("a INT NOT NULL COMMENT 'two words'").by_name["a"] == expected
    assert optional(expected).optional


REFUSED = [
    ("", ["SMT250 at the end: a field name is expected"]),
    ("a", ["SMT250 at the end: a type is expected"]),
    ("a INT b INT", ["SMT250 at character 7: a comma, NOT NULL or COMMENT is expected"]),
    ("a INT,", ["SMT250 at the end: a field name is expected"]),
    ("a-b INT", ["SMT250 at character 2: a type is expected"]),
    ("a ARRAY", ["SMT250 at the end: < after ARRAY is expected"]),
    ("a ARRAY<INT", ["SMT250 at the end: > to close ARRAY is expected"]),
    ("a INT>", ["SMT250 at character 6: a comma, NOT NULL or COMMENT is expected"]),
    ("a INT NOT b INT", ["SMT250 at character 11: NULL after NOT is expected"]),
    ("a INT COMMENT b", ["SMT250 at character 15: a quoted text is expected after COMMENT"]),
    ("a MAP<STRING NOT, INT>", ["SMT250 at character 17: NULL after NOT is expected"]),
    ("a VARCHAR(x)", ["SMT250 at character 11: a number, or ) after it is expected"]),
    ("a `b", ["SMT250 the column list ends inside a quoted text"]),
    ("a INT DEFAULT 5", ["SMT250 at character 7: a comma, NOT NULL or COMMENT is expected"]),
    ("a STRNG", ["SMT251 at character 3: type STRNG is not known"]),
    ("a INT, a INT", ["SMT252 at the end: field 'a' is declared twice"]),
    ("a DECIMAL(39,0)", ["SMT253 at the end: DECIMAL(39,0) does not exist"]),
    (
        "a foo, s STRUCT<x: bar, y INT z, ok INT>, m MAP<INT>, b baz<INT>, a INT, c VARIANT NOT NULL",
        [
            "SMT251 at character 3: type FOO is not known",
            "SMT251 at character 20: type BAR is not known",
            "SMT250 at character 31: a comma, NOT NULL or COMMENT is expected",
            "SMT250 at character 52: a comma between key and value type is expected",
            "SMT251 at character 57: type BAZ is not known",
            "SMT250 at character 60: a comma, NOT NULL or COMMENT is expected",
            "SMT252 at character 72: field 'a' is declared twice",
            "SMT251 at character 76: type VARIANT is not known",
        ],
    ),
]


@pytest.mark.parametrize(("text", "expected"), REFUSED, ids=[r[0] for r in REFUSED])
def test_refusal(text, expected):
    with pytest.raises(ConfigError) as caught:
        parse_ddl(text)
    assert [str(p).split("\n")[0] for p in caught.value.problems] == expected


def test_place_and_suggestion():
    with pytest.raises(ConfigError) as caught:
        parse_ddl("a STRNG", place="orders.yaml columns")
    assert str(caught.value) == (
        "SMT251 orders.yaml columns at character 3: type STRNG is not known\n  hint: did you mean STRING?"
    )


@pytest.mark.parametrize(
    "columns",
    [
        "a TINYINT, b SMALLINT, c INT, d BIGINT NOT NULL, e FLOAT, f DOUBLE, g BOOLEAN, h STRING, i BYTES, j DATE",
        "a TIMESTAMP(3), b DECIMAL(10, 2), c ARRAY<STRING NOT NULL>, d MAP<STRING, ARRAY<BIGINT>>",
        "a TIME(3), b TIMESTAMP_LTZ(3), c MAP<DATE, TIME(3) NOT NULL>, d ROW<e TIME(3), f ARRAY<TIME(3)>> NOT NULL",
        "a ROW<b ROW<`c d` STRING, `e``f` INT> NOT NULL, `key` STRING>, `a b` STRING, `CHECK` STRING, `é` INT",
        "wide ROW<" + ", ".join(f"field_{n} ARRAY<ROW<name STRING, at TIMESTAMP(3)>>" for n in range(20)) + ">",
    ],
)
def test_columns_are_written_as_they_are_read(columns):
    schema = parse_ddl(columns)
    text = ",\n".join(column_text(name, child) for name, child in schema.fields)
    assert parse_ddl(text) == schema
    assert max(map(len, text.split("\n"))) <= 120
