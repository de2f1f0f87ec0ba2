"""Schemas by whoever may produce or register: the records of those too large, too deep or malformed are dead letters.

Work is counted in fields of what is built, not in seconds: an expansion that nobody stops does not end.
"""

import base64
import json
import tracemalloc

import pytest
from google.protobuf import descriptor_pb2 as pb
from hypothesis import given, settings
from hypothesis import strategies as st

from dagster_smt.chain import parse_chain
from dagster_smt.errors import ConfigError, DataError
from dagster_smt.formats.avro.anything import read_anything
from dagster_smt.formats.avro.read import avro_of
from dagster_smt.formats.fixed_schema import described
from dagster_smt.formats.protobuf.read import protobuf_of
from dagster_smt.formats.registry import wire as registry_reader
from dagster_smt.formats.registry.wire import RegistryReader
from dagster_smt.formats.sides import EnvelopeReader
from dagster_smt.interpret.interpreter import FAILED, PASSED, Interpreter
from dagster_smt.model import schema_size
from dagster_smt.model.record import Record
from dagster_smt.model.schema_size import MAX_LEVELS, MAX_NODES
from dagster_smt.model.topics.format import Format
from tests.interpret.test_protobuf import file, message
from tests.registry import Registry

DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 4}


def record(kind, name="R", **more):
    return {"type": "record", "name": name, "fields": [{"name": "a", "type": kind, **more}]}


def doubled(levels):
    """A record that holds the one before it twice: two to the power of ``levels`` fields, in a line for each."""
    results = record("int", "L0")
    for level in range(1, levels + 1):
        again = [{"name": "f", "type": results}, {"name": "g", "type": f"L{level - 1}"}]
        results = {"type": "record", "name": f"L{level}", "fields": again}
    return results


def nested(levels):
    result = "int"
    for level in range(levels - 1):
        result = record(result, f"L{level}")
    return result


NOTHING = {"type": "record", "name": "E", "fields": []}
REFUSED = {
    "30 levels of two uses": doubled(30),
    "a level more than there may be": nested(MAX_LEVELS + 1),
    "300 levels": nested(300),
    "5,000 brackets": "[" * 5000,
    "an array of empty records": record({"type": "array", "items": NOTHING}),
    "an array of bytes of no size": record({"type": "array", "items": {"type": "fixed", "name": "E", "size": 0}}),
    "an array of a byte and many empty records": record(
        {
            "type": "array",
            "items": {
                "type": "record",
                "name": "I",
                "fields": [{"name": "b", "type": "boolean"}, {"name": "f", "type": NOTHING}]
                + [{"name": f"f{n}", "type": "E"} for n in range(20)],
            },
        }
    ),
    "a scale beyond 32 bits": record({**DECIMAL, "scale": 10**30}),
    "a precision that is a text": record({**DECIMAL, "precision": "4"}),
    "parameters in a list": record({"type": "int", "connect.parameters": [1]}),
    "a parameter that is a number": record({"type": "int", "connect.parameters": {"a": 1}}),
    "a name that is a number": record({"type": "int", "connect.name": 7}),
    "a doc that is a list": record({"type": "int", "connect.doc": [7]}),
    "a record's doc that is an object": {**record("int"), "doc": {"a": 1}},
    "a record's name that is a list": record({"type": "record", "name": [1], "fields": []}),
    "fields that are a text": {"type": "record", "name": "R", "fields": "x"},
    "symbols that are none": record({"type": "enum", "name": "E", "symbols": [1, {}]}),
    "a version that is infinite": record({"type": "int", "connect.version": float("inf")}),
    "an entry without key and value": record(
        {"type": "array", "items": {**NOTHING, "connect.internal.type": "MapEntry"}}
    ),
    "a type that has none": record({"x": 1}),
    "a number": 7,
    "a half of a surrogate": chr(0x22) + chr(0xD800) + chr(0x22),
}


@pytest.mark.parametrize("schema", REFUSED.values(), ids=REFUSED)
def test_avro_schemas_that_cannot_be_used(schema):
    with pytest.raises(ConfigError, match="SMT273"):
        avro_of(schema if isinstance(schema, str) else json.dumps(schema))


def test_a_type_that_is_used_again_is_built_once(monkeypatch):
    """What is shared costs nothing; what is counted is what a plan would hold."""
    built = []
    monkeypatch.setattr("dagster_smt.formats.avro.read._ConnectBuilder.record", counted(built, "record"))
    schema = avro_of(json.dumps(doubled(12))).schema
    assert len(built) == 13 and 8_000 < schema.nodes <= MAX_NODES
    assert schema.by_name["f"].by_name["f"] is schema.by_name["f"].by_name["g"]
    built.clear()
    with pytest.raises(ConfigError):
        avro_of(json.dumps(doubled(500)))
    assert len(built) < 30


def counted(calls, name):
    from dagster_smt.formats.avro.read import _ConnectBuilder

    whole = getattr(_ConnectBuilder, name)
    return lambda self, avro: calls.append(avro) or whole(self, avro)


TAKEN = {
    "as many levels as there may be": nested(MAX_LEVELS),
    "a scale that is a text, which is none to AvroData": record({**DECIMAL, "scale": "2"}),
    "a default that is no byte": record("bytes", default="€"),
    "a map of empty records": record({"type": "map", "values": NOTHING}),
    "a union of many records": [record("int", f"R{n}") for n in range(300)],
}


@pytest.mark.parametrize("schema", TAKEN.values(), ids=TAKEN)
def test_avro_schemas_that_are_only_odd(schema):
    result = avro_of(json.dumps(schema)).schema
    assert hash(result) and result.levels <= MAX_LEVELS


def test_few_bytes_do_not_stand_for_any_number_of_values(monkeypatch):
    monkeypatch.setattr(schema_size, "MAX_VALUES", 1000)
    wide = [record("int", f"R{n}") for n in range(300)]
    items = avro_of(json.dumps({"type": "array", "items": wide}))
    assert len(items.read(b"\x02\x00\x00\x00")) == 1
    with pytest.raises(DataError, match="SMT459"):
        items.read(b"\x0c" + b"\x00\x00" * 6 + b"\x00")
    assert len(items.read(b"\x02\x00\x00\x00")) == 1, "the next record has room again"
    with pytest.raises(DataError, match="SMT416"):
        items.read(b"\xfe\xff\xff\xff\x0f" + b"\x00\x00")
    names = " ".join(f"f{n}:int32" for n in range(400)).split()
    many = protobuf_of([file(message("M", "repeated i:I"), message("I", *names))], "M")
    assert len(many.read(b"\x0a\x00" * 2)["i"]) == 2
    with pytest.raises(DataError, match="SMT459"):
        many.read(b"\x0a\x00" * 3)
    fields = [{"field": f"f{n}", "type": "int32", "optional": True} for n in range(400)]
    schema = {"type": "array", "items": {"type": "struct", "fields": fields}}
    read = EnvelopeReader(Format("envelope")).read
    assert len(read(json.dumps({"schema": schema, "payload": [{}, {}]}).encode())[1]) == 2
    with pytest.raises(DataError, match="SMT459"):
        read(json.dumps({"schema": schema, "payload": [{}, {}, {}]}).encode())


BILLION = b"\x80\x80\x80\x80\x08"
CLAIMS = {
    "array": ({"type": "array", "items": "int"}, BILLION + b"\x02"),
    "map": ({"type": "map", "values": "int"}, BILLION + b"\x02a\x02"),
    "text": ("string", BILLION + b"a"),
    "text of negative length": ("string", b"\x01a"),
    "bytes": ("bytes", BILLION + b"a"),
    "fixed": ({"type": "fixed", "name": "F", "size": 2**31 - 1}, b"a"),
}


def judged_in_little_memory(read, data, code):
    """A record whose bytes claim more than there is."""
    tracemalloc.start()
    try:
        with pytest.raises(DataError) as caught:
            read(data)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
    assert caught.value.problem.code == code


@pytest.mark.parametrize(("kind", "claim"), CLAIMS.values(), ids=CLAIMS)
def test_what_a_record_of_avro_claims_takes_no_memory(kind, claim):
    judged_in_little_memory(avro_of(json.dumps(record(kind))).read, claim, "SMT416")


@pytest.mark.parametrize("claim", [BILLION + b"\x02", b"\x01" + BILLION + b"\x02"], ids=["items", "a block's size"])
def test_what_a_record_of_anything_claims_takes_no_memory(claim):
    judged_in_little_memory(read_anything, b"\0" * 7 + b"\x02" + claim, "SMT416")


@pytest.mark.parametrize("tag", [b"\x0a", b"\x12", b"\x1a"], ids=["text", "packed numbers", "message"])
def test_what_a_record_of_protobuf_claims_takes_no_memory(tag):
    read = protobuf_of([file(message("M", "t:string", "repeated n:int32", "m:I"), message("I", "x:string"))], "M").read
    judged_in_little_memory(read, tag + b"\xff\xff\xff\xff\x07a", "SMT416")


@pytest.mark.parametrize(
    ("kind", "value"),
    [({"type": "array", "items": "int"}, b"\x08\0\0\0\0\0"), ("bytes", b"\x08abcd")],
    ids=["items", "bytes"],
)
def test_records_of_avro_with_more_than_is_read(monkeypatch, kind, value):
    monkeypatch.setattr("dagster_smt.formats.avro.read.MAX_ITEMS", 3)
    monkeypatch.setattr("dagster_smt.formats.avro.read.MAX_BYTES", 6)
    read = avro_of(json.dumps(record(kind))).read
    assert len(read(b"\x06\0\0\0\0" if kind != "bytes" else b"\x06abc")["a"]) == 3
    with pytest.raises(DataError) as caught:
        read(value + b"\0" * (kind == "bytes") * 2)
    assert caught.value.problem.code == "SMT459"


def chained(levels):
    """Messages of which each holds the next one twice."""
    return [message(f"L{n}", f"a:L{n + 1}", f"b:L{n + 1}") for n in range(levels)] + [message(f"L{levels}", "a:int32")]


def test_protobuf_messages_that_are_too_large():
    assert protobuf_of([file(*chained(10))], "L0").schema.nodes > 2**11
    for levels in (20, 40):
        with pytest.raises(ConfigError, match=r"SMT273.*more than"):
            protobuf_of([file(*chained(levels))], "L0")
    deep = [message(f"L{n}", f"a:L{n + 1}") for n in range(500)] + [message("L500", "a:int32")]
    with pytest.raises(ConfigError, match=r"SMT273.*nests more than"):
        protobuf_of([file(*deep)], "L0")
    assert protobuf_of([file(*deep)], f"L{500 - MAX_LEVELS + 2}").schema.levels == MAX_LEVELS


def envelope(schema, payload=None):
    return b'{"schema":%s,"payload":%s}' % (json.dumps(schema).encode(), json.dumps(payload).encode())


def struct(kind, **more):
    return {
        "type": "struct",
        "fields": [{"field": "a", **(kind if isinstance(kind, dict) else {"type": kind})}],
        **more,
    }


def struct_of(levels):
    result = {"type": "int32"}
    for _ in range(levels - 1):
        result = struct(result)
    return result


ENVELOPES = {
    "a level more than there may be": (struct_of(MAX_LEVELS + 1), "SMT467"),
    "300 levels": (struct_of(300), "SMT467"),
    "more fields than there may be": (
        {"type": "struct", "fields": [{"field": f"{n}", "type": "int8"} for n in range(MAX_NODES)]},
        "SMT467",
    ),
    "a doc that is longer than schemas may be": ({"type": "int32", "doc": "x" * schema_size.MAX_TEXT}, "SMT467"),
    "no type": ({}, "SMT206"),
    "a type that is a list": (struct({"type": []}), "SMT206"),
    "fields that are a number": ({"type": "struct", "fields": 7}, "SMT206"),
    "parameters that are numbers": (struct({"type": "int32", "parameters": {"a": 1}}), "SMT206"),
    "a default of another type": (struct({"type": "int32", "default": []}), "SMT414"),
    "a map's default that is odd": (
        struct({"type": "map", "keys": {"type": "array", "items": {"type": "int32"}}, "values": {"type": "int32"},
                "default": [[[[]], 1]]}),
        "SMT414",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ENVELOPES.values(), ids=ENVELOPES)
def test_schemas_that_records_bring_along(case):
    schema, code = case
    reader, data = EnvelopeReader(Format("envelope")), envelope(schema)
    for use in (reader.read, lambda text: reader.schema(reader.schema_text(text))):
        with pytest.raises(DataError, match=code):
            use(data)
    assert reader.read(envelope(struct("int32"), {"a": 1}))[1] == {"a": 1}


def test_brackets_beyond_what_a_parser_reads():
    for text in (b"[" * 100_000, b'{"schema":' + b'{"items":' * 5000 + b"1" + b"}" * 5000 + b',"payload":1}'):
        with pytest.raises(DataError):
            EnvelopeReader(Format("envelope")).read(text)


def test_a_schema_of_the_statement_is_judged_when_planning():
    with pytest.raises(ConfigError, match=r"SMT273 avro\.schema: it has more than"):
        described(Format("avro", options={"schema": json.dumps(doubled(30))}))


# --- registries ---


@pytest.fixture
def registry():
    with Registry() as running:
        yield running


def header(number):
    return b"\0" + number.to_bytes(4, "big")


def form(registry, kind="avro-confluent"):
    return Format(kind, options={"url": registry.url})


def test_neighbours_of_records_with_such_schemas_are_not_affected(registry):
    numbers = [registry.add("t-value", json.dumps(one)) for one in REFUSED.values() if not isinstance(one, str)]
    good = registry.add("t-value", json.dumps(record("int")))
    chain = parse_chain({"transforms": "m", "transforms.m.type": "MaskField$Value", "transforms.m.fields": "a"})
    whole = Interpreter(chain, Format("string"), form(registry))
    values = [data for number in numbers for data in (header(number) + b"\x02", header(good) + b"\x02")]
    records = [Record("t", number=n) for n in range(len(values))]
    done = whole.run_all(records, None, values)
    assert set(done.lost) == set(range(0, len(values), 2))
    assert {outcome.problem.code for outcome in done.lost.values()} == {"SMT273"}
    assert {outcome.status for outcome in done.lost.values()} == {FAILED} != {PASSED}
    assert {value[5:] for value in done.values[1::2]} == {b"\x00"}, "masked, under the schema that this makes"


def test_a_registry_is_not_asked_for_every_id_that_somebody_makes_up(registry, monkeypatch):
    monkeypatch.setattr(registry_reader, "_MOST_REFUSED", 5)
    good = registry.add("t-value", json.dumps(record("int")))
    late = registry.add("t-value", json.dumps(record("long")))
    reader = RegistryReader(form(registry))
    assert reader.read(header(good) + b"\x02", "t")[1] == {"a": 1}
    codes = []
    for number in range(100, 140):
        for _ in range(2):
            with pytest.raises(DataError) as caught:
                reader.read(header(number) + b"\x02", "t")
            codes.append(caught.value.problem.code)
    assert codes == ["SMT441"] * 10 + ["SMT468"] * 70
    assert [number for number in registry.asked if number >= 100] == [100, 101, 102, 103, 104]
    assert reader.read(header(good) + b"\x04", "t")[1] == {"a": 2}, "what is known stays known"
    with pytest.raises(DataError, match="SMT468"):
        reader.read(header(late) + b"\x02", "t")


def test_indexes_that_nobody_nests_name_no_message(registry):
    for indexes in (b"\xd0\x0f" + b"\x00" * 1000, b"\xff\xff\xff\xff\x0f"):
        with pytest.raises(DataError, match="SMT441"):
            RegistryReader(form(registry, "protobuf-confluent")).read(header(1) + indexes + b"\x00" * 9)


def test_references_in_a_circle(registry):
    one = {"name": "Other", "subject": "o", "version": 1}
    text = json.dumps(record("Other"))
    registry.add("o", json.dumps(record("R", "Other")), [{"name": "R", "subject": "t", "version": 1}])
    number = registry.add("t", text, [one])
    with pytest.raises(DataError, match=r"SMT273.*circle"):
        RegistryReader(form(registry)).read(header(number) + b"\x02")


# --- whatever somebody may write ---

words = st.sampled_from(["a", "R", "E", "int", "null", "record", "array", "connect.name", "", "\u00e9", "1"])
anything = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)
ATTRIBUTES = """logicalType scale precision size symbols items values fields namespace doc aliases default order
    connect.name connect.version connect.doc connect.parameters connect.type connect.default connect.internal.type
    connect.fixed.size avro.java.string sqlType""".split()
simple = st.sampled_from(["int", "long", "string", "bytes", "null", "double", "boolean", "float", "R0", "R1", "x.R2"])
attributes = st.dictionaries(
    st.sampled_from(ATTRIBUTES), anything | st.sampled_from(["decimal", "date", "timestamp-millis", "int8"]), max_size=2
)


def wrapped(inner):
    """Types of each kind with other attributes, some of which make no sense."""
    names = st.sampled_from(["R0", "R1", "x.R2"])
    fields = st.lists(
        st.tuples(words, inner, attributes).map(lambda f: {"name": f[0], "type": f[1], **f[2]}), max_size=3
    )
    kinds = [
        st.fixed_dictionaries({"type": st.just("record"), "name": names, "fields": fields}),
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}),
        st.fixed_dictionaries({"type": st.just("map"), "values": inner}),
        st.fixed_dictionaries({"type": st.just("enum"), "name": names, "symbols": st.lists(words, max_size=3)}),
        st.fixed_dictionaries({"type": st.just("fixed"), "name": names, "size": st.integers(-1, 3)}),
        st.fixed_dictionaries({"type": simple}),
    ]
    one = st.tuples(st.one_of(kinds), attributes).map(lambda pair: {**pair[0], **pair[1]})
    return one | st.lists(inner, max_size=3) | anything


SOME = settings(max_examples=settings.default.max_examples * 4)
MANY = settings(max_examples=settings.default.max_examples * 10)
bytes_ = st.binary(max_size=40) | st.sampled_from(
    [b"\xfe\xff\xff\xff\x0f" * 3, b"\x01" * 30, b"\x7f" * 12, b"\xff" * 40]
)


@MANY
@given(st.recursive(simple, wrapped, max_leaves=8), bytes_)
def test_any_avro_schema_on_any_bytes(schema, data):
    try:
        avro = avro_of(json.dumps(schema))
    except ConfigError:
        return
    assert avro.schema.nodes <= MAX_NODES and hash(avro.schema) is not None
    try:
        avro.read(data)
    except DataError as error:
        assert error.problem.code in ("SMT416", "SMT459")


CONNECT = "struct array map int8 int32 int64 float double boolean string bytes".split()
odd_names = st.sampled_from([f"org.apache.kafka.connect.data.{n}" for n in ("Decimal", "Date", "Time", "Timestamp")])
described_by = st.fixed_dictionaries(
    {"type": st.sampled_from(CONNECT) | anything},
    optional={
        "optional": anything,
        "name": odd_names | anything,
        "version": anything,
        "doc": anything,
        "default": anything,
        "parameters": st.fixed_dictionaries({"scale": st.sampled_from(["2", "-3", "x", "1e3"]) | anything}) | anything,
    },
)


def described_with(inner):
    field = st.tuples(inner, words | anything).map(
        lambda f: {**f[0], "field": f[1]} if isinstance(f[0], dict) else f[0]
    )
    parts = st.fixed_dictionaries(
        {}, optional={"fields": st.lists(field, max_size=3) | anything, "items": inner, "keys": inner, "values": inner}
    )
    return st.tuples(described_by, parts).map(lambda pair: {**pair[0], **pair[1]}) | anything


@SOME
@given(st.recursive(described_by, described_with, max_leaves=6), anything)
def test_any_envelope(schema, payload):
    try:
        data = EnvelopeReader(Format("envelope")).read(envelope(schema, payload))[0]
    except DataError as error:
        assert error.problem.code in ("SMT206", "SMT401", "SMT411", "SMT412", "SMT414", "SMT417", "SMT459", "SMT467")
    else:
        assert data is None or hash(data) is not None


@MANY
@given(st.data())
def test_any_change_of_a_descriptor(data):
    raw = bytearray(file(*chained(3), message("M", "repeated m:L2", "a/b:int32", "a/c:L1", "d:string")))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(raw) - 1))
        raw[place] = data.draw(st.integers(0, 255))
    name = data.draw(st.sampled_from(["M", "L0", (0,), (4,), (9,)]))
    try:
        result = protobuf_of([bytes(raw)], name)
    except ConfigError as error:
        assert error.problems[0].code == "SMT273"
        return
    try:
        result.read(data.draw(bytes_))
    except DataError as error:
        assert error.problem.code in ("SMT416", "SMT459")


def test_descriptors_that_are_none():
    looped = pb.FileDescriptorProto(name="a.proto", dependency=["a.proto"], syntax="proto3")
    for raw in (b"", b"\xff" * 9, looped.SerializeToString(), base64.b64encode(b"x")):
        with pytest.raises(ConfigError, match="SMT273"):
            protobuf_of([raw], "M")


def test_a_registry_is_not_asked_for_an_id_that_none_can_have(registry):
    """Its answer would differ with the product, and might end the run."""
    with pytest.raises(DataError, match=r"SMT441 .*no registry gives such an id"):
        RegistryReader(form(registry)).read(b"\0\xff\xff\xff\xff\x02", "t")
    assert not registry.asked
