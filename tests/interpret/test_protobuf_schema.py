"""Protobuf schemas of Connect's, as ``ProtobufData.fromConnectSchema`` makes them; any value goes there and back.

Facts marked with a test's name are those of Confluent's ``ProtobufDataTest``.
"""

import string
import struct as packing
from decimal import Decimal

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from hypothesis import given, settings
from hypothesis import strategies as st

from dagster_smt.errors import ConfigError, DataError
from dagster_smt.formats.protobuf.files import field_options
from dagster_smt.formats.protobuf.message_schema import descriptor_of
from dagster_smt.formats.protobuf.read import protobuf_of
from dagster_smt.formats.protobuf.write import protobuf_out
from dagster_smt.model.schema import (
    BOOLEAN,
    INT32,
    INT64,
    STRING,
    JavaDate,
    Schema,
    Type,
    date,
    decimal,
    optional,
    time,
    timestamp,
)

OURS = "io.confluent.connect.protobuf."
DAY = 86_400_000


def struct(name=None, /, **fields):
    return Schema(Type.STRUCT, name=name, fields=tuple(fields.items()))


def array(values):
    return Schema(Type.ARRAY, values=values)


def of_map(keys, values, name=None):
    return Schema(Type.MAP, name=name, keys=keys, values=values)


def with_parameters(schema, **parameters):
    results = {**dict(schema.parameters), **{OURS + key: value for key, value in parameters.items()}}
    return schema.with_(parameters=tuple(sorted(results.items())))


def tag(schema, number):
    return with_parameters(schema, Tag=str(number))


def enum(name, **symbols):
    results = {f"{OURS}Enum": name, **{f"{OURS}Enum.{key}": str(number) for key, number in symbols.items()}}
    return Schema(Type.STRING, name=name, parameters=tuple(sorted(results.items())))


def union(name, **fields):
    return Schema(Type.STRUCT, True, f"{OURS}Union.{name}", fields=tuple(fields.items()))


def proto(schema, *name):
    return FileDescriptorProto.FromString(descriptor_of(schema, *name))


def fields(message):
    """(name, number, type, repeated) of each field; the type's name where it has one."""
    kinds = type(message).DESCRIPTOR.fields_by_name["field"].message_type.enum_types_by_name["Type"].values_by_number
    return [
        (f.name, f.number, f.type_name or kinds[f.type].name.removeprefix("TYPE_").lower(), f.label == 3)
        for f in message.field
    ]


COMPLEX = struct(
    int8=Schema(Type.INT8, default=2, doc="int8 field"), int16=Schema(Type.INT16), int32=INT32, int64=INT64,
    float32=Schema(Type.FLOAT32), float64=Schema(Type.FLOAT64), boolean=BOOLEAN, string=STRING,
    bytes=Schema(Type.BYTES), array=array(STRING), map=of_map(STRING, INT32), mapNonStringKeys=of_map(INT32, INT32),
    enum=enum("Status", INACTIVE=1, ACTIVE=0), nested=struct(a=INT32),
)  # fmt: skip


def test_names_numbers_and_types():  # testFromConnectComplex
    file = proto(COMPLEX)
    (message,) = file.message_type
    assert (file.syntax, file.package, message.name) == ("proto3", "", "ConnectDefault1")
    kinds = ["int32", "int32", "int32", "int64", "float", "double", "bool", "string", "bytes", "string",
             "ConnectDefault2Entry", "ConnectDefault3Entry", "Status", "ConnectDefault4"]  # fmt: skip
    lists = ("array", "map", "mapNonStringKeys")
    results = [(n, i, kind, n in lists) for i, (n, kind) in enumerate(zip(COMPLEX.by_name, kinds, strict=True), 1)]
    assert fields(message) == results
    assert [one.name for one in message.nested_type] == [kinds[10], kinds[11], kinds[13]]
    assert not message.nested_type[0].options.map_entry
    assert fields(message.nested_type[1]) == [("key", 1, "int32", False), ("value", 2, "int32", False)]
    assert [(v.name, v.number) for v in message.enum_type[0].value] == [("ACTIVE", 0), ("INACTIVE", 1)]
    options = [field.options.SerializeToString() for field in message.field[:3]]
    assert options == [
        field_options({"connect.type": "int8"}).SerializeToString(),
        field_options({"connect.type": "int16"}).SerializeToString(), b"",
    ]  # fmt: skip


def test_logical_types_import_a_file_once():  # testFromConnectComplexDuplicateImports
    file = proto(struct(a=timestamp(), b=timestamp(), c=date(), d=time(), e=array(decimal(2))))
    assert list(file.dependency) == [
        "google/protobuf/timestamp.proto", "google/type/date.proto", "google/type/timeofday.proto",
        "confluent/type/decimal.proto",
    ]  # fmt: skip
    assert [kind for _, _, kind, _ in fields(file.message_type[0])] == [
        "google.protobuf.Timestamp", "google.protobuf.Timestamp", "google.type.Date", "google.type.TimeOfDay",
        "confluent.type.Decimal",
    ]  # fmt: skip
    precise = with_parameters(decimal(2)).with_(parameters=(("connect.decimal.precision", "9"), ("scale", "2")))
    options = proto(struct(e=precise)).message_type[0].field[0].options
    assert options == field_options({"precision": "9", "scale": "2"})


NAMES = [
    (struct("shop.eu.Order", a=INT32), (), ("shop.eu", "Order")),
    (struct("Order", a=INT32), ("topic.Value",), ("", "Order")),
    (struct(a=INT32), ("topic.Value",), ("topic", "Value")),
]


@pytest.mark.parametrize(("schema", "name", "expected"), NAMES)
def test_the_name_of_the_message(schema, name, expected):
    file = proto(schema, *name)
    assert (file.package, file.message_type[0].name) == expected


def test_names_of_nested_types():  # testFromConnectNameCollision
    names = struct("org.nested", a=INT32)
    message = proto(struct("R", nested=names, other=names, more=struct(x=INT32), m=of_map(STRING, names, "my_tags")))
    (message,) = message.message_type
    assert [kind for _, _, kind, _ in fields(message)] == ["nestedMessage", "nested", "ConnectDefault1", "MyTagsEntry"]
    assert [one.name for one in message.nested_type] == ["nestedMessage", "nested", "ConnectDefault1", "MyTagsEntry"]


def test_a_type_that_is_used_again_is_there_once():  # testDiamond
    point = struct("Point", x=INT32, m=of_map(STRING, INT32))
    tags = of_map(STRING, INT32, "t")
    (message,) = proto(struct("R", a=point, b=array(point), c=tags, d=tags)).message_type
    assert [one.name for one in message.nested_type] == ["Point", "tEntry"]


NUMBERS = [
    (struct(a=INT32, b=INT32), [1, 2]),
    (struct(a=tag(INT32, 7), b=tag(INT32, 2)), [7, 2]),
    (struct(a=tag(INT32, 7), b=INT32), [7, 1]),
    (struct(a=tag(INT32, 1), b=INT32, c=tag(INT32, 2), d=INT32), [1, 3, 2, 4]),  # a field was added: InsertField
    (struct(a=tag(INT32, 1), b=tag(INT32, 1)), [1, 2]),  # two structs were flattened
    (struct(a=union("u", x=tag(INT32, 5), y=tag(INT32, 1)), b=INT32), [5, 1, 2]),
]


@pytest.mark.parametrize(("schema", "expected"), NUMBERS)
def test_numbers(schema, expected):
    assert [field.number for field in proto(schema).message_type[0].field] == expected


SIGNED = ("sint32", "sfixed32"), ("uint32", "fixed32", "sint64", "sfixed64", "uint64", "fixed64")


def test_types_that_came_from_protobuf():  # testRoundTripConnectPreserveSignedAndFixed
    schema = struct(
        **{name: with_parameters(INT32, Type=name) for name in SIGNED[0]},
        **{name: with_parameters(INT64, Type=name) for name in SIGNED[1]},
    )
    assert [(n, kind) for n, _, kind, _ in fields(proto(schema).message_type[0])] == [(n, n) for n in sum(SIGNED, ())]


POINT = optional(tag(struct("Point", x=optional(tag(INT32, 1))), 4))
CAME = struct(
    "M",
    some_val_0=union("some_val", one_id=optional(tag(STRING, 1)), other=optional(tag(enum("Status", A=0, B=1), 2))),
    note_1=union("note", p=POINT),
    state=optional(tag(enum("Status", A=0, B=1), 9)),
    at=optional(tag(timestamp(), 10)),
    price=optional(tag(decimal(2), 11)),
    small=optional(tag(Schema(Type.INT8), 12)),
    tags=optional(tag(of_map(optional(tag(STRING, 1)), optional(tag(INT64, 2)), "tags"), 13)),
    list=optional(tag(array(optional(with_parameters(INT64, Type="uint32"))), 14)),
)


def test_what_came_from_protobuf_is_the_same_again():
    assert protobuf_of([descriptor_of(CAME)], (0,)).schema == CAME


NOTE = union("note", a=optional(tag(STRING, 3)), b=optional(tag(INT32, 4)))
# schema, a value of it, what its message says; testFromConnectIgnoreDefaultForNullables has the opposite of the first
WRITTEN = [
    (struct(a=STRING.with_(optional=True, default="x"), b=INT32), {"a": None, "b": 5}, {"a": "x", "b": 5}),
    (struct(a=date().with_(default=JavaDate(DAY))), {}, {"a": JavaDate(DAY)}),
    (struct(renamed=NOTE), {"renamed": {"a": None, "b": 5}}, {"note_0": {"a": None, "b": 5}}),
    (struct(note_1=NOTE), {"note_1": {"a": "x", "b": None}}, {"note_0": {"a": "x", "b": None}}),  # one was left out
    (struct(note_1=NOTE), {"note_1": None}, {"note_0": None}),
    (struct(list=array(struct("P", n=NOTE)), map=of_map(STRING, struct("Q", x=INT32.with_(default=7)), "m")),
     {"list": [{"n": {"a": "x"}}], "map": {"k": {"x": None}}},
     {"list": [{"note_0": {"a": "x", "b": None}}], "map": {"k": {"x": 7}}}),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "value", "expected"), WRITTEN)
def test_values_of_other_schemas(schema, value, expected):
    out = protobuf_out(schema, "shop.Order")
    proto = protobuf_of([out.file], "shop.Order")
    assert proto.read(out.write(value)) == expected
    with pytest.raises(DataError, match="SMT440"):
        out.write([value])


# schema, what the refusal says
REFUSED = [
    (STRING, "must be a struct"),
    (union("u", a=INT32), "must be a struct"),
    (struct(**{"a-b": INT32}), r"'ConnectDefault1': .*invalid name: non-alphanumeric character \(a-b\)"),
    (struct(**{"1a": INT32}), "invalid name"),
    (struct("shop.my-order", a=INT32), "invalid name"),
    (struct(**{"\ud800": INT32}), "refuses"),
    (struct(a=array(array(INT32))), "'a': a list of Protobuf cannot contain lists"),
    (struct(a=array(of_map(STRING, INT32))), "'a': a list of Protobuf cannot contain lists"),
    (struct(a=of_map(STRING, array(INT32))), "'a': a map of Protobuf cannot contain lists"),
    (struct(a=union("u", b=array(INT32))), "'b': a oneof cannot contain lists"),
    (struct(a=with_parameters(INT32, Type="int7")), "no type 'int7'"),
    (struct(a=tag(INT32, 0)), "number"),
    (struct(a=tag(INT32, "x")), "number"),
    (struct(a=enum("E", ONE=1)), "first value must be zero"),
    (struct(foo_bar=INT32, fooBar=INT32), "duplicate json_name"),
    (struct(a=struct("P", x=INT32), b=struct("q.P", y=INT32)), "'P': two types have this name"),
    (struct(a=enum("E", A=0), b=enum("E", B=0)), "'E': two enums have this name"),
    (struct("P", a=struct("P", x=INT32)), "'P': a struct contains another struct with the same name"),
]


@pytest.mark.parametrize(("schema", "what"), REFUSED, ids=[what for _, what in REFUSED])
def test_schemas_that_protobuf_does_not_take(schema, what):
    with pytest.raises(ConfigError, match=f"(?s)SMT274 protobuf name .*{what}.*hint: rename"):
        descriptor_of(schema)


# -- any schema, any value -------------------------------------------------------------------------------------------


def single(value):
    return packing.unpack("f", packing.pack("f", value))[0]


def integers(bits):
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)


LEAVES = [
    (Schema(Type.INT8), integers(8)), (Schema(Type.INT16), integers(16)), (INT32, integers(32)), (INT64, integers(64)),
    (with_parameters(INT32, Type="sint32"), integers(32)), (with_parameters(INT64, Type="fixed64"), integers(64)),
    (with_parameters(INT64, Type="uint32"), st.integers(0, 2**32 - 1)), (BOOLEAN, st.booleans()),
    (Schema(Type.FLOAT32), st.floats(width=32, allow_nan=False)), (Schema(Type.FLOAT64), st.floats(allow_nan=False)),
    (STRING, st.text()), (Schema(Type.BYTES), st.binary()), (enum("E", A=0, B=-1, C=7), st.sampled_from("ABC")),
]  # fmt: skip
MESSAGES = [
    (decimal(3), st.builds(lambda unscaled: Decimal(unscaled).scaleb(-3), st.integers(-(10**25), 10**25))),
    (date(), st.integers(-719_164, 4_000_000).map(lambda day: JavaDate(day * DAY))),
    (time(), st.integers(0, DAY - 1).map(JavaDate)),
    (timestamp(), st.integers(-62_135_596_800_000, 253_402_300_799_999).map(JavaDate)),
]  # fmt: skip
KEYS = st.sampled_from([case for case in LEAVES if case[0].type not in (Type.FLOAT32, Type.FLOAT64)])


@st.composite
def structs(draw, depth=2):
    """A struct without a name, and its values; what Protobuf cannot tell from its default is never null."""
    names = draw(st.lists(st.sampled_from(string.ascii_lowercase), max_size=5, unique=True))
    parts = {name: draw(members(depth)) for name in names}
    schema = struct(None, **{name: child for name, (child, _) in parts.items()})
    return schema, st.fixed_dictionaries({name: values for name, (_, values) in parts.items()})


@st.composite
def members(draw, depth):
    one = [st.sampled_from(LEAVES), st.sampled_from(MESSAGES), *([structs(depth - 1)] if depth else [])]
    schema, values = draw(st.one_of(one))
    message = schema.logical is not None or schema.type is Type.STRUCT
    shape = draw(st.sampled_from(["plain", "plain", "list", "map"]))
    if shape == "list":
        return array(schema), st.lists(values, max_size=3)
    if shape == "map":
        keys, key_values = draw(KEYS)
        return of_map(keys, schema), st.dictionaries(key_values, values, max_size=3)
    return schema, st.none() | values if message else values


def exact(value):
    """A value in a text that tells 0 from False, -0.0 and a moment; the order of keys does not count."""
    if isinstance(value, dict):
        return sorted((repr(key), exact(item)) for key, item in value.items())
    return list(map(exact, value)) if isinstance(value, list) else f"{type(value).__name__} {value!r}"


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_what_is_written_reads_as_what_it_was(data):
    schema, values = data.draw(structs())
    proto = protobuf_of([descriptor_of(schema)], (0,))
    assert [name for name, _ in proto.schema.fields] == [name for name, _ in schema.fields]
    for _ in range(3):
        value = data.draw(values)
        result = proto.read(proto.write(value))
        assert result == value and exact(result) == exact(value)
        assert proto.write(result) == proto.write(value)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(raw):
    proto = protobuf_of([descriptor_of(CAME)], (0,))
    try:
        proto.read(raw)
    except DataError as error:
        assert error.problem.code == "SMT416"
