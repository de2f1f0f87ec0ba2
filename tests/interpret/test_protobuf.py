"""Protobuf as Connect's ProtobufConverter reads and writes it: schemas, values, oneofs, maps; and what is refused.

Facts marked with a test's name are those of Confluent's ``ProtobufDataTest``.
"""

import math
from decimal import Decimal

import pytest
from google.protobuf import descriptor_pb2 as pb
from google.protobuf import message_factory, wrappers_pb2

from dagster_smt.errors import ConfigError, DataError
from dagster_smt.formats.protobuf.files import (
    SCALARS,
    field_options,
    message_of,
    pool_of,
    read_indexes,
    write_indexes,
)
from dagster_smt.formats.protobuf.message_schema import descriptor_of
from dagster_smt.formats.protobuf.read import protobuf_of
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
TIMESTAMP, WRAPPERS = "google/protobuf/timestamp.proto", "google/protobuf/wrappers.proto"
DATE, TIME, DECIMAL = "google/type/date.proto", "google/type/timeofday.proto", "confluent/type/decimal.proto"
DEPENDENCIES = (TIMESTAMP, WRAPPERS, DATE, TIME, DECIMAL, "google/protobuf/any.proto", "google/protobuf/struct.proto")


def message(name, *fields, nested=(), enums=(), options=None):
    """A message of fields ``[label ][oneof/]name:type[=number]``; a type with a capital or a dot is a message's."""
    result = pb.DescriptorProto(name=name, nested_type=nested, enum_type=enums)
    oneofs, lone = [], []
    for number, text in enumerate(fields, 1):
        label, _, rest = text.rpartition(" ")
        union, _, rest = rest.rpartition("/")
        key, _, kind = rest.partition(":")
        kind, _, given_number = kind.partition("=")
        field = result.field.add(name=key, number=int(given_number or number))
        field.label = {"": 1, "optional": 1, "proto2": 1, "required": 2, "repeated": 3}[label]
        if kind in SCALARS:
            field.type = SCALARS[kind]
        else:
            field.type_name = kind
        if union:
            oneofs += [union] if union not in oneofs else []
            field.oneof_index = oneofs.index(union)
        if label == "optional":
            lone.append(field)
    for union in oneofs:
        result.oneof_decl.add(name=union)
    for field in lone:  # proto3: a oneof of its own, which Connect does not see
        field.proto3_optional, field.oneof_index = True, len(result.oneof_decl)
        result.oneof_decl.add(name=f"_{field.name}")
    for key, params in (options or {}).items():
        next(f for f in result.field if f.name == key).options.CopyFrom(field_options(params))
    return result


def entry(name, key, value):
    result = message(name, f"key:{key}", f"value:{value}")
    result.options.map_entry = True
    return result


def enum(name, **symbols):
    return pb.EnumDescriptorProto(
        name=name, value=[pb.EnumValueDescriptorProto(name=n, number=i) for n, i in symbols.items()]
    )


def file(*messages, syntax="proto3", package="", imports=DEPENDENCIES, name="test.proto", enums=()):
    result = pb.FileDescriptorProto(name=name, syntax=syntax, package=package, message_type=messages, enum_type=enums)
    result.dependency.extend(imports)
    return result.SerializeToString()


def of(*fields, syntax="proto3", **more):
    """A file with the message M."""
    return file(message("M", *fields, **more), syntax=syntax)


def runtime(raw, name="M"):
    """The class of a message, without anything of the project that converts values."""
    pool, result = pool_of([raw], "test")
    return message_factory.GetMessageClass(message_of(pool, result, name, "test"))


def tagged(schema, number=1, **parameters):
    result = {**dict(schema.parameters), f"{OURS}Tag": str(number)} | {OURS + k: v for k, v in parameters.items()}
    return schema.with_(optional=True, parameters=tuple(sorted(result.items())))


def array(values, number=1):
    return tagged(Schema(Type.ARRAY, values=values.with_(optional=True)), number)


def struct(name, **fields):
    return Schema(Type.STRUCT, name=name, fields=tuple(fields.items()))


STATUS = enum("Status", ACTIVE=0, INACTIVE=1)
STATUS_SCHEMA = Schema(
    Type.STRING, name="Status",
    parameters=((f"{OURS}Enum", "Status"), (f"{OURS}Enum.ACTIVE", "0"), (f"{OURS}Enum.INACTIVE", "1")),
)  # fmt: skip
INNER = message("Inner", "id:string", "repeated ids:int32")
INNER_SCHEMA = struct("Inner", id=tagged(STRING), ids=array(INT32, 2))


def typed(type_, name):
    return Schema(type_, parameters=((f"{OURS}Type", name),))


FLOAT32, FLOAT64, BYTES = Schema(Type.FLOAT32), Schema(Type.FLOAT64), Schema(Type.BYTES)
# type in Protobuf, Connect schema without its number, pairs of value in the runtime and in Connect
# testToConnectInt32StructWithSint32, …WithUInt32, testToConnectSInt64Struct, testRoundTripConnectUInt32Fixed32
SCALAR_CASES = [
    ("int32", INT32, [(0, 0), (-(2**31), -(2**31)), (2**31 - 1, 2**31 - 1)]),
    ("sint32", typed(Type.INT32, "sint32"), [(-5, -5)]),
    ("sfixed32", typed(Type.INT32, "sfixed32"), [(-5, -5)]),
    ("uint32", typed(Type.INT64, "uint32"), [(0, 0), (2**32 - 1, 2**32 - 1)]),
    ("fixed32", typed(Type.INT64, "fixed32"), [(2**32 - 1, 2**32 - 1)]),
    ("int64", INT64, [(-(2**63), -(2**63)), (2**63 - 1, 2**63 - 1)]),
    ("sint64", typed(Type.INT64, "sint64"), [(-5, -5)]),
    ("sfixed64", typed(Type.INT64, "sfixed64"), [(-5, -5)]),
    ("uint64", typed(Type.INT64, "uint64"), [(5, 5), (2**64 - 1, -1), (2**63, -(2**63))]),
    ("fixed64", typed(Type.INT64, "fixed64"), [(2**64 - 1, -1)]),
    ("float", FLOAT32, [(1.5, 1.5), (math.inf, math.inf)]),
    ("double", FLOAT64, [(0.1, 0.1), (-math.inf, -math.inf)]),
    ("bool", BOOLEAN, [(True, True), (False, False)]),
    ("string", STRING, [("", ""), ("grün\0", "grün\0")]),
    ("bytes", BYTES, [(b"", b""), (b"\xff", b"\xff")]),
]


@pytest.mark.parametrize("syntax", ["proto3", "proto2"])
@pytest.mark.parametrize(("kind", "schema", "pairs"), SCALAR_CASES, ids=[case[0] for case in SCALAR_CASES])
def test_scalars(kind, schema, pairs, syntax):
    raw = of(f"a:{kind}", f"repeated b:{kind}", syntax=syntax)
    proto, result = protobuf_of([raw], "M"), runtime(raw)
    assert proto.schema == struct("M", a=tagged(schema), b=array(schema, 2))
    for inside, value in pairs:
        both = {"a": value, "b": [value]}
        data = proto.read(result(a=inside, b=[inside]).SerializeToString())
        assert data == both and type(data["a"]) is type(value)
        again = result.FromString(proto.write(both))
        assert (again.a, list(again.b)) == (inside, [inside])


def test_nan_and_a_negative_zero_are_kept():
    proto = protobuf_of([of("a:float", "b:double")], "M")
    data = proto.read(proto.write({"a": math.nan, "b": -0.0}))
    assert math.isnan(data["a"]) and math.copysign(1, data["b"]) == -1


NARROW = of("a:int32", "b:sint32", "c:uint32", options={n: {"connect.type": t} for n, t in zip("abc", ("int8", "int16", "int8"), strict=True)})  # fmt: skip # noqa: E501


def test_int8_and_int16_stand_in_an_option():  # testToConnectInt8Struct, testToConnectInt16Struct
    proto = protobuf_of([NARROW], "M")
    assert [child for _, child in proto.schema.fields] == [
        tagged(Schema(Type.INT8)), tagged(Schema(Type.INT16), 2), tagged(typed(Type.INT64, "uint32"), 3),
    ]  # fmt: skip
    assert proto.read(runtime(NARROW)(a=300, b=-5).SerializeToString()) == {"a": 44, "b": -5, "c": 0}  # byteValue()


# -- what is there, and what is not ---------------------------------------------------------------------------------

ABSENT = [
    ("proto3", "a:int32", 0), ("proto3", "optional a:int32", None), ("proto3", "repeated a:int32", []),
    ("proto3", "a:Status", "ACTIVE"), ("proto3", "optional a:Status", None), ("proto3", "a:Inner", None),
    ("proto2", "proto2 a:int32", None), ("proto2", "proto2 a:Status", None), ("proto2", "proto2 a:Inner", None),
]  # fmt: skip


@pytest.mark.parametrize(("syntax", "field", "expected"), ABSENT)
def test_absent_fields(syntax, field, expected):  # testToConnectOptionalProto2, getExpectedEmptyNestedTestProtoResult
    raw = file(message("M", field), INNER, enums=[STATUS], syntax=syntax)
    proto = protobuf_of([raw], "M")
    assert proto.read(b"") == {"a": expected} and proto.schema.by_name["a"].optional
    assert proto.write({"a": None}) == b""


def test_present_fields_keep_their_defaults():
    proto = protobuf_of([of("optional a:int32", "optional b:string")], "M")
    for value in ({"a": 0, "b": ""}, {"a": None, "b": ""}, {"a": None, "b": None}):
        assert proto.read(proto.write(value)) == value


def test_proto2_required_and_defaults():
    result = message("M", "required a:int32", "proto2 b:int32")
    result.field[1].default_value = "7"
    proto = protobuf_of([file(result, syntax="proto2")], "M")
    assert proto.read(b"\x08\x05") == {"a": 5, "b": None} and proto.schema.by_name["b"].default is None
    with pytest.raises(DataError, match=r"SMT416.*required"):
        proto.read(b"")
    with pytest.raises(DataError, match="SMT440"):
        proto.write({"a": None, "b": 1})


def test_editions_have_their_defaults_for_absent_fields():
    result = pb.FileDescriptorProto.FromString(file(message("M", "a:int32", "b:Inner"), INNER))
    result.syntax, result.edition = "editions", pb.EDITION_2023
    assert protobuf_of([result.SerializeToString()], "M").read(b"") == {"a": 0, "b": None}


# -- enums, messages, oneofs, maps ----------------------------------------------------------------------------------


def test_enums():
    raw = file(message("M", "a:Status", "repeated b:Status"), enums=[STATUS])
    proto = protobuf_of([raw], "M")
    assert proto.schema == struct("M", a=tagged(STATUS_SCHEMA), b=array(STATUS_SCHEMA, 2))
    value = {"a": "INACTIVE", "b": ["ACTIVE", "INACTIVE"]}
    assert proto.read(proto.write(value)) == value
    # EnumValueDescriptor of a number that the schema does not know
    assert proto.read(b"\x08\x07") == {"a": "UNKNOWN_ENUM_VALUE_Status_7", "b": []}


def test_closed_enums_and_aliases():
    result = enum("E", ONE=1, TWO=2, UNO=1)
    result.options.allow_alias = True
    proto = protobuf_of([file(message("M", "proto2 a:E"), enums=[result], syntax="proto2")], "M")
    assert [proto.read(raw)["a"] for raw in (b"\x08\x01", b"\x08\x07")] == ["ONE", None]
    assert proto.write({"a": "UNO"}) == proto.write({"a": "ONE"}) == b"\x08\x01"


NESTED = file(
    message("M", "inner:Inner", "repeated list:Inner=4", "any:google.protobuf.Any", "again:Inner=9"), INNER, package="p"
)


def test_messages():
    proto = protobuf_of([NESTED], "p.M")
    any_ = struct("Any", type_url=tagged(STRING), value=tagged(BYTES, 2))
    assert dict(proto.schema.fields) == {
        "inner": tagged(INNER_SCHEMA), "again": tagged(INNER_SCHEMA, 9), "any": tagged(any_, 3),
        "list": array(tagged(INNER_SCHEMA, 1), 4),  # the first field's number stays on the message: SchemaWrapper
    }  # fmt: skip
    value = {"inner": {"id": "", "ids": []}, "list": [{"id": "x", "ids": [1, 2]}], "any": None, "again": None}
    assert proto.read(proto.write(value)) == value


def test_a_list_that_comes_first_leaves_no_number_on_its_items():
    proto = protobuf_of([file(message("M", "repeated list:Inner", "again:Inner", "repeated more:Inner"), INNER)], "M")
    fields = proto.schema.by_name
    assert fields["list"] == array(INNER_SCHEMA) and fields["more"] == array(INNER_SCHEMA, 3)
    assert fields["again"] == tagged(INNER_SCHEMA, 2)


UNIONS = file(
    message("M", "count:int64", "survey/a:string", "survey/b:int32", "survey/c:Status", "survey/d:Inner",
            "note/e:string", "optional f:int32"),
    INNER, enums=[STATUS],
)  # fmt: skip


def test_oneofs():  # testToConnectEnumUnionWithString, testMultipleOneofs, testToConnectDataDefaultOneOf
    proto = protobuf_of([UNIONS], "M")
    survey = struct(
        f"{OURS}Union.survey", a=tagged(STRING, 2), b=tagged(INT32, 3), c=tagged(STATUS_SCHEMA, 4),
        d=tagged(INNER_SCHEMA, 5),
    )  # fmt: skip
    note = struct(f"{OURS}Union.note", e=tagged(STRING, 6))
    assert proto.schema.fields == (
        ("survey_0", optional(survey)), ("note_1", optional(note)),
        ("count", tagged(INT64, 1)), ("f", tagged(INT32, 7)),
    )  # fmt: skip
    none = dict.fromkeys("abcd")
    for chosen in ({"a": ""}, {"b": 0}, {"b": 5}, {"c": "ACTIVE"}, {"d": {"id": "", "ids": []}}):
        value = {"survey_0": {**none, **chosen}, "note_1": None, "count": 1, "f": None}
        assert proto.read(proto.write(value)) == value
    # testToConnectDataDefaultOneOfCannotHaveTwoOneOfsSet: the last one holds
    assert proto.read(b"\x12\x01x\x18\x00")["survey_0"] == {**none, "b": 0}
    for wrong in (none, {**none, "a": "x", "b": 1}):
        with pytest.raises(DataError, match=r"SMT440.*'survey_0' has \d fields"):
            proto.write({"survey_0": wrong, "count": 1})


MAPS = file(
    message("M", "repeated texts:TextsEntry", "repeated inners:InnersEntry", "repeated states:StatesEntry",
            "repeated map_type:MapTypeEntry", "repeated flags:FlagsEntry",
            nested=[entry("TextsEntry", "string", "string"), entry("InnersEntry", "int32", "Inner"),
                    entry("StatesEntry", "uint64", "Status"), entry("MapTypeEntry", "string", "google.type.Date"),
                    entry("FlagsEntry", "bool", "bytes")]),
    INNER, enums=[STATUS],
)  # fmt: skip


def of_map(name, keys, values, number):
    return tagged(Schema(Type.MAP, name=name, keys=tagged(keys, 1), values=tagged(values, 2)), number)


def test_maps():
    proto = protobuf_of([MAPS], "M")
    assert dict(proto.schema.fields) == {
        "texts": of_map("texts", STRING, STRING, 1), "inners": of_map("inners", INT32, INNER_SCHEMA, 2),
        "states": of_map("states", typed(Type.INT64, "uint64"), STATUS_SCHEMA, 3),
        "map_type": of_map("map_type", STRING, date(), 4), "flags": of_map("flags", BOOLEAN, BYTES, 5),
    }  # fmt: skip
    value = {
        "texts": {"a": "", "": "b"}, "inners": {-1: {"id": "x", "ids": [1]}, 0: {"id": "", "ids": []}},
        "states": {-1: "INACTIVE"}, "map_type": {"d": JavaDate(DAY)}, "flags": {True: b"x"},
    }  # fmt: skip
    assert proto.read(proto.write(value)) == value
    assert proto.read(b"") == {key: {} for key in value}
    # testFromConnectComplex: a null in a map is written as what Protobuf has for absent
    data = proto.read(proto.write({"texts": {"a": None}, "inners": {1: None}}))
    assert (data["texts"], data["inners"]) == ({"a": ""}, {1: {"id": "", "ids": []}})


def test_messages_that_look_like_entries_are_maps():  # testToConnectMultipleMapReferences
    alike = message("AttributeFieldEntry", "key:string", "value:Inner")
    raw = file(message("M", "repeated map1:AttributeFieldEntry", "no:AttributeFieldEntry"), alike, INNER)
    proto, result = protobuf_of([raw], "M"), runtime(raw)
    schema = proto.schema.by_name
    assert schema["map1"] == of_map("attribute_field", STRING, INNER_SCHEMA, 1)
    assert schema["no"].label == "struct?"
    value = {"map1": {"x": {"id": "y", "ids": []}}, "no": {"key": "k", "value": None}}
    assert proto.read(proto.write(value)) == value
    twice = result(map1=[{"key": "x"}, {"key": "x", "value": {"id": "z"}}, {}])
    assert proto.read(twice.SerializeToString())["map1"] == {
        "x": {"id": "z", "ids": []}, "": {"id": "", "ids": []},
    }  # fmt: skip


def test_keys_that_only_java_allows():
    alike = message("AEntry", "key:Inner", "value:double")
    proto = protobuf_of([file(message("M", "repeated a:AEntry"), INNER, alike)], "M")
    raw = runtime(file(message("M", "repeated a:AEntry"), INNER, alike))(a=[{"key": {"id": "x"}, "value": 1.5}])
    data = proto.read(raw.SerializeToString())
    assert list(data["a"].items()) == [({"id": "x", "ids": []}, 1.5)] and proto.read(proto.write(data)) == data


# -- wrappers and logical types -------------------------------------------------------------------------------------

WRAPPED = [
    ("Double", "float64", 0.5), ("Float", "float32", 0.5), ("Int64", "int64", -5), ("UInt64", "int64", -1),
    ("Int32", "int32", -5), ("UInt32", "int64", 2**32 - 1), ("Bool", "boolean", True), ("String", "string", "x"),
    ("Bytes", "bytes", b"x"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "label", "value"), WRAPPED)
def test_wrappers(name, label, value):  # testToConnectInt32 …, testRoundTripConnectNoWrapperForNullables
    raw = wrappers_pb2.DESCRIPTOR.serialized_pb
    proto = protobuf_of([raw], f"google.protobuf.{name}Value")
    assert proto.schema == Schema(Type[label.upper()])
    empty = proto.read(b"")
    assert proto.read(proto.write(value)) == value and type(empty) is type(value) and not empty
    inside = protobuf_of([of(f"a:google.protobuf.{name}Value")], "M")
    child = inside.schema.by_name["a"]
    assert (child.name, child.optional, [n for n, _ in child.fields]) == (f"{name}Value", True, ["value"])
    for both in ({"a": None}, {"a": {"value": value}}):
        assert inside.read(inside.write(both)) == both


LOGICAL = [
    ("google.type.Date", date(), {"year": 2017, "month": 12, "day": 31}, 1_514_678_400_000),  # testToConnectDate
    ("google.type.Date", date(), {"year": 1, "month": 1, "day": 1}, -719_164 * DAY),  # Java's calendar is Julian then
    ("google.type.Date", date(), {"year": 1582, "month": 10, "day": 4}, -141_428 * DAY),
    ("google.type.Date", date(), {"year": 2000, "month": 2, "day": 29}, 951_782_400_000),
    ("google.type.TimeOfDay", time(), {"hours": 11, "minutes": 12, "seconds": 13, "nanos": 14_000_000}, 40_333_014),
    ("google.type.TimeOfDay", time(), {}, 0),
    ("google.type.TimeOfDay", time(), {"hours": 23, "minutes": 59, "seconds": 59, "nanos": 999_000_000}, DAY - 1),
    ("google.protobuf.Timestamp", timestamp(), {"seconds": 1_514_678_400}, 1_514_678_400_000),
    ("google.protobuf.Timestamp", timestamp(), {"seconds": -1, "nanos": 999_000_000}, -1),
    ("google.protobuf.Timestamp", timestamp(), {}, 0),
]  # fmt: skip


@pytest.mark.parametrize(("name", "schema", "parts", "millis"), LOGICAL)
def test_moments(name, schema, parts, millis):
    raw = of(f"a:{name}", f"repeated b:{name}")
    proto, result = protobuf_of([raw], "M"), runtime(raw)
    assert proto.schema == struct("M", a=tagged(schema), b=array(schema, 2))
    message_ = result(a=parts, b=[parts])
    data = proto.read(message_.SerializeToString())
    assert data == {"a": millis, "b": [millis]} and type(data["a"]) is JavaDate
    assert result.FromString(proto.write(data)) == message_


def test_parts_of_a_millisecond_are_cut():
    raw = of("a:google.protobuf.Timestamp", "b:google.type.TimeOfDay")
    result = runtime(raw)(a={"seconds": -1, "nanos": 999_999}, b={"nanos": 1_999_999})
    assert protobuf_of([raw], "M").read(result.SerializeToString()) == {"a": -1000, "b": 1}


WRONG_MOMENTS = [
    ("google.type.Date", {"year": 2017, "month": 12}), ("google.type.Date", {"month": 12, "day": 1}),
    ("google.type.Date", {"year": 2017, "month": 13, "day": 1}),
    ("google.type.Date", {"year": 2017, "month": 2, "day": 29}),
    ("google.type.Date", {"year": 1582, "month": 10, "day": 10}),
    ("google.type.Date", {"year": 2**31 - 1, "month": 1, "day": 1}),
    ("google.type.TimeOfDay", {"hours": 24}), ("google.type.TimeOfDay", {"seconds": 60}),
    ("google.type.TimeOfDay", {"nanos": -1}), ("google.protobuf.Timestamp", {"seconds": 253_402_300_800}),
    ("google.protobuf.Timestamp", {"nanos": 1_000_000_000}), ("google.protobuf.Timestamp", {"nanos": -1}),
    ("confluent.type.Decimal", {}), ("confluent.type.Decimal", {"value": b"\1", "precision": 2**31}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "parts"), WRONG_MOMENTS)
def test_moments_that_are_none(name, parts):
    raw = of(f"a:{name}")
    with pytest.raises(DataError, match="SMT416 field 'a' is no"):
        protobuf_of([raw], "M").read(runtime(raw)(a=parts).SerializeToString())


DECIMALS = ["12345.678", "0", "0.00", "-1.50", "1E+3", "-0.001", "9" * 60, "-128", "-129", "127", "128"]


@pytest.mark.parametrize("text", DECIMALS)
def test_decimals(text):  # testToConnectDecimal, testFromConnectDecimal
    raw = of("a:confluent.type.Decimal", options={"a": {"precision": "8", "scale": "3"}})
    proto, result = protobuf_of([raw], "M"), runtime(raw)
    expected = decimal(3).with_(parameters=(("connect.decimal.precision", "8"), ("scale", "3")))
    assert proto.schema == struct("M", a=tagged(expected))
    value = Decimal(text)
    inside = result.FromString(proto.write({"a": value})).a
    assert (inside.scale, inside.precision) == (-value.as_tuple().exponent, len(value.as_tuple().digits))
    assert str(proto.read(proto.write({"a": value}))["a"]) == str(value)  # the value's own scale, as in Connect


def test_decimals_of_others():
    raw = of("a:confluent.type.Decimal", "b:confluent.type.Decimal", options={"b": {"precision": "x", "scale": "y"}})
    proto, built = protobuf_of([raw], "M"), runtime(raw)
    assert [child.label for _, child in proto.schema.fields] == ["Decimal(0)?"] * 2
    assert dict(proto.schema.by_name["b"].parameters) == {"scale": "0", f"{OURS}Tag": "2"}
    result = built(a={"value": b"\x04\xd3", "precision": 3, "scale": 2}, b={"value": b"\x04\xd3", "scale": 2})
    assert proto.read(result.SerializeToString()) == {"a": Decimal("12.4"), "b": Decimal("12.35")}  # MathContext
    long = b"\x7f" * 4000  # more digits than Python prints
    assert proto.read(proto.write(v := proto.read(built(a={"value": long}).SerializeToString()))) == v


def test_variants():
    raw = file(message("M", "a:confluent.type.Variant"), imports=("confluent/type/variant.proto",))
    proto = protobuf_of([raw], "M")
    expected = struct("org.apache.kafka.connect.data.Variant", metadata=BYTES, value=BYTES)
    assert proto.schema == struct("M", a=tagged(expected))
    value = {"a": {"metadata": b"\1", "value": b""}}
    assert proto.read(proto.write(value)) == value
    assert protobuf_of([descriptor_of(proto.schema)], (0,)).schema == proto.schema


# -- files ----------------------------------------------------------------------------------------------------------

INDEXED = file(message("A", nested=[message("B"), message("C", "x:int32")]), message("D"), package="p")
INDEXES = [("p.A.C", "C"), ((0,), "A"), ((), "A"), ((1,), "D"), ((0, 1), "C"), ([0, 0], "B")]


@pytest.mark.parametrize(("expected", "name"), INDEXES)
def test_the_message_of_a_file(expected, name):
    assert protobuf_of([INDEXED], expected).schema.name == name


def test_files_use_others():
    point = file(message("Point", "x:int32"), package="geo", name="geo/point.proto", imports=())
    line = file(message("Line", "a:geo.Point", "b:google.type.LatLng"), name="line.proto",
                imports=("geo/point.proto", "google/type/latlng.proto", "confluent/meta.proto"))  # fmt: skip
    proto = protobuf_of([point, line], (0,))
    value = {"a": {"x": 5}, "b": {"latitude": 1.5, "longitude": 0.0}}
    assert proto.read(proto.write(value)) == value
    own = file(message("Point", "y:int32"), package="geo", name="geo/point.proto", imports=())
    assert protobuf_of([own, line], (0,)).schema.by_name["a"].by_name.keys() == {"y"}  # nothing is shared


def looped():
    return file(message("Node", "key:int32", "repeated next:Node=10"))


OWN_DATE = file(message("Date", "era:string"), package="google.type", name=DATE, imports=())
# files, message, what the refusal says
REFUSED = [
    ([], "M", "the schema has no file"),
    ([b"\x08\x01garbage"], "M", "not a serialized FileDescriptorProto"),
    ([b'syntax = "proto3"; message M {}'], "M", "not a serialized FileDescriptorProto"),
    ([file(message("M"), imports=("shop/no.proto",))], "M", "imports 'shop/no.proto'"),
    ([file(message("M"), imports=("google/type/../no.proto",))], "M", "imports"),
    ([file(message("M"), imports=("google/protobuf/no_such.proto",))], "M", "imports"),
    ([file(message("M"), imports=("test.proto",))], "M", "imports 'test.proto'"),
    ([of("a:Missing")], "M", "not a Protobuf schema: .*Missing"),
    ([of("a:int32=1", "b:int32=1")], "M", "duplicate field number"),
    ([of("a-b:int32")], "M", "invalid name"),
    ([of("a:int32"), of("b:int32")], "M", "not a Protobuf schema"),
    ([INDEXED], "A", "no message 'A'"),
    ([INDEXED], (2,), r"indexes \[2\]"),
    ([INDEXED], (-1,), r"indexes \[-1\]"),
    ([INDEXED], (0, 1, 0), r"indexes \[0, 1, 0\]"),
    ([looped()], "Node", "'Node' contains itself"),  # testToConnectRecursiveSchema: Connect can, a table cannot
    ([of("a:google.protobuf.Struct")], "M", "'google.protobuf.Struct' contains itself"),
    ([of("one/a:int32", "one_0:int32")], "M", "same name"),
    ([OWN_DATE, file(message("M", "a:google.type.Date"), imports=(DATE,))], "M", "differs from the published message"),
]


@pytest.mark.parametrize(("files", "expected", "what"), REFUSED, ids=[case[2] for case in REFUSED])
def test_schemas_that_cannot_be(files, expected, what):
    with pytest.raises(ConfigError, match=rf"SMT273 here: .*{what}"):
        protobuf_of(files, expected, "here")


def test_groups_are_refused():
    result = message("M", "proto2 g:G", nested=[message("G")])
    result.field[0].type = 10
    with pytest.raises(ConfigError, match=r"SMT273.*group 'g'"):
        protobuf_of([file(result, syntax="proto2")], "M")


# -- bytes ----------------------------------------------------------------------------------------------------------

BOTH = "a:int32", "b:string"
UNFIT = [
    b"\x08",
    b"\x12\x05ab",
    b"\x12\x02\xff\xfe",
    b"\x08\x01\x00",
    b"\x0b",
    b"\x08" + b"\xff" * 11,
    b"\x0f",
    b"text",
]


@pytest.mark.parametrize("raw", UNFIT)
def test_bytes_that_do_not_fit(raw):
    with pytest.raises(DataError, match="SMT416"):
        protobuf_of([of(*BOTH)], "M").read(raw)


@pytest.mark.parametrize("field", ["proto2 b:string=2", "repeated b:string=2", "repeated b:BEntry=2"])
def test_texts_of_proto2_are_checked_too(field):
    nested = [entry("BEntry", "string", "string")] if "Entry" in field else ()
    proto = protobuf_of([of(field, syntax="proto2", nested=nested)], "M")
    with pytest.raises(DataError, match="SMT416"):
        proto.read(b"\x12\x08\x0a\x02\xff\xfe\x12\x02\xff\xfe" if nested else b"\x12\x02\xff\xfe")


def test_unknown_fields_are_passed_over():
    proto = protobuf_of([of(*BOTH)], "M")
    for more in (b"\x18\x05", b"\x1a\x01x", b"\x0d\0\0\0\0"):  # the last one: field 1, of another wire type
        assert proto.read(b"\x12\x01x" + more) == {"a": 0, "b": "x"}


# fields, a value that does not fit
UNWRITABLE = [
    ("a:int32", 2**31), ("a:int32", "1"), ("a:int32", 1.0), ("a:int32", True), ("a:uint32", -1), ("a:uint32", 2**32),
    ("a:uint64", 2**63), ("a:int64", 2**63), ("a:float", 1e39), ("a:float", 1), ("a:double", Decimal(1)),
    ("a:bool", 1), ("a:string", b"x"), ("a:string", "\ud800"), ("a:bytes", "x"), ("a:Status", "NONE"), ("a:Status", 1),
    ("a:Inner", 5), ("a:Inner", {"id": 5}), ("repeated a:int32", (1,)), ("repeated a:int32", [None]),
    ("repeated a:Inner", [None]), ("repeated a:MEntry", {None: 1}), ("repeated a:MEntry", {"x": "y"}),
    ("repeated a:MEntry", [1]), ("repeated a:MEntry", {1: 1}), ("o/a:int32", 5),
    ("a:google.type.Date", JavaDate(5)), ("a:google.type.Date", JavaDate(-800_000 * DAY)), ("a:google.type.Date", "x"),
    ("a:google.type.TimeOfDay", JavaDate(DAY)), ("a:google.type.TimeOfDay", JavaDate(-1)),
    ("a:google.protobuf.Timestamp", JavaDate(10**15)), ("a:google.protobuf.Timestamp", True),
    ("a:confluent.type.Decimal", 1.5), ("a:confluent.type.Decimal", Decimal("NaN")),
    ("a:confluent.type.Decimal", Decimal("1E+2147483649")),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value"), UNWRITABLE)
def test_values_that_do_not_fit(field, value):
    raw = file(message("M", field, nested=[entry("MEntry", "string", "int32")]), INNER, enums=[STATUS])
    proto = protobuf_of([raw], "M")
    for wrong in ({"o_0" if "/" in field else "a": value}, None, [value]):
        with pytest.raises(DataError, match="SMT440") as caught:
            proto.write(wrong)
        assert "NONE" not in str(caught.value) and "2147483649" not in str(caught.value)


def test_fields_with_the_names_of_the_runtime_s_methods():
    names = ("HasField", "SerializeToString", "FromString", "SetInParent", "DESCRIPTOR", "WhichOneof", "IsInitialized")
    inner = message("Inner", "SetInParent:int32", "from:string", "o/WhichOneof:int32")
    fields = [f"optional {name}:string" for name in names]
    raw = file(message("M", *fields, "add:Inner", "repeated extend:Inner"), inner)
    proto = protobuf_of([raw], "M")
    one = {"o_0": {"WhichOneof": 0}, "SetInParent": 0, "from": "x"}
    value = {**dict.fromkeys(names, "x"), "HasField": None, "add": one, "extend": [one]}
    assert proto.read(proto.write(value)) == value


INDEX_BYTES = [
    ((0,), b"\0"), ((1,), b"\x02\x02"), ((0, 0), b"\x04\0\0"), ((1, 0, 2), b"\x06\x02\0\x04"),
    ((100,), b"\x02\xc8\x01"), ((2**31 - 1,), b"\x02\xfe\xff\xff\xff\x0f"),
]  # fmt: skip


@pytest.mark.parametrize(("indexes", "raw"), INDEX_BYTES)
def test_indexes(indexes, raw):
    assert write_indexes(indexes) == raw
    assert read_indexes(b"\0\0\0\0\1" + raw + b"rest", 5) == (indexes, 5 + len(raw))


def test_the_first_message_may_also_be_written_in_full():
    assert read_indexes(b"\x02\x00", 0) == ((0,), 2)


@pytest.mark.parametrize(
    "raw", [b"", b"\x02", b"\x01", b"\x02\x01", b"\x80" * 5 + b"\1", b"\xff" * 9, b"\x7e\0", b"\x80"]
)
def test_bytes_that_are_no_indexes(raw):
    with pytest.raises(DataError, match="SMT441"):
        read_indexes(raw, 0)
