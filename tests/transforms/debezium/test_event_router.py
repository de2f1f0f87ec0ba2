"""EventRouter: Debezium's own cases (EventRouterTest, JsonSchemaDataTest, the page outbox-event-router), and the edges.

The rows are those of Debezium 3.6.1: ``EventRouterTest`` where a row says nothing else.
"""

import json

import pytest

from dagster_smt.chain import plan_chain
from dagster_smt.errors import ConfigError, PlanError
from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.model.schema import BOOLEAN, Schema, Type, optional
from dagster_smt.model.schema_json import schema_from_json
from dagster_smt.transforms.debezium.event_router import EventRouter
from dagster_smt.transforms.debezium.outbox.json_payload import ExpandJson
from tests.transforms.debezium.events import CREATE, LONG, TEXT, struct, text
from tests.transforms.helpers import Case, chain_of, check, expectation, record_of, refusal, shown

PLACE = "{} transforms.t (EventRouter): {}"
STRING, BYTES, INT = {"type": "string"}, {"type": "bytes"}, {"type": "int32"}
COLUMNS = {
    "id": STRING, "aggregatetype": STRING, "aggregateid": STRING, "type": STRING, "payload": STRING,
    "is_deleted": {"type": "boolean", "optional": True, "default": False},
}  # fmt: skip
ROW = {
    "id": "da8d6de6-3b77-45ff-8f44-57db55a7a06c",
    "aggregatetype": "User",
    "aggregateid": "10711fa5",
    "type": "UserCreated",
    "payload": "{}",
    "is_deleted": False,
}
AT = 1556890294484
TOPIC, HEADERS = {"shows": "topic", "input_part": "value"}, {"shows": "headers", "input_part": "value"}
KEY = {"shows": "key", "input_part": "value"}
PLACES = "table.fields.additional.placement"
EXPAND = {"table.expand.json.payload": "true"}
TOMBSTONES = {"route.tombstone.on.empty.payload": "true"}


def schema_of(columns=None, row=None, event="event.Envelope", **changes):
    images = struct({**COLUMNS, **(columns or {})}, row, True)
    fields = {"before": images, "after": images, "op": STRING, "ts_ms": LONG} | changes
    return struct({name: schema for name, schema in fields.items() if schema is not None}, event)


def outbox(op="c", columns=None, row=None, event="event.Envelope", **values):
    """An event of the fixture's table, with more columns: their schemas, and values of any."""
    results = {**ROW, **values}
    images = {"before": results, "after": None} if op == "d" else {"before": None, "after": results}
    return text(schema_of(columns, row, event), {**images, "op": op, "ts_ms": AT})


def value(payload, schema=STRING):
    return text(schema, payload)


def envelope(payload, name="User", schema=STRING, version=None, **fields):
    """An envelope: the payload, and fields with their schemas and values."""
    kinds = {"payload": schema, **{n: kind for n, (kind, _) in fields.items()}}
    built = struct(kinds, name) | ({"version": version} if version is not None else {})
    return text(built, {"payload": payload, **{n: result for n, (_, result) in fields.items()}})


def headers(**result):
    return json.dumps([{"key": key, "value": value} for key, value in result.items()])


def created():
    return STRING, "UserCreated"


RENAMED = {
    "table.field.event.id": "event_id",
    "table.field.event.key": "event_key",
    "table.field.event.type": "event_type",
    "table.field.event.payload": "payload_body",
    "route.by.field": "my_route_field",
}
OTHER = {"event_id": INT, "event_key": INT, "event_type": STRING, "payload_body": BYTES,
         "my_route_field": STRING, "some_boolean": {"type": "boolean"}}  # fmt: skip
OTHERS = {"event_id": 2, "event_key": 1232, "event_type": "CoolSchemaCreated", "payload_body": "eyJ9",
          "my_route_field": "routename", "some_boolean": True}  # fmt: skip
NANO = {name: {"type": "int64", "optional": True, "name": f"io.debezium.time.{name}"}
        for name in ("Timestamp", "MicroTimestamp", "NanoTimestamp", "Date")}  # fmt: skip
ORDER = (
    '{"id": 1, "lineItems": [{"id": 1, "item": "Debezium in Action", "status": "ENTERED", "quantity": 2, '
    '"totalPrice": 39.98}, {"id": 2, "item": "Debezium for Dummies", "status": "ENTERED", "quantity": 1, '
    '"totalPrice": 29.99}], "orderDate": "2019-01-31T12:13:01", "customerId": 123}'
)
HEARTBEAT = text(struct({"ts_ms": LONG}, "io.debezium.connector.common.Heartbeat"), {"ts_ms": 1})
NO_BYTES = {"columns": {"payload": {**BYTES, "optional": True}}, "payload": None}
NOT_THERE = PLACE.format("SMT102", "there is no field 'x'")
DEBEZIUMS = (
    Case("a tombstone", {}, "null", None),
    Case("a deleted row", {}, outbox("d"), None),
    Case("a changed row", {}, outbox("u"), None),
    Case("a changed row, as an error", {"table.op.invalid.behavior": " ERROR "}, outbox("u"), None),
    refusal("a changed row, fatal", {"table.op.invalid.behavior": "fatal"}, outbox("u"),
            PLACE.format("SMT484", "a row of the outbox was changed")),
    Case("a deleted row, fatal", {"table.op.invalid.behavior": "fatal"}, outbox("d"), None),
    Case("an unnamed schema", {}, text(struct({"x": INT}), {"x": 1}), text(struct({"x": INT}), {"x": 1}), touches=()),
    Case("a heartbeat", {}, HEARTBEAT, HEARTBEAT, touches=()),
    Case("no schema", {}, '{"op":"d","after":null}', '{"op":"d","after":null}', touches=()),
    refusal("a heartbeat that is named as an event", {},
            HEARTBEAT.replace("Heartbeat", "Heartbeat.Envelope"),
            PLACE.format("SMT474", "there is no field 'op', but it must be a string")),
    Case("a message", {}, outbox(), value("{}"), touches=("aggregatetype", "aggregateid", "payload", "ts_ms", "id")),
    Case("its key", {}, outbox(), text(STRING, "10711fa5"), **KEY),
    Case("its topic", {}, outbox(), "outbox.event.User", **TOPIC),
    Case("its header", {}, outbox(), headers(id=ROW["id"]), **HEADERS),
    Case("another key", {"table.field.event.key": "type"}, outbox(), text(STRING, "UserCreated"), **KEY),
    refusal("a key that is not there", {"table.field.event.key": "fakefield"}, outbox(),
            PLACE.format("SMT102", "there is no field 'fakefield'")),
    Case("other columns", {**RENAMED, PLACES: "some_boolean:envelope:bool"}, outbox(columns=OTHER, **OTHERS),
         envelope("eyJ9", "routename", BYTES, bool=({"type": "boolean"}, True))),
    Case("other columns: key", RENAMED, outbox(columns=OTHER, **OTHERS), text(INT, 1232), **KEY),
    Case("other columns: topic", RENAMED, outbox(columns=OTHER, **OTHERS), "outbox.event.routename", **TOPIC),
    Case("other columns: header", RENAMED, outbox(columns=OTHER, **OTHERS), headers(id=2), **HEADERS),
    *(Case(f"version {n}", {"table.field.event.schema.version": "version", PLACES: "type:envelope:eventType"},
           outbox(columns={"version": INT}, version=n), envelope("{}", version=n, eventType=created()))
      for n in (1, 3)),
    Case("a version without an envelope", {"table.field.event.schema.version": "version"},
         outbox(columns={"version": INT}, version=1), value("{}")),
    Case("a field", {PLACES: "type:envelope"}, outbox(), envelope("{}", type=created())),
    Case("a field by another name", {PLACES: "type:envelope:aggregateType"}, outbox(),
         envelope("{}", aggregateType=created())),
    Case("several places",
         {PLACES: "type:envelope:payloadType, aggregateid:Envelope:payloadId,type:header:payloadType"}, outbox(),
         envelope("{}", payloadType=created(), payloadId=(STRING, "10711fa5")),
         touches=("aggregatetype", "aggregateid", "payload", "ts_ms", "id", "payloadType", "payloadId", "payloadType")),
    Case("several places: headers", {PLACES: "type:envelope:t, type:header:payloadType,aggregateid:header"}, outbox(),
         headers(id=ROW["id"], payloadType="UserCreated", aggregateid="10711fa5"), **HEADERS),
    Case("bytes", {}, outbox(columns={"payload": BYTES}, payload="AQID"), value("AQID", BYTES)),
    Case("a number", {}, outbox(columns={"payload": INT}, payload=7), value(7, INT)),
    *(Case(f"payload {payload!r}: no tombstone", {PLACES: "is_deleted:envelope:deleted", **options},
           outbox(payload=payload, is_deleted=True), envelope(payload, deleted=(COLUMNS["is_deleted"], True)))
      for payload, options in (("{}", TOMBSTONES), ("", {}))),
    Case("an empty payload", {PLACES: "is_deleted:envelope:deleted", **TOMBSTONES}, outbox(payload=""), "null"),
    Case("not expanded", {}, outbox(payload=ORDER), value(ORDER)),
    Case("a missing column, left out", {PLACES: "nonExistingField:envelope:alias",
                                        "table.field.additional.missing": "ignore"}, outbox(), envelope("{}")),
    refusal("a missing column", {PLACES: "nonExistingField:envelope:alias"}, outbox(),
            PLACE.format("SMT102", "there is no field 'nonExistingField'")),
    # the page outbox-event-router; it shows the topic and the id of another example
    Case("the page: topic", {}, outbox(aggregatetype="Order", payload=ORDER), "outbox.event.Order", **TOPIC),
    Case("the page: payload", {}, outbox(aggregatetype="Order", payload=ORDER), value(ORDER)),
    # AbstractEventRouterTest
    Case("the name of an envelope", {PLACES: "type:envelope"}, outbox(row="server.public.outbox.Value",
         aggregatetype="UserEmail"), envelope("{}", "server.public.outbox.UserEmail.Value", type=created())),
    Case("the name of an envelope, no dot", {PLACES: "type:envelope"}, outbox(row="Value"),
         envelope("{}", "User.Value", type=created())),
    Case("a null payload in an envelope", {PLACES: "type:envelope"}, outbox(columns={"payload": TEXT}, payload=None),
         envelope(None, schema=TEXT, type=created())),
)  # fmt: skip
EMPTY = (
    *(Case(f"tombstone: {payload!r}", TOMBSTONES, outbox(columns={"payload": TEXT}, payload=payload), "null")
      for payload in (None, "", " \t\x00")),
    Case("no tombstone: a wide blank", TOMBSTONES, outbox(payload="\u00a0"), value("\u00a0")),
    Case("no tombstone: bytes", TOMBSTONES, outbox(columns={"payload": BYTES}, payload=""), value("", BYTES)),
    Case("tombstone: no bytes", TOMBSTONES, outbox(**NO_BYTES), "null"),
    Case("no option: null under the schema of the payload", {}, outbox(columns={"payload": TEXT}, payload=None),
         value(None, TEXT)),
    Case("no option: blank", {}, outbox(payload=" "), value(" ")),
    Case("tombstone of an envelope: no bytes", {PLACES: "type:envelope", **TOMBSTONES},
         outbox(**NO_BYTES), "null"),
    Case("the key of a tombstone", TOMBSTONES, outbox(payload=""), text(STRING, "10711fa5"), **KEY),
)  # fmt: skip
UPPER = {name.upper(): child for name, child in ROW.items()}
ORACLE = text(struct({"after": struct({n.upper(): kind for n, kind in COLUMNS.items()}, None, True), "op": STRING,
                      "ts_ms": LONG}, "event.Envelope"), {"after": UPPER, "op": "c", "ts_ms": AT})  # fmt: skip
DEFAULTS = {"payload": {**TEXT, "default": "none"}, "aggregateid": {**TEXT, "default": "0"}}
EDGES = (
    *(Case(f"operation {op} counts", {}, outbox(op), value("{}")) for op in ("r", "t", "m", "?")),
    Case("defaults", {}, outbox(columns=DEFAULTS, payload=None), value("none", DEFAULTS["payload"])),
    Case("defaults: key", {}, outbox(columns=DEFAULTS, aggregateid=None), text(DEFAULTS["aggregateid"], "0"), **KEY),
    Case("defaults: header", {PLACES: "aggregateid:header"}, outbox(columns=DEFAULTS, aggregateid=None),
         headers(id=ROW["id"], aggregateid="0"), **HEADERS),
    Case("a null key", {}, outbox(columns={"aggregateid": TEXT}, aggregateid=None), text(TEXT, None), **KEY),
    Case("a null header", {"table.fields.additional.placement": "type:header"},
         outbox(columns={"type": TEXT}, type=None),
         headers(id=ROW["id"], type=None), **HEADERS),
    Case("a topic that does not match", {"route.topic.regex": "[a-z]+", "route.topic.replacement": "x"}, outbox(),
         "User", **TOPIC),
    Case("the first find is replaced", {"route.topic.regex": "Us|User", "route.topic.replacement": "x"}, outbox(),
         "xer", **TOPIC),
    Case("Oracle's names", {}, ORACLE, value("{}")),
    Case("Oracle's names: topic", {}, ORACLE, "outbox.event.User", **TOPIC),
    Case("Oracle's names: header", {}, ORACLE, headers(id=ROW["id"]), **HEADERS),
    refusal("Oracle's names: an option that is set", {"table.field.event.payload": "payload"}, ORACLE,
            PLACE.format("SMT102", "there is no field 'payload'")),
    refusal("a null topic", {}, outbox(columns={"aggregatetype": TEXT}, aggregatetype=None),
            PLACE.format("SMT486", "the field 'aggregatetype' is null, but the topic comes from it")),
    refusal("a topic that is no text", {"route.by.field": "n"}, outbox(columns={"n": INT}, n=1),
            PLACE.format("SMT474", "the field 'n' is int32, but it must be a string")),
    refusal("no such group", {"route.topic.regex": ".*", "route.topic.replacement": "$2"}, outbox(),
            PLACE.format("SMT406", "the replacement cannot be used: there is no group 2")),
    refusal("a truncated table", {}, text(schema_of(), {"before": None, "after": None, "op": "t", "ts_ms": AT}),
            PLACE.format("SMT485", "the event has no row after the change")),
    refusal("no operation", {}, text(schema_of(op=TEXT), {"before": None, "after": ROW, "op": None, "ts_ms": AT}),
            PLACE.format("SMT483", "the event has no 'op'")),
    refusal("no rows", {}, text(struct({"op": STRING}, "x.Envelope"), {"op": "c"}),
            PLACE.format("SMT470", "a change event has no field 'after'")),
    refusal("no payload", {"table.field.event.payload": "x"}, outbox(), NOT_THERE),
    refusal("no id", {"table.field.event.id": "x"}, outbox(), NOT_THERE),
    refusal("no column for a header", {PLACES: "x:header"}, outbox(), NOT_THERE),
    refusal("a name twice", {PLACES: "type:envelope:payload"}, outbox(),
            PLACE.format("SMT111", "two fields would be named 'payload'")),
    refusal("a version that is no number", {PLACES: "type:envelope", "table.field.event.schema.version": "type"},
            outbox(), PLACE.format("SMT487", "the field 'type' is string, but it must be int32")),
    refusal("no time of the event", {}, text(schema_of(ts_ms=None), {"before": None, "after": ROW, "op": "c"}),
            PLACE.format("SMT487", "there is no field 'ts_ms', but it must be int64")),
    refusal("no such time", {"table.field.event.timestamp": "x"}, outbox(),
            NOT_THERE),
    refusal("a time of another type", {"table.field.event.timestamp": "type"}, outbox(),
            PLACE.format("SMT487", "the field 'type' is string, but it must be int64")),
    refusal("a time that is none of Debezium's", {"table.field.event.timestamp": "at"},
            outbox(columns={"at": NANO["Date"]}, at=1),
            PLACE.format("SMT488", "the field 'at' is not a Timestamp, MicroTimestamp or NanoTimestamp of Debezium")),
    Case("one that is null", {"table.field.event.timestamp": "at"}, outbox(columns={"at": NANO["Date"]}, at=None),
         value("{}")),
)  # fmt: skip
ITEM = "transforms.t (EventRouter) table.fields.additional.placement: "
CONFIGURED = (
    refusal("a broken expression", {"route.topic.regex": " [[a-z]"}, "null",
            "SMT013 transforms.t (EventRouter) route.topic.regex: the regular expression '[[a-z]' cannot be used: "
            "a class is not closed"),
    refusal("no place", {PLACES: "type"}, "null", f"SMT014 {ITEM}'type' does not have the form "
            "column:place or column:place:name"),
    refusal("no items", {PLACES: ""}, "null", f"SMT014 {ITEM}the list is empty"),
    refusal("another place", {PLACES: "type:footer"}, "null",
            f"SMT014 {ITEM}'type:footer' has the place 'footer', but the places are header, envelope and partition"),
    refusal("a partition of another type", {PLACES: "type:partition"}, outbox(),
            PLACE.format("SMT487", "the field 'type' is string, but it must be int32")),
    refusal("a partition that is not there", {PLACES: "p:partition"}, outbox(),
            PLACE.format("SMT487", "there is no field 'p', but it must be int32")),
    refusal("a negative partition", {PLACES: "p:partition"}, outbox(columns={"p": INT}, p=-1),
            PLACE.format("SMT444", "the value for the partition is not a partition's number")),
    Case("a partition is no part of the message", {PLACES: "p:partition"}, outbox(columns={"p": INT}, p=2),
         value("{}"), touches=("aggregatetype", "aggregateid", "payload", "ts_ms", "id", "p")),
    Case("an absent partition that may be", {PLACES: "p:partition", "table.field.additional.missing": "ignore"},
         outbox(), value("{}")),
    refusal("another behavior", {"table.op.invalid.behavior": "invalidOption"}, "null",
            "SMT013 transforms.t (EventRouter) table.op.invalid.behavior: must be one of: warn, error, fatal"),
    Case("options without effect", {"tracing.span.context.field": "x", "tracing.operation.name": "y",
                                    "tracing.with.context.field.only": "true"}, outbox(), value("{}")),
)  # fmt: skip


@pytest.mark.parametrize("case", [*DEBEZIUMS, *EMPTY, *EDGES, *CONFIGURED], ids=lambda case: case.title)
def test_event_router(case):
    check(EventRouter, case)


def run(options, source):
    record = record_of(source)
    outcome = Interpreter(chain_of(EventRouter, options)).run(record)
    assert outcome.status == 0, outcome.problem
    return record


@pytest.mark.parametrize(
    ("name", "stored", "expected"),
    [
        (None, None, AT),
        ("Timestamp", 14222264625338, 14222264625338),
        ("MicroTimestamp", 1553460779000999, 1553460779000),
        ("MicroTimestamp", -1, 0),
        ("NanoTimestamp", -1_999_999, -1),
        ("NanoTimestamp", None, AT),
    ],
)
def test_the_timestamp(name, stored, expected):
    options = {"table.field.event.timestamp": "at"} if name else {}
    source = outbox(columns={"at": NANO[name]}, at=stored) if name else outbox()
    assert run(options, source).timestamp == expected


def test_null_in_a_required_payload_is_refused_though_a_tombstone_would_follow():
    record = record_of(outbox())
    record.value["after"]["payload"] = None
    outcome = Interpreter(chain_of(EventRouter, {PLACES: "type:envelope", **TOMBSTONES})).run(record)
    assert (outcome.problem.code, outcome.problem.statement) == ("SMT401", "null in the required field 'payload'")


def kinds(schema):
    """A schema as nested names of types; structs with their names."""
    if schema.type is Type.STRUCT:
        return schema.name, {name: kinds(child) for name, child in schema.fields}
    return [kinds(schema.values)] if schema.type is Type.ARRAY else schema.type.value


PETS = '[{"type": "dog"}, {"type": "cat"}]'
# (payload, what its schema is, its values)
EXPANDED = (
    ('{"fullName": "John Doe", "enabled": true, "rating": 4.9, "age": 42, "pets": ["dog", "cat"], "petObjects": ' + PETS
     + "}", {"fullName": "string", "enabled": "boolean", "rating": "double", "age": "int32", "pets": ["string"],
             "petObjects": [("payload.petObjects", {"type": "string"})]},
     {"fullName": "John Doe", "enabled": True, "rating": 4.9, "age": 42, "pets": ["dog", "cat"],
      "petObjects": json.loads(PETS)}),
    ('{"fullName": "John Doe", "petObjects": [{"type": "dog", "colors": []}, {"type": "cat", "colors": '
     '[{"name": "white"}]}]}', {"fullName": "string", "petObjects": [("payload.petObjects", {
         "type": "string", "colors": [("payload.petObjects.colors", {"name": "string"})]})]},
     {"fullName": "John Doe", "petObjects": [{"type": "dog", "colors": []},
                                             {"type": "cat", "colors": [{"name": "white"}]}]}),
    ('{"fullName": "John Doe", "petObjects": [{"type": "dog", "colors": []}]}',
     {"fullName": "string", "petObjects": [("payload.petObjects", {"type": "string"})]},
     {"fullName": "John Doe", "petObjects": [{"type": "dog"}]}),
    ('{"fullName": "John Doe", "numbers": [null, 2, 3]}', {"fullName": "string", "numbers": ["int32"]},
     {"fullName": "John Doe", "numbers": [None, 2, 3]}),
    ('{"a": {"b": {"c": 1}}, "d": {}}', {"a": ("payload.a", {"b": ("payload.a.b", {"c": "int32"})}),
                                         "d": ("payload.d", {})}, {"a": {"b": {"c": 1}}, "d": {}}),
    ('{"i": 2147483647, "l": -2147483649, "x": 1e3, "z": 1.0}',
     {"i": "int32", "l": "int64", "x": "double", "z": "double"},
     {"i": 2**31 - 1, "l": -(2**31) - 1, "x": 1e3, "z": 1.0}),
    ('{"a": 1, "a": "x"} and more', {"a": "string"}, {"a": "x"}),
    ('{"n": null, "e": []}', {}, {}),
    ('{"a": [[1], [], null]}', {"a": [["int32"]]}, {"a": [[1], [], None]}),
    ('{"a": [[{"b": 1}]]}', {"a": [[(None, {"b": "int32"})]]}, {"a": [[{"b": 1}]]}),
    ('{"a": [{"b": {"c": 1}}, {"b": {"d": [2]}}, {"e": true}]}',
     {"a": [("payload.a", {"b": ("payload.a.b", {"c": "int32", "d": ["int32"]}), "e": "boolean"})]},
     {"a": [{"b": {"c": 1, "d": None}, "e": None}, {"b": {"c": None, "d": [2]}, "e": None}, {"b": None, "e": True}]}),
)  # fmt: skip
PASSED = (
    "", "text", ' {"a": 1}', "[1]", "[]", '[{"a": 1}]', "{", "{a: 1}", '{"a": 01}', '{"a": NaN}', '{"": 1}',
    '{"a": [1, 2.0]}', '{"a": [1, "x"]}', '{"a": [1, 3000000000]}', '{"a": [null]}', '{"a": [[], [1]]}',
    '{"a": 12345678901234567890}', '{"a": [{"b": 1}, {"b": "x"}]}', '{"a": [{"b": 1}, {"b": 3000000000}]}',
    '{"a": [[1], ["x"]]}', '{"a": [{"b": 1}, {"c": 1}, null]}', '{"a": "\\ud800"}', '{"a": ' * 100_000,
)  # fmt: skip


@pytest.mark.parametrize(("payload", "schema", "result"), EXPANDED)
def test_json_becomes_a_struct(payload, schema, result):
    record = run(EXPAND, outbox(payload=payload))
    assert record.value == result
    assert kinds(record.value_schema) == ("payload", schema)
    assert record.value_schema.optional and record.touched >> 5 & 1


@pytest.mark.parametrize("payload", PASSED)
def test_what_is_no_object_stays_a_text(payload):
    record = run(EXPAND, outbox(payload=payload))
    assert (record.value, record.value_schema) == (payload, Schema(Type.STRING))
    assert not record.touched >> 5 & 1


def test_json_in_an_envelope():
    record = run({**EXPAND, PLACES: "type:envelope"}, outbox(payload='{"fullName": "John Doe"}'))
    inner = struct({"fullName": TEXT}, "payload", True)
    expected = envelope({"fullName": "John Doe"}, schema=inner, type=created())
    assert shown(record, "value") == expectation(expected, "value")


def test_json_that_is_no_text_and_no_json():
    assert run(EXPAND, outbox(columns={"payload": INT}, payload=7)).value == 7
    empty = outbox(columns={"payload": TEXT}, payload=None)
    assert run({**EXPAND, **TOMBSTONES}, empty).value_schema is None
    assert run({**EXPAND, **TOMBSTONES}, outbox(payload=" ")).value is None
    assert run(EXPAND, outbox(columns={"payload": {**TEXT, "default": '{"a":1}'}}, payload=None)).value == {"a": 1}


NULLS = {**EXPAND, "table.json.payload.null.behavior": "optional_bytes"}
ADJUSTED = {**EXPAND, "field.name.adjustment.mode": "avro"}


@pytest.mark.parametrize(
    ("options", "payload", "schema", "result"),
    [
        (NULLS, '{"a": null, "b": [null]}', {"a": "bytes", "b": ["bytes"]}, {"a": None, "b": [None]}),
        (NULLS, '{"a": [{"b": null}, {"b": "x"}]}', {"a": [("payload.a", {"b": "string"})]},
         {"a": [{"b": None}, {"b": "x"}]}),
        (NULLS, '{"a": [{"b": 1}, {"b": null}]}', {"a": [("payload.a", {"b": "int32"})]},
         {"a": [{"b": 1}, {"b": None}]}),
        (EXPAND, '{"a": [{"b": null}, {"b": "x"}, {}]}', {"a": [("payload.a", {"b": "string"})]},
         {"a": [{"b": None}, {"b": "x"}, {"b": None}]}),
        (ADJUSTED, '{"test$": 1, "a.b": {"1": 2}}', {"test_": "int32", "a_b": ("payload.a_b", {"_1": "int32"})},
         {"test_": 1, "a_b": {"_1": 2}}),
        (ADJUSTED, '{"a$": null, "a_": 1, "a-": 2}', {"a_": "int32"}, {"a_": 1}),
        ({**EXPAND, "field.name.adjustment.mode": "avro_unicode"}, '{"a_b": 1}', {"a_u005fb": "int32"},
         {"a_u005fb": 1}),
    ],
)  # fmt: skip
def test_nulls_and_names_in_json(options, payload, schema, result):
    record = run(options, outbox(payload=payload))
    assert (kinds(record.value_schema), record.value) == (("payload", schema), result)


def test_records_of_other_forms_have_equal_schemas():
    """EventRouterTest.canExpandJSONPayloadWithNestedArrays: one or two entries, ``adr`` null."""
    one = '{"attributes": [{"eans": [{"ean": "1"}], "adr": null}]}'
    two = '{"attributes": [{"eans": [{"ean": "1"}, {"ean": "2"}], "adr": null}]}'
    interpreter = Interpreter(chain_of(EventRouter, EXPAND))
    schemas = []
    for payload in (one, two):
        record = record_of(outbox(payload=payload))
        interpreter.run(record)
        schemas.append(record.value_schema)
    assert schemas[0] == schemas[1]


def test_names_of_structs():
    """JsonSchemaDataTest: restaurants5.json."""
    schema = ExpandJson("pub").schema('{"address": {"floor": {"n": 1}}, "grades": [{"date": {"x": 2}, "score": 1}]}')
    inside = {"date": ("pub.grades.date", {"x": "int32"}), "score": "int32"}
    floor = {"floor": ("pub.address.floor", {"n": "int32"})}
    assert kinds(schema) == ("pub", {"address": ("pub.address", floor), "grades": [("pub.grades", inside)]})
    assert schema.by_name["grades"].values.optional


def test_every_event_counts_by_itself():
    """The original gives the second value the name of the first one, and versions their first schema (decision 13)."""
    options = {PLACES: "type:envelope", "table.field.event.schema.version": "version"}
    interpreter, results = Interpreter(chain_of(EventRouter, options)), []
    for route, version in (("User", 1), ("Order", 1), ("Order", None), ("User", 1)):
        record = record_of(outbox(columns={"version": {**INT, "optional": True}}, aggregatetype=route, version=version))
        record.value_schema = results[0][0] if results else record.value_schema
        source = record.value_schema
        assert interpreter.run(record).status == 0
        results.append((source, record.value_schema))
    assert [(s.name, s.version) for _, s in results] == [("User", 1), ("Order", 1), ("Order", None), ("User", 1)]
    assert results[0][1] is results[3][1]


def test_old_headers_come_first():
    record = record_of(outbox())
    record.headers = record_of('[{"key":"id","value":"old"}]', "headers").headers
    assert Interpreter(chain_of(EventRouter, {})).run(record).status == 0
    assert [(h.key, h.value) for h in record.headers] == [("id", "old"), ("id", ROW["id"])]


MODEL = schema_from_json(schema_of(row="server.public.outbox.Value"))


def test_columns_cannot_follow_json():
    with pytest.raises(PlanError, match=r"SMT476 .*: the schema of each record depends on its JSON"):
        plan_chain(chain_of(EventRouter, EXPAND), None, MODEL, typed=True)


def test_the_plan_knows_the_columns_and_where_they_come_from():
    chain = chain_of(EventRouter, {PLACES: "is_deleted:envelope:gone,tipe:header", "table.field.additional.missing":
                                   "ignore"})  # fmt: skip
    plan = plan_chain(chain, None, MODEL, typed=True)
    (warning,) = plan.warnings
    assert warning.statement == "no record can have the field 'tipe'" and "type" in warning.hint
    assert plan.lineage == {"payload": ("value.after.payload",), "gone": ("value.after.is_deleted",)}
    assert plan.after.fields[1] == ("gone", optional(BOOLEAN).with_(default=False))
    assert plan.after.name == "server.public.outbox.Value"


def test_values_are_in_no_message():
    record = record_of(outbox(columns={"aggregatetype": TEXT}, aggregatetype=None, payload="4711"))
    assert "4711" not in str(Interpreter(chain_of(EventRouter, {})).run(record).problem)


def test_a_row_is_no_event():
    assert run({}, CREATE.replace("dummy.Envelope", "dummy.Row")).touched == 0


def test_all_places_that_are_none_are_told_at_once():
    with pytest.raises(ConfigError) as raised:
        chain_of(EventRouter, {PLACES: "a:header,b:footer,c:partition,d"})
    assert [p.statement.split("'")[1] for p in raised.value.problems] == ["b:footer", "d"]


OPTIONAL = {**INT, "optional": True}
PARTITIONS = [  # EventRouterTest: canSetPartition; EventRouterDelegate: without a placement the new record has none
    ({}, {}, {}, None),
    ({PLACES: "p:partition"}, {"p": INT}, {"p": 2}, 2),
    ({PLACES: "p:PARTITION:name"}, {"p": INT}, {"p": 0}, 0),
    ({PLACES: "p:partition"}, {"p": OPTIONAL}, {"p": None}, None),
    ({PLACES: "p:partition"}, {"p": {**OPTIONAL, "default": 7}}, {"p": None}, 7),
    ({PLACES: "p:partition,q:partition"}, {"p": INT, "q": INT}, {"p": 2, "q": 3}, 3),
]


@pytest.mark.parametrize(("options", "columns", "values", "partition"), PARTITIONS)
def test_a_column_chooses_the_partition(options, columns, values, partition):
    record = run(options, outbox(columns=columns, **values))
    assert (record.partition, record.target_partition) == (partition, partition)
    assert run(options, CREATE.replace("dummy.Envelope", "dummy.Row")).partition == 0  # no event: as it was
