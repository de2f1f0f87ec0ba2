"""Every value rule in both its forms, on every kind of value it takes, null always among them."""

import itertools
import math
from decimal import Decimal

import pyarrow as pa
import pytest

from dagster_smt.chain.plugins import predicates, transforms
from dagster_smt.errors import DataError
from dagster_smt.model.cell import Call, Const, Ref
from dagster_smt.model.paths.steps import Match
from dagster_smt.model.record import Header
from dagster_smt.model.schema import BOOLEAN, INT32, STRING, JavaDate, Schema, Type, date, decimal, time, timestamp
from dagster_smt.spark import sql as F
from dagster_smt.spark.column_values import arrow_type, column_writer
from dagster_smt.spark.flat_columns import Leaf, Struct
from dagster_smt.spark.plain import from_plain, reader, to_plain
from dagster_smt.spark.sql import select
from dagster_smt.spark.stages.expressions import Scope
from dagster_smt.spark.typed_literals import MAX_MILLIS
from dagster_smt.spark.versions import frame_of_arrow
from dagster_smt.tools.parity.bridges import unordered
from dagster_smt.tools.parity.spellings import spellings
from dagster_smt.values import containers, mask, value_rule
from dagster_smt.values.cast import CASTABLE, DAY, TARGETS, CastTo
from dagster_smt.values.headers import fields as headers
from dagster_smt.values.headers.literals import simple_header_bytes
from dagster_smt.values.java import regex as java_regex
from dagster_smt.values.java.regex import MatchesOrNull
from dagster_smt.values.numbers import to_float32
from dagster_smt.values.partitions import ChosenPartition
from dagster_smt.values.times import timestamps
from dagster_smt.values.value_rule import ValueRule

TEXTS = (
    "", "0", "-0", "+5", "007", "128", "-129", "70000", "2147483648", "9223372036854775807", "9223372036854775808",
    "1e3", "1.5", ".5", "5.", "-1e400", "1e-400", "NaN", "Infinity", "-Infinity", "inf", "0x1p3", "1d", "1f", " 1 ",
    "\u00a01", "\u0664\u0662", "true", "TRUE", " true", "yes", "abc", "2019-04-25", "2019-13-45 x", "25", "é",
    "\U0001f600", "a.b", "null", "1_000", "1" * 40,
)  # fmt: skip
DOUBLES = (
    0.0, -0.0, 0.5, -0.9, 1.0, -1.0, 1.5, 100.0, 127.9, 128.0, -129.0, 300.7, 32768.5, 9999999.0, 1e7, 0.001, 1e-4,
    2147483647.0, 2147483648.0, -2147483649.0, 4294967296.0, 9.223372036854775e18, 9.223372036854776e18, -1e19, 1e23,
    2e23, 1.7976931348623157e308, 5e-324, math.nan, math.inf, -math.inf,
)  # fmt: skip
WHOLE = {bits: (0, 1, -1, 5, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)}
VALUES = {
    "int8": (Schema(Type.INT8), WHOLE[8]),
    "int16": (Schema(Type.INT16), (*WHOLE[16], 127, 128, 300, -129)),
    "int32": (Schema(Type.INT32), (*WHOLE[32], 70000, 16777217, 33554435)),
    "int64": (Schema(Type.INT64), (*WHOLE[64], 2**32, 2**53 + 1, 1556204536123, -62135596800001, DAY, DAY - 1)),
    "float": (Schema(Type.FLOAT32), tuple(map(to_float32, (*DOUBLES, 3.4e38, 1.17549435e-38)))),
    "double": (Schema(Type.FLOAT64), DOUBLES),
    "boolean": (Schema(Type.BOOLEAN), (True, False)),
    "string": (Schema(Type.STRING), TEXTS),
    "bytes": (Schema(Type.BYTES), (b"", b"\0", b"\xff\xfe", bytes(range(57)), bytes(range(58)), bytes(range(200)))),
    "Decimal": (decimal(2), tuple(map(Decimal, ("0.00", "1.50", "-0.01", "300.75", "-129.00", "9" * 30 + ".99")))),
    "Date": (date(), tuple(JavaDate(days * DAY) for days in (0, 1, -1, 300, 18012, -719162, 2932896, 2**31 - 1))),
    "Time": (time(), tuple(map(JavaDate, (0, 1, 3_600_000, DAY - 1, DAY)))),
    "Timestamp": (
        timestamp(),
        tuple(map(JavaDate, (0, 1, -1, DAY - 1, DAY, 1556204536123, -62135596800001, 2**32, MAX_MILLIS, -MAX_MILLIS))),
    ),
    "array": (Schema(Type.ARRAY, values=Schema(Type.INT32, True)), ([], [1], [None], [1, None, 3])),
    "map": (
        Schema(Type.MAP, keys=STRING, values=Schema(Type.INT32, True)),
        ({}, {"a": 1}, {"a": None, "b": 2}, {"b": 3}, {"xa": 4, "": 5}),
    ),
    "struct": (
        Schema(Type.STRUCT, fields=(("A", Schema(Type.INT32, True)), ("a", Schema(Type.STRING, True)))),
        ({"A": 1, "a": "x"}, {"A": None, "a": None}),
    ),
    "headers": (None, ([], [("h", b"1")], [("h", None), ("x", b""), ("h", b"2")])),
}  # fmt: skip
SIMPLE = tuple(kind for kind in VALUES if kind != "headers")
SCHEMAS = {kind: schema and schema.with_(optional=True) for kind, (schema, _) in VALUES.items()}
HEADERS_TYPE = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def table():
    """Rules with the kinds of their arguments (a value: the same for all rows) and the schema of their results."""
    for kind, target in itertools.product(CASTABLE, TARGETS):
        yield CastTo(kind, target), (kind,), Schema(target, True)
    yield from times()
    for kind in SIMPLE:
        schema, some = SCHEMAS[kind], Const(VALUES[kind][1][0], SCHEMAS[kind])
        yield value_rule.KeepNull(), (kind, some), schema
        yield value_rule.Default(), (kind, some), schema
        yield value_rule.DefaultUnder(), (kind, "string", some), schema
        yield value_rule.WhereNull(), (kind, "int8", some), schema
        yield value_rule.WhereNull(), (kind, "int8", some, "string"), schema
        yield value_rule.Required("f"), (kind, "string"), schema
        yield value_rule.Refused("SMT204", "no"), (kind,), schema
        yield value_rule.IsNull(), (kind,), BOOLEAN
        yield value_rule.NotNull("x"), (kind,), schema
        yield headers.AppendHeader("n", schema), ("headers", kind), None
    yield from of_containers()
    yield from of_headers()


def times():
    for source, target in itertools.product(("string", "unix", "Date", "Time", "Timestamp"), timestamps.TARGETS):
        kind, schema = "int64" if source == "unix" else source, timestamps.TARGETS[target].with_(optional=True)
        for precision in timestamps.PRECISIONS:
            if precision == "milliseconds" or "unix" in (source, target):
                yield timestamps.ConvertTime(source, target, "yyyy-MM-dd", precision), (kind,), schema
    yield timestamps.NoTimestamp("SMT211", "no"), ("int64",), SCHEMAS["int64"]
    yield ChosenPartition(), ("int32",), SCHEMAS["int32"]
    yield timestamps.RouteByTime("${topic}-${timestamp}", "yyyyMMdd"), ("string", "Timestamp"), STRING


def of_containers():
    number, text = SCHEMAS["int32"], SCHEMAS["string"]
    yield containers.MapValue("a"), ("map",), number
    for at in (0, 1, -1, -3):
        yield containers.ItemAt(at), ("array",), number
    yield containers.StructField("A", SCHEMAS["struct"]), ("struct",), number
    yield containers.StructField("a", SCHEMAS["struct"]), ("struct",), text
    yield containers.KeepKeys(("a", Match("^x"))), ("map",), SCHEMAS["map"]
    yield containers.KeepKeys((Match("^x*a"),)), ("map",), SCHEMAS["map"]
    yield containers.RenameKeys("a", containers.NewName("b")), ("map",), SCHEMAS["map"]
    yield java_regex.Matches("[a-z]+"), ("string",), BOOLEAN
    yield MatchesOrNull("[a-z]+"), ("string",), BOOLEAN
    yield java_regex.ReplaceIfMatches("(.).*", "$1"), ("string",), STRING


def of_headers():
    for literal in (None, "x", 7):
        schema = {str: STRING, int: INT32}.get(type(literal))
        yield headers.AppendLiteral("n", schema, literal), ("headers",), None
    yield headers.DropNamed(("h", "z")), ("headers",), None
    yield headers.KeepNamed(("h", "z")), ("headers",), None
    yield headers.KeepNamed(()), ("headers",), None
    yield headers.HasOtherHeaderOrNull(("h",)), ("headers",), BOOLEAN
    yield headers.HasOtherHeaderOrNull(()), ("headers",), BOOLEAN
    yield headers.HasHeaderRule("h"), ("headers",), BOOLEAN
    yield headers.HasHeaderOrNull("h"), ("headers",), BOOLEAN
    yield headers.LastHeader("h"), ("headers",), Schema(Type.BYTES, True)
    yield headers.HeaderText("h"), ("bytes",), Schema(Type.STRING, True)
    for kind in SIMPLE:
        yield headers.HeaderBytes(SCHEMAS[kind]), (kind,), Schema(Type.BYTES, True)


RULES = list(table())


def subclasses(cls):
    return {cls} | {below for child in cls.__subclasses__() for below in subclasses(child)}


def test_every_rule_of_the_package_is_here():
    transforms(), predicates()  # their modules may have rules of their own
    # tests/tables/rows and tests/spark/test_every_row.py run these on both evaluators
    debezium = "events.values events.times outbox.values outbox.json_payload".split()
    tried_there = "hashes java.regex_equals json.path needs text_rules".split()
    elsewhere = (
        "dagster_smt.tables.rows",
        "dagster_smt.tools.parity",
        "dagster_smt.values.privacy",  # tests/run/test_privacy.py
        *(f"dagster_smt.transforms.debezium.{name}" for name in debezium),
        *(f"dagster_smt.values.{name}" for name in tried_there),
    )
    modules = {c: c.__module__ for c in subclasses(ValueRule)}
    ours = {c.__name__ for c, m in modules.items() if m.startswith("dagster_smt.") and not m.startswith(elsewhere)}
    bases = {"ValueRule", "PythonRule", "NullStays"}
    asked_by_the_python_evaluator_only = {"Validated", "CastBoxed"}
    run_with_a_transform = {"HeaderValueRule", "RecordTime", "WhereThere"}
    assert ours - bases - asked_by_the_python_evaluator_only - run_with_a_transform == {
        type(rule).__name__ for rule, _, _ in RULES
    }


def test_every_kind_is_cast_and_converted():
    assert {kinds[0] for rule, kinds, _ in RULES if isinstance(rule, CastTo)} == set(CASTABLE)
    assert set(VALUES) >= set(CASTABLE)
    assert mask.mask_value("string", None) == ""


CHUNK = 50  # rules in one select: Spark plans more of them slowly
SIZE = max(len(values) for _, values in VALUES.values()) + 1


def column_of(kind, stride):
    """The values of a kind and null, over all rows; columns of two strides meet in every pair."""
    values = (None, *VALUES[kind][1])
    return [values[row // stride % len(values)] for row in range(SIZE * SIZE)]


def columns():
    """(name, kind, stride) of all columns: of the first argument, and of the others."""
    yield from ((f"a_{kind}", kind, 1) for kind in VALUES)
    yield from ((f"b_{kind}", kind, SIZE) for kind in VALUES if kind != "headers")


@pytest.fixture(scope="module")
def frame(spark):
    arrays = {}
    for name, kind, stride in columns():
        values = column_of(kind, stride)
        if kind == "headers":
            rows = [[] if v is None else [{"key": k, "value": b} for k, b in v] for v in values]
            arrays[name] = pa.array(rows, HEADERS_TYPE)
        else:
            write = column_writer(SCHEMAS[kind], SCHEMAS[kind])
            arrays[name] = pa.array([write(v) for v in values], arrow_type(SCHEMAS[kind]))
    plain = frame_of_arrow(spark, pa.table(arrays))
    kinds = {name: kind for name, kind, _ in columns()}
    results = [F.col(n) if k == "headers" else from_plain(F.col(n), SCHEMAS[k]).alias(n) for n, k in kinds.items()]
    return select(plain, *results)


def arguments(kinds):
    """The expressions of a rule's arguments."""
    names = [f"{'a' if n == 0 else 'b'}_{k}" if isinstance(k, str) else k for n, k in enumerate(kinds)]
    return tuple(
        n if not isinstance(n, str) else Ref(("headers",) if n == "a_headers" else ("value", n)) for n in names
    )


@pytest.fixture(scope="module")
def answers(frame):
    """For each rule its rows: (value, whether it failed)."""
    result = []
    for first in range(0, len(RULES), CHUNK):
        rows = select(frame, *selected(RULES[first : first + CHUNK])).collect()
        result += [[row[n] for row in rows] for n in range(len(RULES[first : first + CHUNK]))]
    return result


def selected(rules):
    """A column for each rule."""
    fields = {name: Leaf(name, SCHEMAS[kind]) for name, kind, _ in columns() if kind != "headers"}
    schema = Schema(Type.STRUCT, fields=tuple((name, leaf.schema) for name, leaf in fields.items()))
    scope = Scope({"value": Struct(schema, None, fields)}, {"headers": "a_headers"})
    results = []
    for number, (rule, kinds, schema) in enumerate(rules):
        call = Call(rule, arguments(kinds))
        column = scope.value(call, schema)
        failed = scope.failed(call, column) if rule.may_fail else F.lit(False)
        shown = column if schema is None else to_plain(column, schema)
        results.append(F.struct(shown.alias("v"), failed.alias("f")).alias(f"r{number}"))
    return results


@pytest.mark.parametrize(
    "number", range(len(RULES)), ids=[f"{type(r).__name__}-{n}" for n, (r, _, _) in enumerate(RULES)]
)
def test_both_forms_agree(answers, number):
    rule, kinds, schema = RULES[number]
    run = rule.bind()
    results = [column_of(k, 1 if n == 0 else SIZE) if isinstance(k, str) else k.value for n, k in enumerate(kinds)]
    read = reader(schema) if schema is not None else from_headers
    for row, result in enumerate(answers[number]):
        args = [argument_of(k, g[row]) if isinstance(k, str) else g for k, g in zip(kinds, results, strict=True)]
        try:
            expected, failed = run(*args), False
        except DataError:
            expected, failed = None, True
        if beyond(expected, schema):
            assert result["f"], args
            continue
        assert result["f"] == failed, (rule, args, expected)
        if not failed:
            assert same(expected, read(result["v"])), (rule, args, expected, result["v"])


ALONE = [rule for rule, kinds, _ in RULES if len(kinds) == 1 and kinds[0] != "headers"]
KINDS = [kinds[0] for _, kinds, _ in RULES if len(kinds) == 1 and kinds[0] != "headers"]


@pytest.mark.parametrize(("rule", "kind"), list(zip(ALONE, KINDS, strict=True)), ids=lambda x: str(x)[:60])
def test_many_values_become_what_each_of_them_does(rule, kind):
    run, many = rule.bind(), rule.bind_many()
    good, bad = [], []
    for value in (None, *VALUES[kind][1]):
        try:
            good.append((value, run(value)))
        except DataError:
            bad.append(value)
    for some in (good, good[1:], [pair for pair in good if pair[1] is not None and pair[0] != ""]):
        result = many([value for value, _ in some])
        assert len(result) == len(some) and all(same(w, f) for (_, w), f in zip(some, result, strict=True))
    for value in bad:
        with pytest.raises(DataError):
            many([pair[0] for pair in good] + [value])


def argument_of(kind, value):
    if kind != "headers":
        return value
    return [Header(key, None, None, data, from_stage=False) for key, data in value or ()]


def from_headers(rows):
    return [(row["key"], None if row["value"] is None else bytes(row["value"])) for row in rows]


def beyond(value, schema):
    """Whether Spark cannot hold an instant (D8): it is refused there."""
    if not isinstance(value, JavaDate) or schema is None:
        return False
    limit = {"Timestamp": MAX_MILLIS, "Date": (2**31 - 1) * DAY}.get(schema.logical, DAY)
    return not -limit <= value <= limit


def same(expected, result):
    if isinstance(expected, list) and expected and isinstance(expected[0], Header):
        made_of = [h.raw if not h.from_stage else simple_header_bytes(h.schema, h.value) for h in expected]
        return all(same(w, f) for w, f in zip(made_of, [data for _, data in result], strict=True)) and (
            [h.key for h in expected] == [key for key, _ in result]
        )
    if isinstance(expected, bytes) and isinstance(result, bytes):
        printed = result.decode(errors="replace") in spellings(expected.decode(errors="replace"))
        return printed or unordered(expected) == unordered(result)
    if isinstance(expected, float) and isinstance(result, float):
        return repr(float(expected)) == repr(float(result))
    if isinstance(expected, str) and isinstance(result, str):
        return expected == result or result in spellings(expected)
    return expected == result and isinstance(expected, bool) is isinstance(result, bool)
