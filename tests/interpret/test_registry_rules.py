"""Rules of a registry's schemas: what is refused by name, and what stays sealed."""

import io
import json
import re
from pathlib import Path

import fastavro
import pytest

from dagster_smt.errors import ConfigError, DataError
from dagster_smt.formats.registry.client import contract_of
from dagster_smt.formats.registry.versions import registered_avro
from dagster_smt.formats.registry.wire import RegistryReader, RegistryWriter
from dagster_smt.model.schema import STRING, Schema, Type
from dagster_smt.model.topics.format import Format
from tests.registry import Registry

PERSON = {
    "type": "record", "name": "Person", "namespace": "shop",
    "fields": [{"name": "id", "type": "int"}, {"name": "mail", "type": "string", "confluent:tags": ["PII"]}],
}  # fmt: skip
ENCRYPT = {"name": "seal mails", "kind": "TRANSFORM", "mode": "WRITEREAD", "type": "ENCRYPT", "tags": ["PII"],
           "params": {"encrypt.kek.name": "people"}}  # fmt: skip
CHECK = {"name": "has mail", "kind": "CONDITION", "mode": "READ", "type": "CEL", "expr": "size(message.mail) > 0"}
SCHEMA = Schema(Type.STRUCT, name="shop.Person", fields=(("mail", STRING),))


@pytest.fixture
def registry():
    with Registry() as running:
        yield running


def with_rules(registry, *rules, place="domainRules", subject="people-value", **more):
    """The id of a schema with rules."""
    number = registry.add(subject, json.dumps(PERSON))
    registry.rules[number] = {place: list(rules), **more}
    return number


def form_of(registry, **more):
    return Format("avro-confluent", options={"url": registry.url, **more})


def read(registry, number, **more):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, PERSON, {"id": 7, "mail": "c2VhbGVk"})
    data = b"\0" + number.to_bytes(4, "big") + out.getvalue()
    return RegistryReader(form_of(registry, **more)).read(data, "people")[1]


READ_RULES = {
    "encryption": (ENCRYPT, "domainRules", "has the rule 'seal mails' (ENCRYPT), which encrypts fields"),
    "a condition": (CHECK, "domainRules", "has the rule 'has mail' (CEL), which this package does not apply"),
    "a change of fields": (CHECK | {"type": "CEL_FIELD", "kind": "TRANSFORM"}, "domainRules", "'has mail' (CEL_FIELD)"),
    "an executor of somebody": (CHECK | {"type": "com.example.Rule"}, "domainRules", "'has mail' (COM.EXAMPLE.RULE)"),
    "encryption of all bytes": (
        ENCRYPT | {"type": "ENCRYPT_PAYLOAD"},
        "encodingRules",
        "(ENCRYPT_PAYLOAD), which this",
    ),
    "a name without end": (CHECK | {"name": "x" * 5000}, "domainRules", "'" + "x" * 100 + "' (CEL)"),
}


@pytest.mark.parametrize("case", READ_RULES)
def test_a_rule_for_consumers_is_refused_by_name(registry, case):
    rule, place, statement = READ_RULES[case]
    number = with_rules(registry, rule, place=place)
    for attempt in (lambda: read(registry, number), lambda: registered_avro(form_of(registry), number, "value", [])):
        with pytest.raises(DataError) as caught:
            attempt()
        problem = caught.value.problem
        assert problem.code == "SMT752" and statement in problem.statement and len(str(problem)) < 500


NOT_READ = {
    "for producers": (ENCRYPT | {"mode": "WRITE"}, {}),
    "for other versions": (ENCRYPT | {"mode": "UPGRADE"}, {}),
    "disabled": (ENCRYPT | {"disabled": True}, {}),
    "on the broker": (ENCRYPT, {"enableAt": "BROKER"}),
}


@pytest.mark.parametrize("case", NOT_READ)
def test_a_rule_that_no_consumer_applies_does_not_matter(registry, case):
    rule, more = NOT_READ[case]
    assert read(registry, with_rules(registry, rule, **more)) == {"id": 7, "mail": "c2VhbGVk"}


def test_migrations_do_not_matter(registry):
    assert read(registry, with_rules(registry, CHECK | {"mode": "UPGRADE"}, place="migrationRules"))["id"] == 7


def test_sealed_fields_stay_as_they_are(registry):
    assert read(registry, with_rules(registry, ENCRYPT), rules="sealed") == {"id": 7, "mail": "c2VhbGVk"}


def test_only_encryption_of_fields_can_stay_sealed(registry):
    for rule, place in ((CHECK, "domainRules"), (ENCRYPT | {"type": "ENCRYPT_PAYLOAD"}, "encodingRules")):
        number = with_rules(registry, ENCRYPT, rule, place=place)
        with pytest.raises(DataError, match="SMT752"):
            read(registry, number, rules="sealed")


@pytest.mark.parametrize("kind", ["protobuf-confluent", "json-confluent"])
def test_schemas_of_other_kinds(registry, kind):
    number = registry.add("people-value", '{"type":"object"}', kind={"j": "JSON", "p": "PROTOBUF"}[kind[0]])
    registry.rules[number] = {"domainRules": [ENCRYPT]}
    form = Format(kind, options={"url": registry.url})
    with pytest.raises(DataError, match="SMT752"):
        RegistryReader(form).read(b"\0" + number.to_bytes(4, "big") + b"\0{}", "people")


def write(registry, **more):
    return RegistryWriter(form_of(registry, **more), "value").write(SCHEMA, {"mail": "ada@example.org"}, "people")


def test_nothing_is_written_in_clear_where_producers_encrypt(registry):
    with_rules(registry, ENCRYPT)
    with pytest.raises(
        DataError, match=r"SMT752.*producers apply the rule 'seal mails' \(ENCRYPT\) under people-value"
    ):
        write(registry)
    assert len(registry.schemas) == 1, "no schema without the rule is registered either"
    assert b"ada@example.org" in write(registry, rules="sealed")


def test_rules_for_consumers_do_not_stop_a_writer(registry):
    with_rules(registry, CHECK)
    assert write(registry)


@pytest.mark.parametrize("status", [400, 409, 422])
def test_only_a_subject_that_is_not_there_has_no_rules(status):
    """Of another one nobody knows whether its producers encrypt."""
    with Registry(status=404) as registry:
        assert not contract_of((("url", registry.url),), "people-value").rules
    with Registry(status=status) as registry, pytest.raises(DataError, match="SMT442"):
        contract_of((("url", registry.url),), "people-value")


def test_another_choice_is_no_option():
    with pytest.raises(ConfigError, match=r"SMT272 avro-confluent\.rules: is unknown"):
        Format("avro-confluent", options={"url": "http://localhost", "rules": "ignore"})


def test_the_format_of_the_page(registry):
    text = (Path(__file__).parents[2] / "docs/how-to/encrypted-fields.md").read_text("utf-8")
    names = {}
    exec(re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0].replace("http://localhost:8081", registry.url), names)
    number = with_rules(registry, ENCRYPT)
    assert RegistryReader(names["people"]).schema(b"\0" + number.to_bytes(4, "big"), "people").by_name.keys() == {
        "id",
        "mail",
    }
