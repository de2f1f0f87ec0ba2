"""Avro on Spark alone: what Spark makes of it is what Python makes of it, record by record."""

import io
import json
from collections import Counter

import fastavro
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pyspark.sql import functions as F

from dagster_smt.chain import parse_chain
from dagster_smt.chain.forms import plan_forms
from dagster_smt.errors import ConfigError, DataError, PlanError, UnsupportedError
from dagster_smt.formats.avro.write import avro_out
from dagster_smt.formats.json import Inexact, reader
from dagster_smt.formats.sides import parse_json
from dagster_smt.model.schema import STRING, Type
from dagster_smt.model.topics.format import Format
from dagster_smt.spark.avro_limits import JAVA_OPTIONS, has_limits
from dagster_smt.spark.by_schema import by_schema
from dagster_smt.spark.evaluate import evaluate
from dagster_smt.spark.reading.window_forms import window_forms
from dagster_smt.spark.typed_literals import MAX_MILLIS
from dagster_smt.spark.versions import missing
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from tests.quick import quick
from tests.registry import Registry
from tests.spark.made_up import TOPICS, chains, payloads, structs
from tests.spark.test_evaluators_agree import SLOW, frame_of

READS_AVRO = "from_avro in SQL" not in missing()
from_avro = pytest.mark.skipif(not READS_AVRO, reason="Spark 3.5 has no from_avro in SQL, so Python reads Avro")
NAMES = ("a", "A", "b", "v", "e", "f0", "t0", "nested", "ts", "present", "value", "in_x", "c1")


@pytest.fixture(scope="module")
def registry():
    with Registry() as running:
        yield running


SUBJECT = "all-values"
"""Of all topics, where versions do not matter."""


def table_of(registry, key="string", subject=SUBJECT):
    avro = Format("avro-confluent", options={"url": registry.url, **({"subject": subject} if subject else {})})
    return TopicTable(FileTopics("unused"), TOPICS, key=avro if key == "avro" else Format(key), value=avro)


def header(number):
    return b"\0" + number.to_bytes(4, "big")


def both(frame, table, stages):
    """The rows that Spark makes and those that Python makes, by offset; None where Spark leaves it to Python."""
    chain = parse_chain(stages)
    forms = window_forms(frame, table)
    plan = plan_forms(chain, forms.forms, topics=TOPICS)
    schemas = by_schema(frame.sparkSession, plan, table, forms)
    python = evaluate(frame, plan, table, "columns")
    if not schemas:
        return None, rows_of(python)
    spark = evaluate(frame, plan, table, "columns", None, forms)
    assert python.schema.simpleString() == spark.schema.simpleString()
    assert "MapInArrow" not in plan_text(spark)
    return rows_of(spark), rows_of(python)


def plan_text(frame):
    return frame._jdf.queryExecution().optimizedPlan().toString()


def rows_of(frame):
    """By offset, as texts: they tell NaN and -0.0 apart, and know years that Python does not."""
    text = F.to_json(F.struct("*"), {"ignoreNullFields": "false"}).alias("text")
    return {row["__offset"]: in_order(row["text"]) for row in frame.select("__offset", text).collect()}


def in_order(text):
    """Entries of a map have no order; what fields have is that of the schema."""
    return json.dumps(json.loads(text, parse_float=str), sort_keys=True)


def values_of(schema, payload):
    """The value of a JSON payload."""
    return reader(schema, Format("json_schema", schema))(parse_json(json.dumps(payload).encode()))


def readable(schema):
    """The schema without types that are left to Python."""
    small = {Type.INT8: Type.INT32, Type.INT16: Type.INT32}.get(schema.type, schema.type)
    fields = tuple((name, readable(child)) for name, child in schema.fields)
    keys, values = schema.keys and STRING, schema.values and readable(schema.values)
    return schema.with_(type=small, fields=fields, keys=keys, values=values, default=None)


@st.composite
def windows(draw):
    """Schemas with payloads each, a chain for the first, and what else there is in the window."""
    schema = readable(draw(structs(2, NAMES))).with_(optional=False)
    later = schema.with_(fields=(*schema.fields[draw(st.integers(0, 1)) :], ("added", STRING.with_(optional=True))))
    schemas = draw(st.sampled_from([[schema], [schema, later], [later, schema]]))
    plain = [(one, draw(st.lists(payloads(one), min_size=3, max_size=5))) for one in schemas]
    damages = st.lists(st.sampled_from(sorted(DAMAGES)), max_size=2)
    return plain, draw(chains(schema)), draw(damages), draw(st.sampled_from([[], [None]]))


DAMAGES = {
    "cut": lambda raw: raw[:-1] if len(raw) > 5 else raw[:4],
    "long": lambda raw: raw + b"\0",
    "header": lambda raw: b"\1" + raw[1:],
    "short": lambda raw: raw[:3],
    "empty": lambda raw: b"",
    "text": lambda raw: raw.replace(b"\x02a", b"\x02\xff"),
    "turned": lambda raw: raw[:5] + bytes(reversed(raw[5:])),
}


@pytest.fixture
def few(monkeypatch):
    """A few records are enough for a pass of their own."""
    monkeypatch.setattr("dagster_smt.spark.by_schema._RECORDS", 0)


@pytest.fixture(scope="module")
def taken():
    """How many schemas the windows had that Spark took, by number."""
    counts = Counter()
    yield counts
    assert counts[1] and counts[2], counts


@from_avro
@SLOW
@given(window=windows())
def test_random_windows_agree(spark, registry, few, taken, window):
    plain, stages, damages, nulls = window
    raw = []
    try:
        for schema, payloads_ in plain:
            out = avro_out(schema)
            head = header(registry.add(SUBJECT, out.text))
            raw += [head + out.write(values_of(schema, payload)) for payload in payloads_]
        raw += [DAMAGES[name](raw[0]) for name in damages]
        frame = frame_of(spark, [(value, topic, ("trace",)) for value in [*raw, *nulls] for topic in TOPICS[:2]])
        result, expected = both(frame, table_of(registry), stages)
    except (ConfigError, PlanError, UnsupportedError, DataError, Inexact):
        assume(False)
    taken[len(plain)] += result is not None
    assert not result or differing(result, expected) == []


def differing(result, expected):
    """Where the rows differ."""
    assert result.keys() == expected.keys()
    return [(result[n], expected[n]) for n in result if result[n] != expected[n]]


def record(*fields, name="R"):
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields]}


TYPES = record(
    ("id", "long"),
    ("name", ["null", "string"]),
    ("label", "string"),
    ("state", {"type": "enum", "name": "State", "symbols": ["NEW", "DONE"]}),
    ("old", ["State", "null"]),
    ("amount", {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}),
    ("day", {"type": "int", "logicalType": "date"}),
    ("clock", ["null", {"type": "int", "logicalType": "time-millis"}]),
    ("at", ["null", {"type": "long", "logicalType": "timestamp-millis"}]),
    ("micros", {"type": "long", "logicalType": "timestamp-micros"}),
    ("raw", "bytes"),
    ("size", {"type": "fixed", "name": "Four", "size": 4}),
    ("single", "float"),
    ("double", "double"),
    ("yes", "boolean"),
    ("tags", {"type": "array", "items": ["null", "string"]}),
    ("times", {"type": "map", "values": {"type": "long", "logicalType": "timestamp-millis"}}),
    (
        "inner",
        ["null", record(("x", "Four"), ("X", {"type": "array", "items": record(("y", "string"), name="Q")}), name="I")],
    ),
)
VALUE = {
    "id": -(2**63), "name": None, "label": "N", "state": "DONE", "old": "NEW", "amount": b"\x01\x02", "day": -3,
    "clock": 7, "at": 1, "micros": 5, "raw": b"\xff\x00", "size": b"1234", "single": -0.0, "double": float("nan"),
    "yes": True, "tags": ["a", None, "é"], "times": {"k": 9}, "inner": {"x": b"abcd", "X": [{"y": "z"}]},
}  # fmt: skip
TIMESTAMP = {"type": "long", "logicalType": "timestamp-millis"}
MASK = [{"alias": "m", "type": "MaskField$Value", "options": {"fields": ["name", "label"]}}]


def encoded(schema, **changes):
    return fields_of(schema, {**VALUE, **changes})


def fields_of(schema, value):
    """Avro, without what logical types would make of a value."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, json.loads(json.dumps(schema).replace('"logicalType"', '"was"')), value)
    return out.getvalue()


@from_avro
def test_all_types(spark, registry):
    head = header(registry.add(SUBJECT, json.dumps(TYPES)))
    late, none = MAX_MILLIS + 1, b"\x7f" * 16
    values = {
        0: head + encoded(TYPES),
        1: head + encoded(TYPES, name="n", old=None, clock=None, at=None, tags=[], times={}, inner=None),
        2: head + encoded(TYPES, at=-MAX_MILLIS, times={"a": MAX_MILLIS}, amount=b"\xff" * 9, single=1e-45),
        3: None,
        4: head + encoded(TYPES, at=late),
        5: head + encoded(TYPES, times={"a": 1, "b": -late}),
        6: head + encoded(TYPES, label="QQ").replace(b"QQ", b"\xc3Q"),
        7: head + encoded(TYPES, tags=["QQ"]).replace(b"QQ", b"\xc3Q"),
        8: head + encoded(TYPES, times={"QQ": 1}).replace(b"QQ", b"\xc3Q"),
        9: head + encoded(TYPES, inner={"x": b"abcd", "X": [{"y": "QQ"}]}).replace(b"QQ", b"\xc3Q"),
        10: head + encoded(TYPES) + b"\0",
        11: head + encoded(TYPES)[:-1],
        12: head,
        13: head[:4],
        14: b"\1" + head[1:] + encoded(TYPES),
        15: b"",
        16: head + encoded(TYPES) + encoded(TYPES),
        17: head + encoded(TYPES, amount=none),
        18: head + encoded(TYPES, amount=(100_000).to_bytes(3, "big")),
        19: head + encoded(TYPES, amount=(-99_999).to_bytes(3, "big", signed=True)),
    }
    frame = frame_of(spark, [(value, "orders", ()) for value in values.values()])
    result, expected = both(frame, table_of(registry), MASK)
    problems = {n: json.loads(row)["__problem"] for n, row in result.items()}
    codes = {n: problem["code"] for n, problem in problems.items() if problem}
    assert codes == {
        3: "SMT402", 4: "SMT426", 5: "SMT426", 6: "SMT416", 7: "SMT416", 8: "SMT416", 9: "SMT416", 10: "SMT416",
        11: "SMT416", 12: "SMT416", 13: "SMT441", 14: "SMT441", 15: "SMT441", 16: "SMT416", 17: "SMT416",
        18: "SMT426",
    }  # fmt: skip
    assert result.pop(17) != expected.pop(17)  # a decimal of 39 digits: SMT426 with its name
    for late_one in (4, 5, 18):  # here it fails before the stages, there after them
        result[late_one], expected[late_one] = (
            {**json.loads(rows[late_one]), "__touched": 0} for rows in (result, expected)
        )
    assert result == expected


DROP = [{"alias": "d", "type": "ReplaceField$Value", "options": {"exclude": ["at", "amount", "inner"]}}]


@from_avro
def test_what_the_chain_drops_need_not_fit(spark, registry):
    amount = {"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 2}
    fixed = {"type": "fixed", "name": "F", "size": 4, "logicalType": "decimal", "precision": 5, "scale": 2}
    inner = record(("at", TIMESTAMP), ("list", {"type": "array", "items": amount}), ("fixed", fixed), name="I")
    schema = record(("at", TIMESTAMP), ("amount", amount), ("inner", inner), ("id", "long"))
    head = header(registry.add(SUBJECT, json.dumps(schema)))
    large = b"\x7f" * 20
    inside = {"at": -MAX_MILLIS - 1, "list": [large], "fixed": b"abcd"}
    late = fields_of(schema, {"id": 1, "at": MAX_MILLIS + 1, "amount": large, "inner": inside})
    result, expected = both(frame_of(spark, [(head + late, "orders", ())]), table_of(registry), DROP)
    assert result == expected and json.loads(result[0])["__problem"] is None


def nested_arrays(levels):
    return "int" if levels == 0 else {"type": "array", "items": nested_arrays(levels - 1)}


LEFT = {
    "a union": record(("a", ["string", "long"])),
    "a union at the top": ["null", "string"],
    "an entry": record(("a", {"type": "array", "items": {**record(("key", "int"), ("value", "int"), name="E"),
                        "connect.internal.type": "MapEntry"}})),
    "eight bits": record(("a", {"type": "int", "connect.type": "int8"})),
    "sixteen bits": record(("a", {"type": "int", "connect.type": "int16"})),
    "a large value of fixed size": record(("a", {"type": "fixed", "name": "F", "size": 2**31 - 1})),
    "arrays on five levels": record(("a", nested_arrays(5))),
    "a fixed decimal": record(
        ("a", {"type": "fixed", "name": "F", "size": 4, "logicalType": "decimal", "precision": 5, "scale": 2})
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left_to_python(spark, registry, name):
    head = header(registry.add(SUBJECT, json.dumps(LEFT[name])))
    result, expected = both(frame_of(spark, [(head, "orders", ())]), table_of(registry), [])
    assert result is None and len(expected) == 1


BILLION = b"\x80\x80\x80\x80\x08"
"""2^30 as Avro writes it: the items or bytes that a record claims to have."""
ALLOWED = b"\x80\xa4\xe8\x03"
"""As many as are allowed, 4 million bytes of references to what is not there."""
CLAIMS = {
    "array": (nested_arrays(1), BILLION + b"\x02"),
    "array of null or text": ({"type": "array", "items": ["null", "string"]}, BILLION + b"\x02\x02a"),
    "map": ({"type": "map", "values": "int"}, BILLION + b"\x02a\x02"),
    "text": ("string", BILLION + b"a"),
    "text inside": (record(("x", "string"), name="I"), BILLION + b"a"),
    "bytes": ("bytes", BILLION + b"a"),
    "decimal": ({"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}, BILLION + b"a"),
    "allowed on four levels": (nested_arrays(4), ALLOWED * 4 + b"\x02"),
    "a block of negative size": (nested_arrays(1), b"\xff\xff\xff\xff\x0f\x02\x02"),
    "a text of negative length": ("string", b"\x01a"),
}


@from_avro
@pytest.mark.parametrize("name", CLAIMS)
def test_what_a_record_claims_takes_no_memory(spark, registry, name):
    """Java's reader makes room for what is claimed: an executor would die of one such record, and the run with it."""
    kind, claim = CLAIMS[name]
    head = header(registry.add(SUBJECT, json.dumps(record(("a", kind)))))
    frame = frame_of(spark, [(head + claim, "orders", ())] * 3)
    result, expected = both(frame, table_of(registry), [])
    assert result == expected
    assert {json.loads(row)["__problem"]["code"] for row in result.values()} == {"SMT416"}


def test_a_session_without_limits_leaves_avro_to_python(spark, registry, monkeypatch):
    """One of the user's own, whose JVMs run already."""
    monkeypatch.setattr("dagster_smt.spark.avro_limits.LIMITS", {"org.apache.avro.limits.string.maxLength": 7})
    head = header(registry.add(SUBJECT, json.dumps(record(("a", nested_arrays(1))))))
    frame = frame_of(spark, [(head + BILLION + b"\x02", "orders", ()), (head + b"\x02\x02\0", "orders", ())])
    result, expected = both(frame, table_of(registry), [])
    problems = [json.loads(row)["__problem"] for row in expected.values()]
    assert result is None and [problem and problem["code"] for problem in problems] == ["SMT416", None]


@from_avro
def test_records_and_lists_that_are_too_long(spark, registry, monkeypatch):
    head = header(registry.add(SUBJECT, json.dumps(record(("a", "string")))))
    for reader_ in ("dagster_smt.formats.avro.read", "dagster_smt.spark.reading.avro_columns"):
        monkeypatch.setattr(f"{reader_}.MAX_BYTES", 3)
    frame = frame_of(spark, [(head + b"\x04ab", "orders", ()), (head + b"\x06abc", "orders", ())])
    result, _ = both(frame, table_of(registry), [])
    assert result.keys() == {0, 1} and json.loads(result[1])["__problem"]["code"] == "SMT459"
    assert json.loads(result[0])["__problem"] is None


@pytest.mark.parametrize(
    ("conf", "limited"),
    [
        ({"spark.master": "local[1]"}, True),
        ({"spark.master": "yarn"}, False),
        ({"spark.master": "yarn", "spark.executor.defaultJavaOptions": f"-Xss4m {JAVA_OPTIONS}"}, True),
        ({"spark.master": "yarn", "spark.executor.extraJavaOptions": JAVA_OPTIONS}, True),
        (
            {
                "spark.master": "yarn",
                "spark.executor.defaultJavaOptions": JAVA_OPTIONS,
                "spark.executor.extraJavaOptions": "-Dorg.apache.avro.limits.string.maxLength=9",
            },
            False,
        ),
    ],
    ids=["local", "executors without", "executors with", "more options", "an option that overrides"],
)
def test_executors_need_limits_too(spark, conf, limited):
    class Session:
        _jvm = spark._jvm

    Session.conf = conf
    assert has_limits(Session()) is limited


@pytest.mark.parametrize(
    ("values", "stages"),
    [
        ([header(1), header(2)], []),
        ([header(1), header(3)], []),
        ([header(1), header(999)], []),
        ([header(1), None], [{"alias": "h", "type": "HoistField$Value", "options": {"field": "w"}}]),
    ],
    ids=["two schemas", "two ids of one", "an unknown schema", "nulls are wrapped"],
)
def test_windows_that_are_left_to_python(spark, values, stages):
    with Registry() as registry:
        one, two = record(("a", "int")), record(("a", "int"), ("b", ["null", "int"]))
        for version in (one, two, {**one, "aliases": ["S"]}):
            registry.add(SUBJECT, json.dumps(version))
        frame = frame_of(spark, [(value and value + b"\x02\0", "orders", ()) for value in values])
        result, expected = both(frame, table_of(registry), stages)
    assert result is None and len(expected) == len(values)


KEY_STAGE = [{"alias": "k", "type": "ValueToKey", "options": {"fields": ["a"]}}]
READS_KEY = [{"alias": "k", "type": "ExtractField$Key", "options": {"field": "a"}}]


@pytest.mark.parametrize(
    ("kind", "keys", "stages", "taken"),
    [
        ("string", [b"k", b"\xff", None], [], True),
        ("string", [b"k", b"\xff"], KEY_STAGE, True),
        ("json", [b"{}"], READS_KEY, False),
        ("json", [b"{}", b"x"], [], False),
        ("avro", [header(1) + b"\x04", header(1), b"x"], READS_KEY, True),
        ("avro", [header(1) + b"\x04", None], READS_KEY, False),
        ("avro", [header(1) + b"\x04", header(999)], [], False),
    ],
)
def test_keys(spark, kind, keys, stages, taken):
    with Registry() as registry:
        registry.add(SUBJECT, json.dumps(record(("a", "int"))))
        frame = frame_of(spark, [(header(1) + b"\x06", "orders", (), key) for key in keys])
        result, expected = both(frame, table_of(registry, kind), stages)
    assert (result is not None) is (taken and READS_AVRO)
    assert result in (None, expected)


@from_avro
@pytest.mark.parametrize("stages", [[], READS_KEY], ids=["keys left alone", "keys read"])
def test_another_schema_beside_a_key_that_cannot_be_read(spark, stages):
    """Such a record names no schema when they are looked for."""
    with Registry() as registry:
        registry.add(SUBJECT, json.dumps(record(("a", "int"))))
        registry.add(SUBJECT, json.dumps(record(("b", "int"))))
        rows = [(header(1) + b"\x06", header(1) + b"\x04"), (header(2) + b"\x06", b"x"), (header(2) + b"\x06", b"\0x")]
        frame = frame_of(spark, [(value, "orders", (), key) for value, key in rows])
        result, expected = both(frame, table_of(registry, "avro"), stages)
    assert result == expected


def test_a_record_that_was_not_there_when_schemas_were_looked_for(spark):
    with Registry() as registry:
        for name in ("a", "b"):
            registry.add(SUBJECT, json.dumps(record((name, "int"))))
        before, after = (frame_of(spark, [(header(n) + b"\x06", "orders", ())]) for n in (1, 2))
        table = table_of(registry)
        forms = window_forms(before, table)
        plan = plan_forms(parse_chain([]), forms.forms, topics=TOPICS)
        rows = [rows_of(evaluate(after, plan, table, "columns", None, source)) for source in (forms, None)]
    assert rows[0] == rows[1] and json.loads(rows[0][0])["__problem"]["code"] == "SMT428"


@pytest.mark.parametrize("key", quick(["string", "avro"], "avro"))
@pytest.mark.parametrize(
    ("before", "taken"),
    [({}, True), ({"orders-eu": 2}, True), ({"orders-eu": None}, False)],
    ids=["the same version everywhere", "another version in a topic", "a topic whose subject does not have it"],
)
def test_one_id_is_read_once_whatever_its_versions(spark, key, before, taken):
    """The rows are those of Python, which reads each topic by itself. The table's version is that of the first."""
    schema = json.dumps(record(("a", "int"), ("b", ["null", record(("x", "int"), name="I")])))
    with Registry() as registry:
        for topic in TOPICS[:2]:
            for side in ("key", "value"):
                for number in range(before.get(topic) or 0):
                    registry.add(f"{topic}-{side}", json.dumps({"type": "fixed", "name": f"F{number}", "size": 1}))
                if before.get(topic, 0) is not None:
                    registry.add(f"{topic}-{side}", schema)
        number = next((n for n, one in registry.schemas.items() if one["schema"] == schema))
        data = header(number) + b"\x06\x02\x08"
        rows = [(data, topic, (), data if key == "avro" else b"k") for topic in TOPICS[:2] for _ in range(2)]
        frame, table = frame_of(spark, rows), table_of(registry, key, None)
        hoist = [{"alias": "h", "type": "HoistField$Value", "options": {"field": "w"}}]
        result, expected = both(frame, table, hoist)
        seen = window_forms(frame, table)
        plan = plan_forms(parse_chain(hoist), seen.forms, topics=TOPICS)
        schemas = by_schema(frame.sparkSession, plan, table, seen)
    by_spark = taken and READS_AVRO
    assert (result is not None) is by_spark and len(schemas) == by_spark
    assert result in (None, expected) and len(expected) == 4
    problems = [json.loads(row)["__problem"] for row in expected.values()]
    assert [p and p["code"] for p in problems] == [None, None, *([None] * 2 if taken else ["SMT441"] * 2)]
    assert plan.value.version == plan.after.by_name["w"].version == 1


VERSIONS = {
    1: record(("a", "int"), ("b", "string")),
    2: record(("a", "int"), ("c", ["null", record(("x", "int"), name="I")])),
    3: record(("c", ["null", record(("x", "int"), ("y", ["null", "int"]), name="I")]), ("a", ["null", "int"])),
}
BODIES = {1: b"\x02\x02z", 2: b"\x04\x02\x06", 3: b"\x02\x08\x02\x0a\x02\x0c"}


def versions(spark, registry, *more, schemas=VERSIONS, stages=()):
    for schema in schemas.values():
        registry.add(SUBJECT, json.dumps(schema))
    rows = [(header(n) + BODIES[n], topic, ()) for n in schemas for topic in TOPICS[:2]]
    return both(frame_of(spark, rows + [(value, "orders", ()) for value in more]), table_of(registry), list(stages))


@from_avro
def test_three_versions_of_a_schema(spark, few):
    with Registry() as registry:
        result, expected = versions(spark, registry, None, b"\0\0", header(3) + b"\x01")
    assert result == expected and len(result) == 9
    assert [json.loads(result[n])["__out"] for n in (0, 2, 4)] == [
        {"a": 1, "b": "z", "c": None},
        {"a": 2, "b": None, "c": {"x": 3, "y": None}},
        {"a": 6, "b": None, "c": {"x": 4, "y": 5}},
    ]  # fmt: skip


ONLY_B = [{"alias": "b", "type": "ExtractField$Value", "options": {"field": "b"}}]
CLASH = {1: VERSIONS[1], 2: record(("a", "string"), ("b", "string"))}


@pytest.mark.parametrize(
    ("limit", "options"),
    [
        ({"_RECORDS": 20_000}, {}),
        ({"_MOST": 2}, {}),
        ({}, {"stages": ONLY_B, "schemas": {1: VERSIONS[1], 2: VERSIONS[2]}}),
    ],
    ids=["few records", "many schemas", "no structs, and one that is refused"],
)
def test_several_schemas_that_are_left_to_python(spark, few, monkeypatch, limit, options):
    for name, number in limit.items():
        monkeypatch.setattr(f"dagster_smt.spark.by_schema.{name}", number)
    with Registry() as registry:
        result, expected = versions(spark, registry, **options)
    assert result is None and expected


def test_types_that_clash_are_refused_as_ever(spark, few):
    with Registry() as registry, pytest.raises(PlanError, match="SMT203"):
        versions(spark, registry, schemas=CLASH)


@from_avro
def test_a_value_that_is_no_struct(spark, registry):
    head = header(registry.add(SUBJECT, '"string"'))
    rows = [(head + b"\x02a", "orders", ()), (head + b"\x02\xff", "orders", ()), (None, "orders", ())]
    result, expected = both(frame_of(spark, rows), table_of(registry), [])
    assert result == expected


def test_a_session_without_from_avro(spark, registry, monkeypatch):
    monkeypatch.setattr("dagster_smt.spark.by_schema.reads_avro", lambda session: False)
    head = header(registry.add(SUBJECT, '"string"'))
    result, expected = both(frame_of(spark, [(head + b"\x02a", "orders", ())]), table_of(registry), [])
    assert result is None and len(expected) == 1


@from_avro
def test_what_spark_compiles_for_a_window_serves_the_next(spark):
    with Registry() as registry:
        head = header(registry.add(SUBJECT, json.dumps(record(("a", "int"), ("b", "string")))))
        frame = frame_of(spark, [(head + b"\x06\x02x", "orders", ())]).localCheckpoint()  # else nothing is compiled
        compiled = spark._jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME
        counts = []
        for _ in range(3):
            result, _ = both(frame, table_of(registry), [])
            assert result
            counts.append(compiled().getCount())
    assert counts[0] > 0 and counts[1] == counts[2]
