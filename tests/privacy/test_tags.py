"""Tags: of contracts, of schemas of Avro, JSON Schema and Protobuf, and of a registry."""

import base64
import json

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet

from dagster_smt.errors import ConfigError, DataError, EngineError
from dagster_smt.formats.protobuf.files import field_options
from dagster_smt.model.topics.format import Format
from dagster_smt.privacy.applied_policy import Subject, apply_policy
from dagster_smt.privacy.policy import policy_of
from dagster_smt.privacy.schema_tags import avro_fields, json_fields, protobuf_fields
from dagster_smt.privacy.tags import Tag, read_contract
from tests.registry import Registry

TAGGED = "confluent:tags"


def tags_of(fields):
    from dagster_smt.privacy.field_paths import text_of

    return {text_of(field.steps): field.tags for field in fields}


@pytest.mark.parametrize(
    ("tag", "pattern", "matches"),
    [
        ("PII.email", "PII.*", True),
        ("PII", "PII.*", True),
        ("PIIX", "PII.*", False),
        ("pii.Email", "PII.email", True),
        ("PII.email.work", "PII.*", True),
        ("PII.email", "PII", False),
        ("x", "*", True),
    ],
)
def test_a_rule_means_tags(tag, pattern, matches):
    assert Tag(tag).matches(pattern) is matches


CONTRACT = """
apiVersion: v3.0.2
kind: DataContract
schema:
  - name: orders_table
    physicalName: shop.orders
    properties:
      - {name: id, logicalType: integer}
      - {name: email, classification: restricted, tags: [PII.email]}
      - name: address
        logicalType: object
        properties:
          - {name: street, tags: [PII.address]}
          - {name: country}
      - name: items
        logicalType: array
        items:
          logicalType: object
          properties: [{name: note, classification: confidential}]
"""


def test_a_contract_tags_properties_by_tags_and_classification(tmp_path):
    (tmp_path / "c.yaml").write_text(CONTRACT, encoding="utf-8")
    (topic,) = read_contract(tmp_path / "c.yaml")
    assert topic.matches("shop.orders") and not topic.matches("shopXorders")
    assert {field.path: [tag.name for tag in field.tags] for field in topic.fields} == {
        "id": [],
        "email": ["PII.email", "classification.restricted"],
        "address.street": ["PII.address"],
        "address.country": [],
        "items[*].note": ["classification.confidential"],
    }
    assert not any(field.decided for field in topic.fields), "a property without a tag is not decided"


@pytest.mark.parametrize("text", ["apiVersion: v2.2.2\nschema: []", "schema: []", "x", "apiVersion: v3.0.0"])
def test_other_files_are_no_contracts(tmp_path, text):
    (tmp_path / "c.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="SMT762"):
        read_contract(tmp_path / "c.yaml")


def record(name, *fields, **more):
    return {"type": "record", "name": name, "fields": [dict(field) for field in fields], **more}


def one(name, type_, *tags):
    return {"name": name, "type": type_, **({TAGGED: list(tags)} if tags else {})}


PERSON = record("Person", one("name", "string", "PII.name"), one("age", "int"), namespace="shop")
AVRO = [
    (
        "plain",
        record("R", one("id", "long"), one("mail", ["null", "string"], "PII.email")),
        {"id": (), "mail": ("PII.email",)},
    ),
    (
        "nested, in arrays and maps, by name",
        record(
            "R",
            one("buyer", ["null", PERSON]),
            one("all", {"type": "array", "items": "shop.Person"}),
            one("by", {"type": "map", "values": ["null", "Person"]}),
            namespace="shop",
        ),
        {
            "buyer": (),
            "buyer.name": ("PII.name",),
            "buyer.age": (),
            "all": (),
            "all[*].name": ("PII.name",),
            "all[*].age": (),
            "by": (),
            "by[*].name": ("PII.name",),
            "by[*].age": (),
        },
    ),
    (
        "a union of several types has the tags inside",
        record("R", one("u", ["null", "string", PERSON])),
        {"u": ("PII.name",)},
    ),
    ("tags of a record mean its fields", {**record("R", one("a", "string")), TAGGED: ["PII"]}, {"a": ("PII",)}),
    (
        "a record in itself ends",
        record("R", one("a", "string", "X"), one("next", ["null", "R"])),
        {"a": ("X",), "next": ()},
    ),
    ("an array of texts", record("R", one("l", {"type": "array", "items": "string"}, "PII")), {"l": ("PII",)}),
    (
        "a namespace that is null is the one around it",
        record(
            "R",
            one("a", {"type": "array", "items": record("P", one("mail", "string", "PII"), namespace=None)}),
            one("b", "shop.P"),
            namespace="shop",
        ),
        {"a": (), "a[*].mail": ("PII",), "b": (), "b.mail": ("PII",)},
    ),
    ("no record", "string", {}),
]


@pytest.mark.parametrize(("title", "schema", "tags"), AVRO, ids=[case[0] for case in AVRO])
def test_tags_of_avro(title, schema, tags):
    assert tags_of(avro_fields(json.dumps(schema))) == tags


NAMES = [
    # the name, the namespaces of the known types Person and the namespace whose type it means
    ("Person", ("", "shop"), "shop"),
    ("Person", ("", "other"), ""),
    ("shop.Person", ("shop.shop", "shop"), "shop"),
]


@pytest.mark.parametrize(("name", "spaces", "meant"), NAMES)
@pytest.mark.parametrize("form", [lambda name: name, lambda name: {"type": name}, lambda name: ["null", name]])
def test_a_name_in_avro_means_the_type_in_its_namespace_first(name, spaces, meant, form):
    """As in Avro's Java library: `Schema.Names.get`."""
    types = [record("Person", one("mail", "string", f"PII.{space}"), namespace=space) for space in spaces]
    schema = record("R", one("buyer", form(name)), namespace="shop")
    assert tags_of(avro_fields(json.dumps(schema), [*map(json.dumps, types)]))["buyer.mail"] == (f"PII.{meant}",)


def test_types_of_references_are_known():
    schema = record("R", one("buyer", "shop.Person"))
    assert tags_of(avro_fields(json.dumps(schema), [json.dumps(PERSON)]))["buyer.name"] == ("PII.name",)


def test_a_schema_that_expands_without_end_is_refused():
    types = [record(f"L{n}", one("a", f"L{n + 1}"), one("b", f"L{n + 1}")) for n in range(20)]
    schema = json.dumps(record("L20", one("x", "int")))
    with pytest.raises(ConfigError, match="SMT763"):
        avro_fields(json.dumps(types[0]), [*map(json.dumps, types[1:]), schema])


WRONG_TYPES = [
    (avro_fields, record("R", one("a", "int")) | {"fields": 5}),
    (json_fields, {"properties": ["a"]}),
    (json_fields, {"properties": {"a": {"oneOf": 5}}}),
]


@pytest.mark.parametrize(("fields", "schema"), WRONG_TYPES)
def test_a_schema_in_which_a_part_has_the_wrong_type_is_refused(fields, schema):
    with pytest.raises(ConfigError, match="SMT763"):
        fields(json.dumps(schema))


def test_tags_of_json_schema():
    schema = {
        "properties": {
            "mail": {"type": "string", TAGGED: ["PII.email"]},
            "who": {"$ref": "#/definitions/who"},
            "list": {"items": {"properties": {"n": {TAGGED: ["PII"]}}}},
            "maybe": {"oneOf": [{"type": "null"}, {"properties": {"s": {TAGGED: "S"}}}]},
        },
        "definitions": {"who": {"properties": {"name": {TAGGED: ["PII.name"]}, "boss": {"$ref": "#/definitions/who"}}}},
    }
    tags = tags_of(json_fields(json.dumps(schema)))
    assert {path: names for path, names in tags.items() if names} == {
        "mail": ("PII.email",),
        "who.name": ("PII.name",),
        "list[*].n": ("PII",),
        "maybe.s": ("S",),
    }


def proto_field(message, name, number, type_=9, tags=(), **more):
    field = message.field.add(name=name, number=number, type=type_, label=more.pop("label", 1), **more)
    if tags:
        options = field_options({})
        # the bytes of (confluent.field_meta).tags: field 1088 with field 3 in it
        body = b"".join(b"\x1a" + bytes([len(tag)]) + tag.encode() for tag in tags)
        options.MergeFromString(b"\x82\x44" + bytes([len(body)]) + body)
        field.options.CopyFrom(options)


@pytest.fixture
def proto():
    file = FileDescriptorProto(name="o.proto", package="shop", syntax="proto3")
    order = file.message_type.add(name="Order")
    person = file.message_type.add(name="Person")
    proto_field(person, "name", 1, tags=["PII.name"])
    proto_field(order, "id", 1, 3)
    proto_field(order, "mail", 2, tags=["PII.email", "GDPR"])
    proto_field(order, "buyer", 3, FieldDescriptorProto.TYPE_MESSAGE, type_name=".shop.Person")
    proto_field(order, "others", 4, FieldDescriptorProto.TYPE_MESSAGE, type_name=".shop.Person", label=3)
    order.oneof_decl.add(name="way")
    proto_field(order, "phone", 5, tags=["PII.phone"], oneof_index=0)
    proto_field(order, "none", 6, oneof_index=0)
    return file


def test_tags_of_protobuf_have_connects_paths(proto):
    assert tags_of(protobuf_fields([proto.SerializeToString()], "shop.Order", "p")) == {
        "id": (),
        "mail": ("PII.email", "GDPR"),
        "buyer": (),
        "buyer.name": ("PII.name",),
        "others": (),
        "others[*].name": ("PII.name",),
        "way_0.phone": ("PII.phone",),
        "way_0.none": (),
    }


def applied(form, tags, key=None, **subject):
    policy = policy_of({"rules": {"PII.*": "mask", "public": "keep"}, "tags": tags})
    return apply_policy(policy, Subject(("orders",), key or Format("string"), form, **subject))


def actions(policy, part="value"):
    return {d.path: d.action for d in policy.decisions if d.part == part}


def test_the_schema_of_a_definition_is_a_source(proto):
    form = Format(
        "avro", options={"schema": json.dumps(record("R", one("id", "long", "public"), one("m", "string", "PII")))}
    )
    assert actions(applied(form, ["schema"])) == {"id": "keep", "m": "mask"}
    files = base64.b64encode(FileDescriptorSet(file=[proto]).SerializeToString()).decode()
    form = Format("protobuf", options={"descriptor": files, "message-name": "shop.Order"})
    assert actions(applied(form, ["schema"]))["way_0.phone"] == "mask"
    with pytest.raises(ConfigError, match="SMT767 policy tags: the table declares no schema with tags"):
        applied(Format(), ["schema"])


class Versions(Registry):
    """A registry whose schemas have metadata."""

    def add_tagged(self, subject, text, tags, kind="AVRO"):
        number = self.add(subject, text, kind=kind)
        self.schemas[number]["metadata"] = {"tags": tags}


def form_of(registry, **options):
    return Format("avro-confluent", options={"url": registry.url, **options})


def test_a_registry_has_tags_in_schemas_and_in_metadata_and_old_versions_count():
    first = record(
        "Order", one("id", "long", "public"), one("old", "string", "PII"), one("m", "string"), namespace="shop"
    )
    second = record("Order", one("id", "long", "public"), one("m", "string"), one("x", "int"), namespace="shop")
    with Versions() as registry:
        registry.add("orders-value", json.dumps(first))
        registry.add_tagged("orders-value", json.dumps(second), {"**.m": ["PII.email"]})
        policy = applied(form_of(registry), ["registry"])
    assert actions(policy) == {"id": "keep", "old": "mask", "m": "mask", "x": "hold back"}
    reasons = {d.path: d.reason for d in policy.decisions}
    assert reasons["old"] == "PII.*: mask (PII in orders-value version 1)"
    assert reasons["m"] == "PII.*: mask (PII.email in orders-value version 2)"


@pytest.mark.parametrize(
    ("key", "subjects", "of_key"),
    [
        ("json", ("orders-value", "orders-key"), {"m": "mask"}),
        ("json", ("orders-value",), {}),
        ("string", ("orders-value", "orders-key"), {}),
    ],
    ids=["both", "no subject", "no fields"],
)
def test_a_registry_of_its_own_has_the_tags_of_keys_too(key, subjects, of_key):
    """The records are written without a registry: only the policy names one."""
    text = json.dumps(record("Order", one("m", "string", "PII")))
    with Registry() as registry:
        for subject in subjects:
            registry.add(subject, text)
        policy = applied(Format("json"), [{"registry": {"url": registry.url}}], key=Format(key))
    assert actions(policy) == {"m": "mask"}
    assert actions(policy, "key") == of_key


def test_a_schema_of_keys_that_cannot_be_used_stops_the_policy():
    """Its tags are unknown, which is another thing than none."""
    with Registry() as registry:
        registry.add("orders-value", json.dumps(record("Order", one("m", "string", "PII"))))
        registry.add("orders-key", "no schema")
        with pytest.raises((ConfigError, DataError)):
            applied(Format("json"), [{"registry": {"url": registry.url}}], key=Format("json"))


def test_a_registry_that_is_silent_or_lacks_the_subject_stops_the_policy():
    with Registry() as registry:
        form = form_of(registry)
        with pytest.raises(DataError, match="SMT442"):
            applied(form, ["registry"])
        registry.status = 500
        with pytest.raises(EngineError, match="SMT636"):
            applied(form, ["registry"])


@pytest.mark.parametrize(
    ("form", "topics", "problem"),
    [
        (Format(), ("orders",), "neither keys nor values have a registry"),
        (Format("avro-confluent", options={"url": "http://localhost:1"}), (), "need the names of the topics"),
        (
            Format(
                "avro-confluent", options={"url": "http://localhost:1", "subject.name.strategy": "RecordNameStrategy"}
            ),
            ("orders",),
            "the subjects of the registry depend on the records",
        ),
    ],
)
def test_a_registry_that_does_not_fit_is_refused(form, topics, problem):
    policy = policy_of({"rules": {"PII.*": "mask"}, "tags": ["registry"]})
    with pytest.raises(ConfigError, match="SMT767") as error:
        apply_policy(policy, Subject(topics, Format("string"), form))
    assert problem in str(error.value)


def test_definitions_do_not_ask_the_registry():
    form = Format("avro-confluent", options={"url": "http://localhost:1"})
    policy = policy_of({"rules": {"PII.*": "mask"}, "tags": ["registry"]})
    assert apply_policy(policy, Subject(("orders",), Format("string"), form), asks_registry=False).stages
