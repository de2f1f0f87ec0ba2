"""Protobuf that a registry gives as text: the same descriptors, schemas and values as of its serialized form."""

import base64
from importlib import import_module
from importlib.resources import files

import pytest
from google.protobuf import descriptor_pb2 as pb
from google.protobuf import message_factory

from dagster_smt.errors import ConfigError, DataError, EngineError
from dagster_smt.formats.protobuf import text as protobuf_text
from dagster_smt.formats.protobuf.files import message_of, pool_of
from dagster_smt.formats.protobuf.read import protobuf_of
from dagster_smt.formats.protobuf.text import proto_files
from dagster_smt.formats.registry.client import no_protoc
from dagster_smt.formats.sides import side_codec
from dagster_smt.model.topics.format import Format
from dagster_smt.run.spark_failures import coded_failures
from tests.registry import Registry

OPTIONAL, REQUIRED, REPEATED = 1, 2, 3
DOUBLE, INT64, INT32, BOOL, STRING, MESSAGE, BYTES, ENUM = 1, 3, 5, 8, 9, 11, 12, 14


def field(name, number, kind, label=OPTIONAL, **more):
    """A field; a kind that is a text is a message's name, or an enum's after ``enum``."""
    types = {"type": kind}
    if isinstance(kind, str):
        word, _, of = kind.rpartition(" ")
        types = {"type": ENUM if word else MESSAGE, "type_name": of}
    return pb.FieldDescriptorProto(name=name, number=number, label=label, **types, **more)


def file(*messages, name="default", syntax="proto3", package="shop", **more):
    """A file as a registry serializes it: every one is called ``default``."""
    return pb.FileDescriptorProto(
        name=name,
        package=package or None,
        message_type=messages,
        syntax=None if syntax == "proto2" else syntax,
        **more,
    )


def entry(name, key, value):
    """The entry that a map's field is made of."""
    fields = [field("key", 1, key), field("value", 2, value)]
    return pb.DescriptorProto(name=name, field=fields, options=pb.MessageOptions(map_entry=True))


def enum(name, *symbols):
    values = [pb.EnumValueDescriptorProto(name=symbol, number=number) for number, symbol in enumerate(symbols)]
    return pb.EnumDescriptorProto(name=name, value=values)


def message(name, *fields, **more):
    return pb.DescriptorProto(name=name, field=fields, **more)


POINT = 'syntax = "proto3"; package geo; message Point { double x = 1; }'
POINT_FILE = file(message("Point", field("x", 1, DOUBLE)), package="geo")
ROUTE = 'syntax = "proto3"; package geo; import public "geo/point.proto"; message Route { repeated Point points = 1; }'
ROUTE_FILE = file(
    message("Route", field("points", 1, ".geo.Point", REPEATED)),
    package="geo", dependency=["geo/point.proto"], public_dependency=[0],
)  # fmt: skip
PAIR = message("Pair", field("a", 1, INT32))
CASES = {
    "scalars": (
        'syntax = "proto3"; package shop; message Order { int64 id = 1; string name = 2; bytes raw = 3; bool b = 4; }',
        file(message("Order", field("id", 1, INT64), field("name", 2, STRING), field("raw", 3, BYTES),
                     field("b", 4, BOOL))),
        {"id": 7, "name": "ann", "raw": b"\xff", "b": True},
    ),
    "nested types": (
        'syntax = "proto3"; package shop; message Order { message Line { message Part { int32 n = 1; } Part p = 1; } '
        "repeated Line lines = 3; }",
        file(message("Order", field("lines", 3, ".shop.Order.Line", REPEATED), nested_type=[
            message("Line", field("p", 1, ".shop.Order.Line.Part"), nested_type=[message("Part", field("n", 1, INT32))])
        ])),
        {"lines": [{"p": {"n": 5}}, {}]},
    ),
    "a oneof": (
        'syntax = "proto3"; package shop; message Order { oneof pay { string card = 4; int32 cash = 2; } '
        "int32 z = 1; }",
        file(message("Order", field("card", 4, STRING, oneof_index=0), field("cash", 2, INT32, oneof_index=0),
                     field("z", 1, INT32), oneof_decl=[pb.OneofDescriptorProto(name="pay")])),
        {"cash": 3, "z": 1},
    ),
    "optional of proto3": (
        'syntax = "proto3"; package shop; message Order { optional int32 a = 1; }',
        file(message("Order", field("a", 1, INT32, oneof_index=0, proto3_optional=True),
                     oneof_decl=[pb.OneofDescriptorProto(name="_a")])),
        {},
    ),
    "maps": (
        'syntax = "proto3"; package shop; message Pair { int32 a = 1; } '
        "message Order { map<string, int64> n = 1; map<int32, Pair> p = 2; }",
        file(PAIR, message("Order", field("n", 1, ".shop.Order.NEntry", REPEATED),
                           field("p", 2, ".shop.Order.PEntry", REPEATED),
                           nested_type=[entry("NEntry", STRING, INT64), entry("PEntry", INT32, ".shop.Pair")])),
        {"n": {"x": 1}, "p": {4: {"a": 1}}},
    ),
    "enums": (
        'syntax = "proto3"; package shop; enum Color { RED = 0; BLUE = 1; } '
        "message Order { enum State { NEW = 0; DONE = 1; } State s = 1; repeated Color c = 2; }",
        file(message("Order", field("s", 1, "enum .shop.Order.State"), field("c", 2, "enum .shop.Color", REPEATED),
                     enum_type=[enum("State", "NEW", "DONE")]), enum_type=[enum("Color", "RED", "BLUE")]),
        {"s": 1, "c": [0, 1]},
    ),
    "defaults of proto2": (
        'syntax = "proto2"; package shop; message Order { required int32 id = 1; optional string n = 2 '
        '[default = "none"]; optional double d = 3 [default = 0.5]; repeated int32 p = 4 [packed = true]; }',
        file(message("Order", field("id", 1, INT32, REQUIRED), field("n", 2, STRING, default_value="none"),
                     field("d", 3, DOUBLE, default_value="0.5"),
                     field("p", 4, INT32, REPEATED, options=pb.FieldOptions(packed=True))), syntax="proto2"),
        {"id": 1, "p": [1, 2]},
    ),
    "no syntax is proto2": (
        "package shop; message Order { optional int32 a = 1; }",
        file(message("Order", field("a", 1, INT32)), syntax="proto2"),
        {},
    ),
    "no package, a comment, single quotes": (
        "syntax = 'proto3'; // import \"gone.proto\";\nmessage Order { /* { */ int32 a = 1; }",
        file(message("Order", field("a", 1, INT32)), package=""),
        {"a": 9},
    ),
}  # fmt: skip
KNOWN = 'syntax = "proto3"; package shop; import "{}"; message Order {{ {} when = 1; }}'
for path, name, value in (
    ("google/protobuf/timestamp.proto", "google.protobuf.Timestamp", {"seconds": 5}),
    ("google/type/date.proto", "google.type.Date", {"year": 2024, "month": 2, "day": 29}),
    ("google/type/timeofday.proto", "google.type.TimeOfDay", {"hours": 3}),
    ("confluent/type/decimal.proto", "confluent.type.Decimal", {"value": b"\x05"}),
    ("google/type/money.proto", "google.type.Money", {"units": 4}),
    ("google/type/datetime.proto", "google.type.DateTime", {"year": 4}),
    ("google/protobuf/wrappers.proto", "google.protobuf.Int32Value", {"value": 4}),
):
    order_file = file(message("Order", field("when", 1, f".{name}")), dependency=[path])
    CASES[f"imports {path}"] = KNOWN.format(path, name), order_file, {"when": value}


def base64_of(result):
    return base64.b64encode(result.SerializeToString()).decode()


def same(one, other):
    """Whether two files say the same, what they are called aside; ``protoc`` adds what JSON calls a field."""
    return bare(one) == bare(other)


def bare(built, *, name=False):
    result = pb.FileDescriptorProto.FromString(built if isinstance(built, bytes) else built.SerializeToString())
    result.ClearField("options")
    if not name:
        result.ClearField("name")
    waiting = list(result.message_type)
    for one in result.extension:
        one.ClearField("json_name")
    while waiting:
        one = waiting.pop()
        waiting += one.nested_type
        for part in (*one.field, *one.extension):
            part.ClearField("json_name")
    return result


@pytest.mark.parametrize("case", CASES)
def test_text_is_what_its_serialized_form_is(case):
    text, result, value = CASES[case]
    (raw,), (expected,) = proto_files(text), proto_files(base64_of(result))
    assert same(raw, result) and expected == result.SerializeToString(deterministic=True)
    name = f"{result.package}.Order".lstrip(".")
    one, other = (protobuf_of([each], name) for each in (raw, expected))
    assert one.schema == other.schema
    pool, parsed = pool_of([expected], "here")
    data = message_factory.GetMessageClass(message_of(pool, parsed, name, "here"))(**value).SerializeToString()
    assert one.read(data) == other.read(data)


LINE = 'syntax = "proto3"; package shop; import "geo/route.proto"; message Line { geo.Route r = 1; geo.Point p = 2; }'
LINE_FILE = file(message("Line", field("r", 1, ".geo.Route"), field("p", 2, ".geo.Point")),
                 dependency=["geo/route.proto"])  # fmt: skip
POINTS, ROUTES = (POINT, base64_of(POINT_FILE)), (ROUTE, base64_of(ROUTE_FILE))


@pytest.mark.parametrize("line", [LINE, base64_of(LINE_FILE)], ids=["text", "serialized"])
@pytest.mark.parametrize("route", ROUTES, ids=["text", "serialized"])
@pytest.mark.parametrize("point", POINTS, ids=["text", "serialized"])
def test_references_are_imported_by_their_names_in_whatever_form_they_come(point, route, line):
    result = proto_files(line, [("geo/point.proto", point), ("geo/route.proto", route)])
    assert [same(*each) for each in zip(result, (POINT_FILE, ROUTE_FILE, LINE_FILE), strict=True)] == [True] * 3
    assert [bare(each, name=True).name for each in result[:2]] == ["geo/point.proto", "geo/route.proto"]
    assert protobuf_of(result, (0,)).read(b"\x0a\x0b\x0a\x09\x09" + bytes(8)) == {
        "r": {"points": [{"x": 0.0}]},
        "p": None,
    }


def test_a_registry_that_gives_text_and_one_that_gives_descriptors():
    data = b"\x12\x09\x09\0\0\0\0\0\0\xf8\x3f"
    read = []
    for forms in ((POINT, ROUTE, LINE), map(base64_of, (POINT_FILE, ROUTE_FILE, LINE_FILE))):
        with Registry() as registry:
            point, route, line = forms
            registry.add("point", point, kind="PROTOBUF")
            to_point = {"name": "geo/point.proto", "subject": "point", "version": 1}
            registry.add("route", route, [to_point], "PROTOBUF")
            to_route = {"name": "geo/route.proto", "subject": "route", "version": 1}
            number = registry.add("orders-value", line, [to_route], "PROTOBUF")
            codec = side_codec(Format("protobuf-confluent", options={"url": registry.url}))
            read.append(codec.read(b"\0" + number.to_bytes(4, "big") + b"\0" + data))
    assert read[0] == read[1] and read[0][1] == {"r": None, "p": {"x": 1.5}}


PUBLISHED = [
    *(f"google/protobuf/{name}.proto" for name in "any api duration empty field_mask struct type".split()),
    *(f"google/type/{name}.proto" for name in "color date datetime expr interval latlng money phone_number".split()),
]


@pytest.mark.parametrize("path", PUBLISHED)
def test_the_texts_that_google_publishes_are_its_descriptors(path):
    """Nobody here has made them: the texts come with protoc and googleapis-common-protos, the descriptors with both."""
    package = "grpc_tools._proto" if "/protobuf/" in path else "google"
    text = files(package).joinpath(path if "/protobuf/" in path else path.removeprefix("google/")).read_text()
    module = import_module(path.removesuffix(".proto").replace("/", ".") + "_pb2")
    expected = pb.FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)
    (result,) = proto_files(text)
    assert same(result, expected)


def test_what_confluents_options_say_of_a_field():
    text = (
        'syntax = "proto3"; import "confluent/meta.proto"; import "confluent/type/decimal.proto"; message Order { '
        'confluent.type.Decimal price = 1 [(confluent.field_meta) = { doc: "d", params: [ '
        '{ key: "scale", value: "2" }, { key: "precision", value: "8" } ], tags: ["PII"] }]; '
        'option (confluent.message_meta).doc = "an order"; }'
    )
    price = protobuf_of(proto_files(text), (0,)).schema.by_name["price"]
    assert (price.logical, price.scale) == ("Decimal", 2)
    assert dict(price.parameters)["connect.decimal.precision"] == "8"


BROKEN = {
    "message {": r"schema\.proto:1:9: Expected message name",
    'syntax = "proto3"; message Order { Nothing n = 1; }': r'schema\.proto:1:\d+: "Nothing" is not defined',
    'syntax = "proto3"; import "gone.proto"; message Order {}': r'Import "gone\.proto" was not found',
    'syntax = "proto3"; import "../../../etc/hosts"; message Order {}': r"schema\.proto:1:\d+: Import",
    'syntax = "proto3"; import "/etc/hosts"; message Order {}': r"schema\.proto:1:\d+: Import",
    'syntax = "proto9";': "proto9",
    'syntax = "proto3"; message Order { int32 a = 1; int32 b = 1; }': "Field number 1 has already been used",
    "\ud800": "cannot be stored",
}


@pytest.mark.parametrize("text", BROKEN)
def test_texts_that_are_no_protobuf(text):
    with pytest.raises(ConfigError, match="SMT273 schema 5: " + ".*" + BROKEN[text]) as caught:
        proto_files(text, place="schema 5")
    assert "/tmp" not in str(caught.value) and str(caught.value).count("\n") == 1


@pytest.mark.parametrize(
    "name", ["../x.proto", "/x.proto", "a//b.proto", "a/./b.proto", "a/..", "..", "a\\b", "a\0b", ""]
)
def test_names_of_references_stay_in_their_folder(name):
    with pytest.raises(ConfigError, match=r"SMT273.*is not a file's name"):
        proto_files(LINE, [(name, POINT)])


@pytest.mark.parametrize("name", ["-x.proto", "@x.proto", "schema.proto", "grpc_tools/protoc.py", "a b.proto", "a..b"])
def test_names_of_references_are_nothing_but_names(name):
    result = proto_files(f'syntax = "proto3"; import "{name}"; message Order {{ geo.Point p = 1; }}', [(name, POINT)])
    assert list(protobuf_of(result, (0,)).schema.by_name) == ["p"]


def test_a_reference_whose_folder_is_another_ones_file():
    with pytest.raises(ConfigError, match=r"SMT273.*cannot be stored"):
        proto_files(LINE, [("a", POINT), ("a/b", ROUTE)])


def test_a_broken_text_is_a_fault_of_the_records_that_name_it_and_shows_none_of_them():
    with Registry() as registry:
        number = registry.add("orders-value", "message {", kind="PROTOBUF")
        codec = side_codec(Format("protobuf-confluent", options={"url": registry.url}))
        for _ in range(2):
            with pytest.raises(DataError, match=r"SMT273 schema 1: .*Expected message name") as caught:
                codec.read(b"\0" + number.to_bytes(4, "big") + b"\0\x0a\x0dsecret-value")
            assert "secret" not in str(caught.value)
        assert registry.asked == [number]


def test_protoc_runs_once_for_a_text(monkeypatch):
    ran = []
    run = protobuf_text._protoc
    monkeypatch.setattr(protobuf_text, "_protoc", lambda *arguments: ran.append(1) or run(*arguments))
    for _ in range(3):
        proto_files('syntax = "proto3"; message Once { int32 a = 1; }')
    assert len(ran) == 1


def test_without_protoc_the_run_ends_and_says_what_to_install(monkeypatch):
    monkeypatch.setattr(protobuf_text, "find_spec", lambda name: None)
    with pytest.raises(EngineError, match=r"SMT637 protobuf-confluent: .*text") as caught:
        proto_files('syntax = "proto3"; message Absent {}')
    assert "dagster_smt[protoc]" in str(caught.value)
    assert proto_files(base64_of(POINT_FILE))  # what is serialized needs none


def test_a_worker_of_spark_passes_the_problem_on_as_data():
    from pyspark.errors import PythonException

    from dagster_smt.spark.workers import WorkerError

    error = no_protoc()
    text = f"Traceback ...\ndagster_smt.spark.workers.WorkerError: {WorkerError(error)}\n\tat java.lang.Thread.run"
    with pytest.raises(EngineError) as caught, coded_failures("a run"):
        raise PythonException(text)
    assert caught.value.problems == error.problems
    words = f"Traceback ...\ndagster_smt.errors.EngineError: {error}"
    with pytest.raises(EngineError, match="SMT620"), coded_failures("a run"):  # nobody parses words
        raise PythonException(words)
