"""Values of records as Arrow takes them for the columns of a table: what fits, and what is the record's problem."""

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given

from dagster_smt.errors import DataError, PlanError
from dagster_smt.model.schema import INT32, STRING, JavaDate, Schema, Type, date, decimal, optional, time, timestamp
from dagster_smt.spark.column_values import arrow_type, check_defaults, column_writer
from dagster_smt.spark.typed_literals import fits_decimal
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.values.cast import DAY
from tests.spark.made_up import structs

WIDE = parse_ddl("a INT, s STRUCT<x: INT, y: STRING>, b STRING")
ITEMS = Schema(Type.ARRAY, values=WIDE)
MAP = Schema(Type.MAP, keys=optional(INT32), values=optional(STRING))
MOST_MILLIS = (2**63 - 1) // 1000
ONLY_B = parse_ddl("b STRING")
NARROW = parse_ddl("b STRING, s STRUCT<y: STRING>")
# (name, schema of the value, schema of the column, value, what Arrow makes of it)
WRITTEN = [
    ("the same struct", WIDE, WIDE, {"a": 1, "s": {"x": 2, "y": "z"}, "b": None}, (1, (2, "z"), None)),
    ("fewer fields", NARROW, WIDE, {"b": "q", "s": {"y": "z"}}, (None, (None, "z"), "q")),
    ("a null struct", WIDE, WIDE, {"a": 1, "s": None, "b": "q"}, (1, None, "q")),
    ("structs in an array", ITEMS.with_(values=ONLY_B), ITEMS, [{"b": "q"}, None], [(None, None, "q"), None]),
    ("a map", MAP, MAP, {1: "x", 2: None}, [(1, "x"), (2, None)]),
    ("structs in a map", MAP.with_(values=ONLY_B), MAP.with_(values=WIDE), {1: {"b": "q"}}, [(1, (None, None, "q"))]),
    ("no struct", STRING, STRING, "x", "x"),
    ("null", optional(STRING), optional(STRING), None, None),
    ("the largest decimal", decimal(2), decimal(2), Decimal("9" * 36 + ".99"), Decimal("9" * 36 + ".99")),
    ("a decimal with fewer places", decimal(2), decimal(2), Decimal("1E+3"), Decimal("1000.00")),
    ("a date", date(), date(), JavaDate(-3 * DAY), -3),
    ("a time", time(), time(), JavaDate(DAY), DAY),
    ("the last timestamp", timestamp(), timestamp(), JavaDate(MOST_MILLIS), MOST_MILLIS),
    ("bytes", Schema(Type.BYTES), Schema(Type.BYTES), b"\xff", b"\xff"),
]


def as_arrow(column, value):
    (result,) = pa.array([value], arrow_type(column)).to_pylist()
    return bare(result)


def bare(value):
    """Structs as tuples."""
    if isinstance(value, dict):
        return tuple(map(bare, value.values()))
    return type(value)(map(bare, value)) if isinstance(value, list | tuple) else value


@pytest.mark.parametrize(
    ("schema", "column", "value", "expected"), [w[1:] for w in WRITTEN], ids=[w[0] for w in WRITTEN]
)
def test_written(schema, column, value, expected):
    assert as_arrow(column, column_writer(schema, column)(value)) == expected


ROW = Schema(Type.STRUCT, fields=(("d", decimal(2)), ("l", Schema(Type.ARRAY, values=timestamp())), ("m", MAP)))
UNFIT = "does not fit Spark's type"
UNPLANNED = "has a schema that the plan of the window does not know"
# (name, schema of the value, schema of the column, value, problem)
REFUSED = [
    ("a decimal too large", ROW, ROW, {"d": Decimal(10**36)}, f"SMT426 'd' {UNFIT} decimal(38,2)"),
    ("a decimal with more places", ROW, ROW, {"d": Decimal("0.001")}, f"SMT426 'd' {UNFIT} decimal(38,2)"),
    ("a timestamp too late", ROW, ROW, {"l": [JavaDate(MOST_MILLIS + 1)]}, f"SMT426 'l[]' {UNFIT} timestamp"),
    ("a timestamp too early", timestamp(), timestamp(), JavaDate(-(2**62)), f"SMT426 the value {UNFIT} timestamp"),
    ("a date too late", date(), date(), JavaDate(2**31 * DAY), f"SMT426 the value {UNFIT} date"),
    ("a number too large", INT32, INT32, 2**31, f"SMT426 the value {UNFIT} int"),
    ("a null key", ROW, ROW, {"m": {None: "x"}}, "SMT427 'm' has a null key, which Spark's maps cannot hold"),
    ("another type", STRING, INT32, "x", f"SMT428 the value {UNPLANNED}"),
    ("another type inside", parse_ddl("a STRING"), WIDE, {"a": "x"}, f"SMT428 'a' {UNPLANNED}"),
    ("another logical type", INT32, date(), 1, f"SMT428 the value {UNPLANNED}"),
    ("one field more", WIDE, parse_ddl("a INT, b STRING"), {"a": 1}, f"SMT428 the value {UNPLANNED}"),
    ("a map without types", Schema(Type.MAP), MAP, {1: 2}, f"SMT428 the value {UNPLANNED}"),
]


@pytest.mark.parametrize(
    ("schema", "column", "value", "problem"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED]
)
def test_refused(schema, column, value, problem):
    with pytest.raises(DataError) as caught:
        column_writer(schema, column)(value)
    assert str(caught.value).splitlines()[0] == problem
    assert caught.value.problem.hint and caught.value.problem.connect_class == ""


# (schema with a default, where the plan says that the column cannot hold it; None: it can)
DEFAULTS = [
    (timestamp().with_(default=JavaDate(MOST_MILLIS)), None),
    (timestamp().with_(default=JavaDate(MOST_MILLIS + 1)), "value"),
    (date().with_(default=JavaDate(-(2**31) * DAY)), None),
    (date().with_(default=JavaDate(2**31 * DAY)), "value"),
    (decimal(2).with_(default=Decimal("0.001")), "value"),
    (Schema(Type.STRUCT, fields=(("a", decimal(2).with_(default=Decimal(10**36))),)), "value.a"),
    (Schema(Type.ARRAY, values=date().with_(default=JavaDate(2**31 * DAY))), "value[]"),
    (Schema(Type.MAP, keys=STRING, values=INT32.with_(default=7)), None),
]


@pytest.mark.parametrize(("schema", "place"), DEFAULTS)
def test_defaults_that_columns_cannot_hold_are_refused_by_the_plan(schema, place):
    if place is None:
        check_defaults(schema, "value")
        return
    with pytest.raises(PlanError) as caught:
        check_defaults(schema, "value")
    (problem,) = caught.value.problems
    assert (problem.code, problem.place) == ("SMT207", place)
    assert problem.statement.startswith("the default: ") and problem.hint


@given(structs(3))
def test_arrow_and_spark_agree_on_the_plain_type(schema):
    from dagster_smt.spark.plain import plain_type

    assert _kinds(arrow_type(schema)) == plain_type(schema).simpleString().replace("`", "")


def _kinds(kind):
    """An Arrow type in Spark's words."""
    if pa.types.is_struct(kind):
        return f"struct<{','.join(f'{f.name}:{_kinds(f.type)}' for f in kind)}>".replace("`", "")
    if pa.types.is_list(kind):
        return f"array<{_kinds(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"map<{_kinds(kind.key_type)},{_kinds(kind.item_type)}>"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    names = {"int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint", "bool": "boolean"}
    return names.get(str(kind), str(kind))


# (number, scale, whether decimal(38, scale) holds it); exponents far beyond those of Python's default context
FITTING = [
    ("9" * 38, 0, True),
    ("1" + "0" * 38, 0, False),
    ("1E+35", 2, True),
    ("1E+36", 2, False),
    ("0.01", 2, True),
    ("0.001", 2, False),
    ("1E+999999", 2, False),
    ("1E+2147483647", 2, False),
    ("1E-2147483647", 2, False),
    ("0E+2147483647", 2, True),
]


@pytest.mark.parametrize(("number", "scale", "fits"), FITTING)
def test_decimals_that_columns_hold(number, scale, fits):
    assert fits_decimal(Decimal(number), scale) is fits
