"""Fields that Confluent's serializers of JSON Schema and Protobuf encrypted, held against their deserializers."""

import base64
import json
import random
import re
from copy import deepcopy

import pytest
from confluent_kafka.schema_registry import Metadata, MetadataTags, SchemaRegistryClient
from confluent_kafka.schema_registry import Schema as RegisteredSchema
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import message_factory

from dagster_smt.errors import DataError
from dagster_smt.formats.protobuf.files import message_of, pool_of
from dagster_smt.formats.protobuf.text import proto_files
from dagster_smt.formats.registry.wire import RegistryReader, RegistryWriter
from dagster_smt.model.schema import INT64, STRING, Schema, Type
from dagster_smt.model.topics.format import Format
from tests.interpret.test_encrypted_fields import CONTEXT, SECRET, WAYS, executors
from tests.registry import Registry

SOME_WAYS = [WAYS[0], *(pytest.param(*way, marks=pytest.mark.long) for way in WAYS[1:])]
PII = {"confluent:tags": ["PII"]}
ADDRESS = {"type": "object", "properties": {"street": {"type": "string", **PII}, "city": {"type": "string"}}}
PERSON = {
    "type": "object", "title": "Person",
    "properties": {
        "id": {"type": "integer"},
        "mail": {"type": "string", **PII},
        "phone": {"oneOf": [{"type": "null"}, {"type": "string"}], **PII},
        "other": {"type": ["null", "string"], **PII},
        "names": {"type": "array", "items": {"type": "string"}, **PII},
        "home": {"$ref": "#/definitions/address"},
        "others": {"type": "array", "items": {"$ref": "#/definitions/address"}},
        "kind": {"type": "string", "enum": ["A", "B"]},
        "price": {"type": "number"},
    },
    "definitions": {"address": ADDRESS},
}  # fmt: skip
ADA = {
    "id": 7, "mail": "ada@example.org", "phone": "+47 22 12 34 56", "other": None, "names": ["Ada", "Å\n\"x\""],
    "home": {"street": "Storgata 1", "city": "Oslo"}, "others": [{"street": "", "city": "b"}, {"city": "c"}],
    "kind": "A", "price": 1.10,
}  # fmt: skip
PROTO = """
syntax = "proto3";
package shop;
import "confluent/meta.proto";
message Address {
  string street = 1 [(confluent.field_meta).tags = "PII"];
  string city = 2;
}
message Person {
  int64 id = 1;
  string mail = 2 [(confluent.field_meta).tags = "PII"];
  optional string phone = 3 [(confluent.field_meta).tags = "PII"];
  bytes photo = 4 [(confluent.field_meta).tags = "PII"];
  repeated string names = 5 [(confluent.field_meta).tags = "PII"];
  Address home = 6;
  repeated Address others = 7;
  map<string, Address> places = 8;
  oneof contact { string fax = 9 [(confluent.field_meta).tags = "PII"]; int32 room = 10; }
  double price = 11;
}
"""


@pytest.fixture(autouse=True)
def secret(monkeypatch):
    monkeypatch.setenv("KMS_SECRET", SECRET)


@pytest.fixture
def registry():
    with Registry() as running:
        yield running


def registered(registry, kind, text, *, tags=("PII",), metadata=None, **params):
    from tests.interpret.test_encrypted_fields import Rule, RuleKind, RuleMode, RuleParams, RuleSet

    params = {"encrypt.kek.name": "people", "encrypt.kms.type": "local-kms", "encrypt.kms.key.id": "one"} | params
    rule = Rule("seal", None, RuleKind.TRANSFORM, RuleMode.WRITEREAD, "ENCRYPT", list(tags), RuleParams(params), None,
                None, None, False)  # fmt: skip
    client = SchemaRegistryClient({"url": registry.url})
    client.register_schema("people-value", RegisteredSchema(text, kind, [], metadata, RuleSet(None, [rule])))
    return client


CONF = {"auto.register.schemas": False, "use.latest.version": True}
RULES = {"rule_conf": {"secret": SECRET}}


def form_of(registry, kind, **more):
    options = {"url": registry.url, "rules": "open", "kms.keys": "local-kms://one", "kms.secret": "${env:KMS_SECRET}"}
    if kind == "json-confluent":
        options["use.optional.for.nonrequired"] = "true"
    return Format(kind, options={**options, **more})


def read(registry, data, kind, **more):
    return RegistryReader(form_of(registry, kind, **more)).read(data, "people")[1]


# --- JSON Schema ---


def json_data(client, value=ADA, schema=PERSON):
    conf = {**CONF, "validate": False}
    serializer = JSONSerializer(json.dumps(schema), client, conf=conf, rule_registry=executors(), **RULES)
    return serializer(deepcopy(value), CONTEXT)


def judged_json(registry, data):
    client = SchemaRegistryClient({"url": registry.url})
    conf = {"validate": False}
    judge = JSONDeserializer(None, schema_registry_client=client, conf=conf, rule_registry=executors(), **RULES)
    return judge(data, CONTEXT)


def plain(value):
    """A value without the structs of unions, and without fields that are null."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items() if one is not None}
    return [plain(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("algorithm", "days"), SOME_WAYS)
def test_json_that_the_serializer_encrypted_is_opened(registry, algorithm, days):
    more = {"encrypt.dek.algorithm": algorithm, "encrypt.dek.expiry.days": days}
    data = json_data(registered(registry, "JSON", json.dumps(PERSON), **more))
    assert b"ada@" not in data and b"Storgata" not in data and b"Oslo" in data
    opened = plain(read(registry, data, "json-confluent"))
    assert opened == plain(judged_json(registry, data)) == plain(ADA)


def test_numbers_of_json_stay_as_they_are(registry):
    client = registered(registry, "JSON", json.dumps(PERSON))
    data = json_data(client)
    number = 2**53 + 1
    changed, count = re.subn(rb'"id": ?7', b'"id":%d' % number, data)
    opened = read(registry, changed, "json-confluent")
    assert count == 1 and opened["id"] == number and opened["price"] == 1.1


def test_json_that_is_not_encrypted_is_refused(registry):
    json_data(registered(registry, "JSON", json.dumps(PERSON)))
    for text in (b'{"mail": "ada@example.org"}', b'{"mail": ', b'{"mail": "ada@example.org"'):
        with pytest.raises(DataError, match=r"SMT753") as caught:
            read(registry, b"\0" + (1).to_bytes(4, "big") + text, "json-confluent")
        assert "ada@" not in str(caught.value)


def test_tags_of_json_in_the_metadata(registry):
    metadata = Metadata(MetadataTags({"$.home.*": ["CITY"]}), None, None)
    data = json_data(registered(registry, "JSON", json.dumps(PERSON), tags=("CITY",), metadata=metadata))
    assert b"Oslo" not in data and b"ada@example.org" in data
    assert read(registry, data, "json-confluent")["home"] == ADA["home"]


def test_a_union_of_several_types_with_encrypted_fields_is_refused(registry):
    several = {"oneOf": [ADDRESS, {"type": "object", "properties": {"box": {"type": "string", **PII}}}]}
    schema = {"type": "object", "title": "Person", "properties": {"home": several}}
    client = registered(registry, "JSON", json.dumps(schema))
    data = json_data(client, {"home": {"box": "1"}}, schema)
    with pytest.raises(DataError, match=r"SMT753 .*several types"):
        read(registry, data, "json-confluent")


def test_random_json(registry):
    client, chance = registered(registry, "JSON", json.dumps(PERSON)), random.Random(5)
    words = ("", "a", "Å" * 70, 'x"\\' * 60, "\u2028")
    for _ in range(25):
        value = {
            "id": chance.randrange(-(2**53), 2**53), "mail": chance.choice(words), "price": chance.random(),
            "phone": chance.choice((None, *words)), "other": chance.choice((None, *words)),
            "names": chance.choices(words, k=chance.randrange(4)),
            "home": {"street": chance.choice(words), "city": chance.choice(words)},
            "others": [{"street": chance.choice(words)} for _ in range(chance.randrange(3))], "kind": "B",
        }  # fmt: skip
        data = json_data(client, value)
        assert plain(read(registry, data, "json-confluent")) == plain(judged_json(registry, data)) == plain(value)


# --- Protobuf ---


def serialized():
    """The schema as the client of Confluent requests it."""
    return base64.b64encode(proto_files(PROTO, (), "test")[-1]).decode()


def person_class():
    pool, file = pool_of(proto_files(PROTO, (), "test"), "test")
    return message_factory.GetMessageClass(message_of(pool, file, "shop.Person", "test"))


def person():
    message = person_class()()
    message.id, message.mail, message.phone, message.photo = 7, "ada@example.org", "+47 22 12 34 56", b"\0\xff"
    message.names.extend(["Ada", "Å"])
    message.home.street, message.home.city = "Storgata 1", "Oslo"
    message.others.add(street="a", city="b")
    message.places["work"].street = "Karl Johan 5"
    message.fax, message.price = "22 33", 1.5
    return message


def protobuf_data(client, message):
    serializer = ProtobufSerializer(type(message), client, conf=CONF, rule_registry=executors(), **RULES)
    return serializer(message, CONTEXT)


@pytest.mark.parametrize(("algorithm", "days"), SOME_WAYS)
def test_protobuf_that_the_serializer_encrypted_is_opened(registry, algorithm, days):
    more = {"encrypt.dek.algorithm": algorithm, "encrypt.dek.expiry.days": days}
    client = registered(registry, "PROTOBUF", serialized(), **more)
    data = protobuf_data(client, person())
    assert b"ada@" not in data and b"Storgata" not in data and b"Karl" not in data and b"Oslo" in data
    judge = ProtobufDeserializer(
        person_class(), conf={}, schema_registry_client=SchemaRegistryClient({"url": registry.url}),
        rule_registry=executors(), **RULES,
    )(data, CONTEXT)  # fmt: skip
    opened = read(registry, data, "protobuf-confluent")
    assert judge.SerializeToString(deterministic=True) == person().SerializeToString(deterministic=True)
    assert opened["mail"] == judge.mail and opened["phone"] == judge.phone and opened["photo"] == judge.photo
    assert opened["names"] == list(judge.names) and opened["home"] == {"street": "Storgata 1", "city": "Oslo"}
    assert opened["others"] == [{"street": "a", "city": "b"}]
    assert opened["places"]["work"]["street"] == "Karl Johan 5" and opened["price"] == 1.5
    assert opened["contact_0"]["fax"] == "22 33"


def test_an_optional_field_that_is_not_set_stays_so(registry):
    message = person()
    message.ClearField("phone")
    message.room = 4
    data = protobuf_data(registered(registry, "PROTOBUF", serialized()), message)
    opened = read(registry, data, "protobuf-confluent")
    assert opened["phone"] is None and opened["contact_0"]["room"] == 4


def test_sealed_fields_of_protobuf_stay_sealed(registry):
    data = protobuf_data(registered(registry, "PROTOBUF", serialized()), person())
    form = Format("protobuf-confluent", options={"url": registry.url, "rules": "sealed"})
    sealed = RegistryReader(form).read(data, "people")[1]
    assert len(base64.b64decode(sealed["mail"])) == 12 + 15 + 16 and sealed["home"]["city"] == "Oslo"


def test_protobuf_that_is_not_encrypted_is_refused(registry):
    client = registered(registry, "PROTOBUF", serialized())
    header = protobuf_data(client, person())[:7]
    for data in (person().SerializeToString(), b"\xff\xff"):
        with pytest.raises(DataError, match=r"SMT753|SMT416") as caught:
            read(registry, header + data, "protobuf-confluent")
        assert "ada@" not in str(caught.value)


# --- Written ---


def judged_protobuf(registry, data, topic="people"):
    """The message that Confluent's deserializer opens, for a reader with the schema of the sink."""
    client = SchemaRegistryClient({"url": registry.url})
    number = int.from_bytes(data[1:5], "big")
    pool, file = pool_of(proto_files(client.get_schema(number, fmt="serialized").schema_str, (), "test"), "test")
    written = message_factory.GetMessageClass(message_of(pool, file, (0,), "test"))
    judge = ProtobufDeserializer(written, conf={}, schema_registry_client=client, rule_registry=executors(), **RULES)
    return judge(data, SerializationContext(topic, MessageField.VALUE))


def without_places():
    """A schema and a message without the map: a map of messages with encrypted fields is refused."""
    text = PROTO.replace("  map<string, Address> places = 8;\n", "")
    pool, file = pool_of(proto_files(text, (), "test"), "test")
    message = message_factory.GetMessageClass(message_of(pool, file, "shop.Person", "test"))()
    whole = person()
    whole.ClearField("places")
    message.ParseFromString(whole.SerializeToString())
    return base64.b64encode(proto_files(text, (), "test")[-1]).decode(), message


@pytest.mark.parametrize(("algorithm", "days"), SOME_WAYS)
def test_consumers_open_json_that_is_written(registry, algorithm, days):
    params = {"encrypt.dek.algorithm": algorithm, "encrypt.dek.expiry.days": days}
    data = json_data(registered(registry, "JSON", json.dumps(PERSON), **params))
    form = form_of(registry, "json-confluent")
    schema, value = RegistryReader(form).read(data, "people")
    written = RegistryWriter(form, "value").write(schema, value, "people")
    assert b"ada@" not in written and b"Storgata" not in written and b"+47" not in written and b"Oslo" in written
    assert plain(judged_json(registry, written)) == plain(ADA)
    assert RegistryReader(form).read(written, "people")[1] == value
    again = RegistryWriter(form, "value").write(schema, value, "people")
    assert again[:5] == written[:5], "the schema is registered once"


@pytest.mark.parametrize(("algorithm", "days"), SOME_WAYS)
def test_consumers_open_protobuf_that_is_written(registry, algorithm, days):
    params = {"encrypt.dek.algorithm": algorithm, "encrypt.dek.expiry.days": days}
    text, message = without_places()
    data = protobuf_data(registered(registry, "PROTOBUF", text, **params), deepcopy(message))  # it changes the message
    form = form_of(registry, "protobuf-confluent")
    schema, value = RegistryReader(form).read(data, "people")
    written = RegistryWriter(form, "value").write(schema, value, "people")
    assert b"ada@" not in written and b"Storgata" not in written and b"22 33" not in written and b"Oslo" in written
    judge = judged_protobuf(registry, written)
    assert (judge.mail, judge.phone, judge.photo, list(judge.names), judge.fax) == (
        message.mail, message.phone, message.photo, list(message.names), message.fax
    )  # fmt: skip
    assert (judge.home.street, judge.home.city, judge.price) == ("Storgata 1", "Oslo", 1.5)
    assert [(one.street, one.city) for one in judge.others] == [("a", "b")]
    assert RegistryReader(form).read(written, "people")[1] == value
    client = SchemaRegistryClient({"url": registry.url})
    own = ProtobufDeserializer(
        type(message), conf={}, schema_registry_client=client, rule_registry=executors(), **RULES
    )(written, CONTEXT)  # fmt: skip
    assert own == message, "a consumer with the class of the producer reads the same"


@pytest.mark.long
def test_random_values_are_written_for_consumers(registry):
    chance = random.Random(7)
    words = ("", "a", "Å" * 70, 'x"\\' * 60, "\u2028")
    data = json_data(registered(registry, "JSON", json.dumps(PERSON)))
    form = form_of(registry, "json-confluent")
    schema, first = RegistryReader(form).read(data, "people")
    writer = RegistryWriter(form, "value")
    for _ in range(25):
        value = first | {
            "mail": chance.choice(words), "phone": chance.choice((None, *words)), "id": chance.randrange(2**53),
            "names": chance.choices(words, k=chance.randrange(4)),
            "home": chance.choice((None, {"street": chance.choice(words), "city": chance.choice((None, *words))})),
        }  # fmt: skip
        written = writer.write(schema, value, "people")
        assert plain(judged_json(registry, written)) == plain(value)


STRUCT = Schema(Type.STRUCT, name="shop.Person", fields=(("id", INT64), ("mail", STRING)))
REFUSED = {
    "another name": (STRUCT.with_(fields=(("id", INT64), ("email", STRING))), r"SMT752 .*encrypts the field .*mail"),
    "another type": (STRUCT.with_(fields=(("id", INT64), ("mail", INT64))), "SMT752 .*neither a text nor bytes"),
    "a map": (
        STRUCT.with_(fields=(("mail", Schema(Type.MAP, keys=STRING, values=STRING)),)),
        "SMT752 .*neither a text nor bytes",
    ),
    "one of several lists": (
        STRUCT.with_(fields=(("mail", Schema(Type.ARRAY, values=INT64)),)), "SMT752 .*neither a text nor bytes"
    ),
}  # fmt: skip
SMALL_JSON = json.dumps({"type": "object", "title": "shop.Person", "properties": {"mail": {"type": "string", **PII}}})
SMALL_PROTO = """
syntax = "proto3";
package shop;
import "confluent/meta.proto";
message Other { int64 id = 1; }
message Person { string mail = 2 [(confluent.field_meta).tags = "PII"]; }
"""


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("kind", ["protobuf-confluent", "json-confluent"])
def test_a_field_that_would_be_written_in_clear_is_refused(registry, kind, case):
    schema, statement = REFUSED[case]
    if kind == "json-confluent":
        registered(registry, "JSON", SMALL_JSON)
    else:
        registered(registry, "PROTOBUF", base64.b64encode(proto_files(SMALL_PROTO, (), "test")[-1]).decode())
    value = dict.fromkeys(dict(schema.fields))
    with pytest.raises(DataError, match=statement):
        RegistryWriter(form_of(registry, kind), "value").write(schema, value, "people")
    assert len(registry.schemas) == 1


def test_a_message_that_is_not_the_first_of_its_file_is_encrypted(registry):
    json_data(registered(registry, "JSON", json.dumps(PERSON)))  # makes the key of the registry
    registered(registry, "PROTOBUF", base64.b64encode(proto_files(SMALL_PROTO, (), "test")[-1]).decode())
    form = form_of(registry, "protobuf-confluent")
    written = RegistryWriter(form, "value").write(STRUCT, {"id": 1, "mail": "ada@example.org"}, "people")
    assert b"ada@" not in written and judged_protobuf(registry, written).mail == "ada@example.org"
    with pytest.raises(DataError, match=r"SMT273 the latest schema of people-value: .*has no message 'shop\.Somebody'"):
        RegistryWriter(form, "value").write(STRUCT.with_(name="shop.Somebody"), {"id": 1, "mail": "x"}, "people")


def test_a_map_with_encrypted_fields_is_refused(registry):
    """Connect writes a list of entries in its place, in which consumers would open nothing."""
    data = protobuf_data(registered(registry, "PROTOBUF", serialized()), person())
    form = form_of(registry, "protobuf-confluent")
    schema, value = RegistryReader(form).read(data, "people")
    with pytest.raises(DataError, match="SMT752"):
        RegistryWriter(form, "value").write(schema, value, "people")


def test_all_texts_of_a_rule_without_tags(registry):
    """A rule without tags concerns every text, and numbers stay. The keys of a map would not be opened: refused."""
    json_data(registered(registry, "JSON", json.dumps(PERSON)))  # makes the key of the registry
    registered(registry, "JSON", json.dumps({"type": "object", "properties": {"a": {"type": "string"}}}), tags=())
    schema = Schema(Type.STRUCT, fields=(("a", STRING), ("b", STRING), ("n", INT64)))
    form = form_of(registry, "json-confluent")
    written = RegistryWriter(form, "value").write(schema, {"a": "plain", "b": "other", "n": 1}, "people")
    assert b"plain" not in written and b"other" not in written
    assert judged_json(registry, written) == {"a": "plain", "b": "other", "n": 1}
    registered(registry, "PROTOBUF", base64.b64encode(proto_files(SMALL_PROTO, (), "test")[-1]).decode(), tags=())
    with_map = STRUCT.with_(fields=(*STRUCT.fields, ("more", Schema(Type.MAP, keys=STRING, values=STRING))))
    with pytest.raises(DataError, match="SMT752"):
        RegistryWriter(form_of(registry, "protobuf-confluent"), "value").write(
            with_map, {"id": 1, "mail": "x", "more": {}}, "people"
        )


@pytest.mark.parametrize("kind", ["protobuf-confluent", "json-confluent"])
def test_nothing_is_written_in_clear_where_producers_encrypt(registry, kind):
    """Without rules=open, records under a subject with a rule are refused."""
    if kind == "json-confluent":
        client = registered(registry, "JSON", json.dumps(PERSON))
        data = json_data(client)
    else:
        client = registered(registry, "PROTOBUF", serialized())
        data = protobuf_data(client, person())
    schema, value = RegistryReader(form_of(registry, kind)).read(data, "people")
    refusing = Format(kind, options={"url": registry.url})
    with pytest.raises(DataError, match=r"SMT752 .*producers apply the rule 'seal'"):
        RegistryWriter(refusing, "value").write(schema, value, "people")
