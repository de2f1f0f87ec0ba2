"""Fields that Confluent's own serializer encrypted, with its DEK registry and its local key management service."""

import base64
import io
import json
import random
import re
from copy import deepcopy
from pathlib import Path

import fastavro
import pytest
from confluent_kafka.schema_registry import (
    Metadata,
    MetadataTags,
    Rule,
    RuleKind,
    RuleMode,
    RuleParams,
    RuleSet,
    SchemaRegistryClient,
)
from confluent_kafka.schema_registry import Schema as RegisteredSchema
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.rule_registry import RuleRegistry
from confluent_kafka.schema_registry.rules.encryption.encrypt_executor import FieldEncryptionExecutor
from confluent_kafka.schema_registry.rules.encryption.kms_driver_registry import register_kms_driver
from confluent_kafka.schema_registry.rules.encryption.localkms.local_driver import LocalKmsDriver
from confluent_kafka.serialization import MessageField, SerializationContext

from dagster_smt.errors import ConfigError, DataError, EngineError
from dagster_smt.formats.avro.read import avro_of
from dagster_smt.formats.registry import data_keys
from dagster_smt.formats.registry.sealed_fields import with_fields
from dagster_smt.formats.registry.versions import registered_avro
from dagster_smt.formats.registry.wire import RegistryReader, RegistryWriter
from dagster_smt.model.schema import INT64, STRING, Schema, Type
from dagster_smt.model.topics.format import Format
from tests.registry import Registry

SECRET = "the secret of the local service"
PII = {"confluent:tags": ["PII"]}
ADDRESS = {
    "type": "record", "name": "Address",
    "fields": [{"name": "street", "type": "string", **PII}, {"name": "city", "type": "string"}],
}  # fmt: skip
PERSON = {
    "type": "record", "name": "Person", "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "mail", "type": "string", **PII},
        {"name": "phone", "type": ["null", "string"], **PII},
        {"name": "photo", "type": "bytes", **PII},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "names", "type": {"type": "array", "items": "string"}, **PII},
        {"name": "notes", "type": {"type": "map", "values": "string"}, **PII},
        {"name": "home", "type": ["null", ADDRESS]},
        {"name": "others", "type": {"type": "array", "items": "Address"}},
        {"name": "born", "type": {"type": "int", "logicalType": "date"}},
        {"name": "mark", "type": {"type": "fixed", "name": "Mark", "size": 3}},
        {"name": "score", "type": "double"},
    ],
}  # fmt: skip
ADA = {
    "id": 7, "mail": "ada@example.org", "phone": "+47 22 12 34 56", "photo": b"\0\xff", "kind": "B",
    "names": ["Ada", "Å"], "notes": {"x": "", "y": "long " * 400}, "home": {"street": "Storgata 1", "city": "Oslo"},
    "others": [{"street": "a", "city": "b"}, {"street": "", "city": "c"}], "born": 1, "mark": b"abc", "score": 1.5,
}  # fmt: skip
SEALED = ("mail", "phone", "photo", "names", "notes")
register_kms_driver(LocalKmsDriver())


@pytest.fixture(autouse=True)
def secret(monkeypatch):
    monkeypatch.setenv("KMS_SECRET", SECRET)


@pytest.fixture
def registry():
    with Registry() as running:
        yield running


def executors():
    """A registry of rules for one client; the global one keeps the address of the first schema registry."""
    rules = RuleRegistry()
    rules.register_executor(FieldEncryptionExecutor())
    return rules


def registered(
    registry, *, subject="people-value", schema=PERSON, tags=("PII",), metadata=None, on_failure=None, **params
):
    params = {"encrypt.kek.name": "people", "encrypt.kms.type": "local-kms", "encrypt.kms.key.id": "one"} | params
    rule = Rule("seal", None, RuleKind.TRANSFORM, RuleMode.WRITEREAD, "ENCRYPT", list(tags), RuleParams(params), None,
                None, on_failure, False)  # fmt: skip
    text = json.dumps(schema)
    known = RegisteredSchema(text, "AVRO", [], metadata, RuleSet(None, [rule]))
    client = SchemaRegistryClient({"url": registry.url})
    client.register_schema(subject, known)
    return client, text


CONTEXT = SerializationContext("people", MessageField.VALUE)


def encrypted(client, text, value=ADA):
    conf = {"auto.register.schemas": False, "use.latest.version": True}
    serializer = AvroSerializer(client, text, conf=conf, rule_conf={"secret": SECRET}, rule_registry=executors())
    return serializer(deepcopy(value), CONTEXT)


def form_of(registry, **more):
    options = {"url": registry.url, "rules": "open", "kms.keys": "local-kms://one", "kms.secret": "${env:KMS_SECRET}"}
    return Format("avro-confluent", options={**options, **more})


def read(registry, data, **more):
    return RegistryReader(form_of(registry, **more)).read(data, "people")[1]


WAYS = [("AES128_GCM", "0"), ("AES256_GCM", "0"), ("AES256_SIV", "0"), ("AES256_GCM", "90"), ("AES256_SIV", "1")]


@pytest.mark.parametrize(("algorithm", "days"), WAYS)
def test_what_the_serializer_encrypted_is_opened(registry, algorithm, days):
    client, text = registered(registry, **{"encrypt.dek.algorithm": algorithm, "encrypt.dek.expiry.days": days})
    data = encrypted(client, text)
    assert b"ada@example.org" not in data and b"Storgata" not in data and b"Oslo" in data
    opened = read(registry, data)
    consumer = SchemaRegistryClient({"url": registry.url})
    judge = AvroDeserializer(consumer, rule_conf={"secret": SECRET}, rule_registry=executors())(data, CONTEXT)
    assert opened["mail"] == judge["mail"] == "ada@example.org"
    for name in (*SEALED, "id", "kind", "home", "others", "mark", "score"):
        assert opened[name] == judge[name] == ADA[name], name


def test_nulls_and_empty_values(registry):
    client, text = registered(registry)
    value = ADA | {"phone": None, "photo": b"", "names": [], "notes": {}, "home": None, "others": [], "mail": ""}
    opened = read(registry, encrypted(client, text, value))
    assert {name: opened[name] for name in (*SEALED, "home", "others")} == {
        name: value[name] for name in (*SEALED, "home", "others")
    }


def test_random_records(registry):
    client, text = registered(registry)
    consumer, chance = SchemaRegistryClient({"url": registry.url}), random.Random(5)
    judge = AvroDeserializer(consumer, rule_conf={"secret": SECRET}, rule_registry=executors())
    words = ("", "a", "Å" * 70, "x" * 200)

    def some(make):
        return [make() for _ in range(chance.choice((0, 1, 3, 70)))]

    def word():
        return chance.choice(words)

    for _ in range(25):
        more = {
            "id": chance.randrange(-(2**63), 2**63), "mail": word(), "phone": chance.choice((None, word())),
            "photo": chance.randbytes(chance.randrange(300)), "names": some(word),
            "notes": {str(number): word() for number, _ in enumerate(some(word))},
            "others": some(lambda: {"street": word(), "city": word()}), "home": chance.choice((None, ADA["home"])),
        }  # fmt: skip
        data = encrypted(client, text, ADA | more)
        opened, expected = read(registry, data), judge(data, CONTEXT)
        assert {name: opened[name] for name in more} == {name: expected[name] for name in more} == more


def test_sealed_fields_stay_sealed_without_the_right(registry):
    client, text = registered(registry)
    data = encrypted(client, text)
    form = Format("avro-confluent", options={"url": registry.url, "rules": "sealed"})
    sealed = RegistryReader(form).read(data, "people")[1]
    assert sealed["home"]["city"] == "Oslo" and len(base64.b64decode(sealed["mail"])) == 12 + 15 + 16
    assert sealed["id"] == 7 and sealed["mark"] == b"abc"


def test_tags_in_the_metadata(registry):
    metadata = Metadata(MetadataTags({"shop.Address.*": ["CITY"]}), None, None)
    client, text = registered(registry, tags=("CITY",), metadata=metadata)
    data = encrypted(client, text)
    assert b"Oslo" not in data and b"ada@example.org" in data
    assert read(registry, data)["home"] == ADA["home"]


def test_a_rule_without_tags_concerns_all_texts(registry):
    schema = {
        "type": "record",
        "name": "Two",
        "fields": [{"name": "a", "type": "string"}, {"name": "b", "type": "bytes"}],
    }
    client, text = registered(registry, schema=schema, tags=())
    data = encrypted(client, text, {"a": "plain", "b": b"3"})
    assert b"plain" not in data and read(registry, data) == {"a": "plain", "b": b"3"}


def test_keys_are_requested_once(registry):
    client, text = registered(registry)
    data = encrypted(client, text)
    registry.asked.clear()
    reader = RegistryReader(form_of(registry))
    for _ in range(3):
        reader.read(data, "people")
    RegistryReader(form_of(registry)).read(data, "people")
    assert registry.asked.count(1) <= 3, "the schema twice, and the data key once"


REFUSED = {
    "another secret": (
        {"kms.secret": "${env:OTHER}"},
        EngineError,
        r"SMT736 the key people .*not use it for us: \w+Error",
    ),
    "a key that is not allowed": (
        {"kms.keys": "local-kms://two"},
        DataError,
        "SMT753 .*local-kms://one, which kms.keys",
    ),
    "a part of a name": ({"kms.keys": "local-kms://o"}, DataError, "SMT753 .*does not allow"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_who_may_not_use_the_key_ends_the_run_and_who_names_another_makes_dead_letters(registry, case, monkeypatch):
    options, kind, statement = REFUSED[case]
    monkeypatch.setenv("OTHER", "quite another secret")
    client, text = registered(registry)
    with pytest.raises(kind, match=statement) as caught:
        read(registry, encrypted(client, text), **options)
    assert SECRET not in str(caught.value) and "another secret" not in str(caught.value)


def test_a_service_whose_packages_are_not_installed_ends_the_run(registry, monkeypatch):
    """Tink's client of Google Cloud raises an ImportError that names no module."""
    client, text = registered(registry)
    data = encrypted(client, text)

    def missing(kind):
        raise ImportError("did you forget to install the extras?")

    monkeypatch.setattr(data_keys, "_driver", missing)
    statement = r"SMT736 the key people .*a package for local-kms is not installed; install confluent-kafka\[rules\]"
    with pytest.raises(EngineError, match=statement):
        read(registry, data)


def test_a_prefix_of_keys_is_allowed(registry):
    client, text = registered(registry)
    assert read(registry, encrypted(client, text), **{"kms.keys": "aws-kms://x:, local-kms://"})["mail"] == ADA["mail"]


def test_a_secret_that_is_not_there(registry, monkeypatch):
    client, text = registered(registry)
    data = encrypted(client, text)
    monkeypatch.delenv("KMS_SECRET")
    with pytest.raises(EngineError, match=r"SMT582.*KMS_SECRET"):
        read(registry, data)


def raw(registry, value):
    """A record that no serializer encrypted."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, PERSON, value)
    return b"\0" + (1).to_bytes(4, "big") + out.getvalue()


BROKEN = {
    "a plain text": "ada@example.org",
    "a short text": base64.b64encode(b"x").decode(),
    "another text": base64.b64encode(b"x" * 40).decode(),
    "an empty text": "",
}


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.parametrize("days", ["0", "5"])
def test_a_field_that_does_not_open_fails_the_record(registry, case, days):
    client, text = registered(registry, **{"encrypt.dek.expiry.days": days})
    encrypted(client, text)
    with pytest.raises(DataError, match="SMT753") as caught:
        read(registry, raw(registry, ADA | {"mail": BROKEN[case]}))
    assert "ada@" not in str(caught.value)


def test_a_rule_that_may_fail_leaves_the_fields(registry):
    client, text = registered(registry, on_failure="ERROR,NONE")
    encrypted(client, text)
    assert read(registry, raw(registry, ADA))["mail"] == "ada@example.org"


def test_versions_that_the_registry_does_not_have_are_not_requested_without_end(registry):
    client, text = registered(registry, **{"encrypt.dek.expiry.days": "1"})
    encrypted(client, text)
    reader = RegistryReader(form_of(registry))
    registry.asked.clear()
    for version in range(50, 400):
        mail = base64.b64encode(b"\0" + version.to_bytes(4, "big") + b"x" * 40).decode()
        with pytest.raises(DataError, match="SMT753"):
            reader.read(raw(registry, ADA | {"mail": mail}), "people")
    assert len(registry.asked) <= data_keys._MOST_UNKNOWN + 1


def test_a_silent_registry_of_keys_ends_the_run(registry):
    client, text = registered(registry)
    data = encrypted(client, text)
    reader = RegistryReader(form_of(registry))
    reader.schema(data[:5], "people")
    registry.status = 500
    with pytest.raises(EngineError, match="SMT636"):
        reader.read(data, "people")


def test_spark_does_not_read_such_records_itself(registry):
    registered(registry)
    assert registered_avro(form_of(registry), 1, "value", ["people"]) is None


WRONG = {
    "no keys": ({"kms.keys": ""}, "SMT272 avro-confluent.kms.keys: names no keys"),
    "a secret in clear": ({"kms.secret": "x"}, "SMT581 avro-confluent.kms.secret"),
    "a token in clear": ({"kms.token.id": "x"}, "SMT581 avro-confluent.kms.token.id"),
    "keys that nothing uses": ({"rules": "sealed"}, "SMT272 avro-confluent.kms.keys: needs rules=open"),
}


@pytest.mark.parametrize("case", WRONG)
def test_options(registry, case):
    options, statement = WRONG[case]
    with pytest.raises(ConfigError, match=statement):
        form_of(registry, **options)


@pytest.mark.parametrize(("algorithm", "days"), WAYS)
@pytest.mark.parametrize("subject", ["people-value", "copies-value"], ids=["with a data key", "without"])
def test_consumers_open_what_is_written(registry, algorithm, days, subject):
    """A record is read, and written under a subject with the rule: Confluent's deserializer opens it, and so do we."""
    params = {"encrypt.dek.algorithm": algorithm, "encrypt.dek.expiry.days": days}
    client, text = registered(registry, **params)
    schema, value = RegistryReader(form_of(registry)).read(encrypted(client, text), "people")
    registered(registry, subject=subject, **params)
    topic = subject.removesuffix("-value")
    written = RegistryWriter(form_of(registry), "value").write(schema, value, topic)
    assert b"ada@example.org" not in written and b"Storgata" not in written and b"Oslo" in written
    consumer = SchemaRegistryClient({"url": registry.url})
    context = SerializationContext(topic, MessageField.VALUE)
    opened = AvroDeserializer(consumer, rule_conf={"secret": SECRET}, rule_registry=executors())(written, context)
    assert {name: opened[name] for name in (*SEALED, "home", "others", "id")} == {
        name: ADA[name] for name in (*SEALED, "home", "others", "id")
    }
    assert RegistryReader(form_of(registry)).read(written, topic)[1] == value
    again = RegistryWriter(form_of(registry), "value").write(schema, value, topic)
    assert again[:5] == written[:5], "the schema is registered once"


def test_a_data_key_that_has_expired_is_replaced(registry):
    """The registry of the tests says that all data keys are of 1970."""
    client, text = registered(registry, **{"encrypt.dek.expiry.days": "30"})
    schema, value = RegistryReader(form_of(registry)).read(encrypted(client, text), "people")
    versions = registry.data_keys["people", "people-value", "AES256_GCM"]
    before = len(versions)
    written = RegistryWriter(form_of(registry), "value").write(schema, value, "people")
    assert len(versions) > before and RegistryReader(form_of(registry)).read(written, "people")[1] == value


NOT_WRITTEN = {
    "another name": (
        {"email": STRING},
        r"SMT752 .*'seal' \(ENCRYPT\) encrypts the field shop.Person.mail, which the schema",
    ),
    "another type": ({"mail": INT64}, r"SMT752 .*encrypts fields, one of which is neither a text nor bytes"),
    "an array of another type": ({"mail": Schema(Type.ARRAY, values=INT64)}, "SMT752 .*neither a text nor bytes"),
}


@pytest.mark.parametrize("case", NOT_WRITTEN)
def test_a_field_that_would_be_written_in_clear_is_refused(registry, case):
    fields, statement = NOT_WRITTEN[case]
    person = {**PERSON, "fields": PERSON["fields"][:2]}
    registered(registry, schema=person)
    schema = Schema(Type.STRUCT, name="shop.Person", fields=tuple(fields.items()))
    value = {name: {Type.STRING: "x", Type.INT64: 7, Type.ARRAY: [7]}[kind.type] for name, kind in fields.items()}
    with pytest.raises(DataError, match=statement):
        RegistryWriter(form_of(registry), "value").write(schema, value, "people")
    assert len(registry.schemas) == 1


def test_a_key_that_is_not_allowed_encrypts_nothing(registry):
    client, text = registered(registry)
    schema, value = RegistryReader(form_of(registry)).read(encrypted(client, text), "people")
    with pytest.raises(DataError, match="SMT753"):
        RegistryWriter(form_of(registry, **{"kms.keys": "local-kms://two"}), "value").write(schema, value, "people")


def test_the_walk_ends_where_the_record_ends():
    avro, chance, out = avro_of(json.dumps(PERSON)), random.Random(3), io.BytesIO()
    fastavro.schemaless_writer(out, PERSON, ADA)
    data, walk = out.getvalue(), with_fields(avro, lambda name, field: "confluent:tags" in field)
    places = []
    assert walk(data, 0, places) == len(data)
    texts = [data[place.begin : place.end] for place in places]
    assert texts[:3] == [b"ada@example.org", b"+47 22 12 34 56", b"\0\xff"] and len(texts) == 3 + 2 + 2 + 1 + 2
    for _ in range(3000):
        broken = bytearray(data[: chance.randrange(len(data))] if chance.random() < 0.3 else data)
        for _ in range(chance.randrange(4)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        try:
            with_fields(avro, lambda name, field: True)(bytes(broken), 0, [])
        except (IndexError, DataError):
            continue


def test_the_format_of_the_page(registry):
    page = (Path(__file__).parents[2] / "docs/how-to/encrypted-fields.md").read_text("utf-8")
    code = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[1].replace("http://localhost:8081", registry.url)
    names = {}
    exec(code, names)
    client, text = registered(registry)
    assert RegistryReader(names["people"]).read(encrypted(client, text), "people")[1]["mail"] == ADA["mail"]
