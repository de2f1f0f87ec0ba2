"""Certificates: equal chains are equal, and planted differences are found at their stage, without values."""

import json
import re

import pytest

from dagster_smt.certify import Certificate, certify, certify_chain, chain_pair
from dagster_smt.certify.certificate import READING, CertifiedStage, CertifiedWay, Finding
from dagster_smt.certify.chain_pair import properties_of
from dagster_smt.certify.difference_places import DifferencePlace
from dagster_smt.chain import parse_chain
from dagster_smt.cli.certificate_page import certificate_page
from dagster_smt.cli.certificate_text import certificate_text
from dagster_smt.effects import on_plan_record
from dagster_smt.errors import ConfigError, EngineError, Problem
from dagster_smt.model.schema import INT32
from dagster_smt.model.topics.format import Format
from dagster_smt.transforms.kafka.mask_field import MaskField
from dagster_smt.visible import visible
from tests.certify.records import CAST, CHAIN, MARK, MASK, ORDERS, SECRET, chain_of, envelope, samples
from tests.foreign.conftest import jar as jar
from tests.hostile.test_shown import BAD, tokens
from tests.hostile.texts import HOSTILE

ENVELOPES = samples(envelope(id=1, email=SECRET, amount="1.5"), envelope(id=2, email=None, amount="x"), None)
NO_JAR = ("io.confluent.connect.transforms.Drop$Value", {})


def forms(certificate):
    """All forms of a certificate as one text."""
    text = json.dumps(certificate.to_json()) + certificate_text(certificate) + certificate_page(certificate)
    return text + "\n".join(certificate.lines)


@pytest.mark.parametrize(("form", "records"), [("json", ORDERS), ("envelope", ENVELOPES)])
def test_equal_chains_are_equal(form, records):
    certificate = certify(CHAIN, records, value=Format(form))
    assert (certificate.verdict, certificate.exit_code, certificate.findings) == ("equal", 0, ())
    assert [stage.records for stage in certificate.stages] == [len(records), len(records) - 1, len(records) - 2]
    assert [(way.name, way.records) for way in certificate.ways] == [("records in Python", len(records))]


@pytest.mark.parametrize(
    ("findings", "statement"),
    [
        ([("a", 0, "", {0}), ("a", 2, "", {0})], "1 of 3 records"),
        ([("a", 0, "", {0}), ("a", 2, "", {1})], "2 of 3 records"),
        ([("a", 0, "", {0, 1}), ("b", 0, "", {0, 1, 2})], "3 of 3 records"),
        ([("a", 0, "", {0}), ("a", 2, "D5", set())], "1 of 3 records"),
        # record 3 is refused by our converters alone
        ([("a", READING, "", {1, 3})], "2 of 5 records"),
    ],
)
def test_a_record_that_differs_in_several_ways_counts_once(findings, statement):
    place = DifferencePlace("orders-0@1", "value", "a", "null", "a text")
    rows = []
    for way, stage, decision, numbers in findings:
        rows.append(Finding(way, stage, decision, 2, frozenset(numbers), place))
    stages = tuple(CertifiedStage(alias, "MaskField$Value", "", 3) for alias in "abc")
    certificate = Certificate("chain", "", "4.3.1", (), 3, 2, 0, stages, (), tuple(rows))
    assert certificate.statement == f"{statement} differ from Kafka Connect 4.3.1"


def test_a_deliberate_difference_has_its_reason():
    certificate = certify(CHAIN, samples(b'{"id":12345678901234567890,"email":"x","amount":1}', {"amount": 1}))
    assert certificate.verdict == "deliberate" and certificate.exit_code == 0
    (finding,) = certificate.findings
    assert (finding.stage, finding.decision, finding.records) == (0, "D5", 1) and "spelling" in finding.reason
    assert [certificate.verdict_of(stage) for stage in range(3)] == ["deliberate", "equal", "equal"]
    assert finding.first.text == "value id: Connect has a whole number, here another value of this kind"


def test_options_that_connect_ignores_are_deliberate():
    nested = ("MaskField$Value", {"fields": "person.email", "field.syntax.version": "V2"})
    certificate = certify(chain_of(nested), samples({"person": {"email": SECRET}}))
    (finding,) = certificate.findings
    assert finding.decision == "D1" and certificate.exit_code == 0
    assert [p.code for p in certificate.warnings] == ["SMT011"]


def first_difference(certificate):
    """The only difference of a certificate: the stage and the first place."""
    assert certificate.verdict == "different" and certificate.exit_code == 1
    (finding,) = [finding for finding in certificate.findings if not finding.decision]
    assert SECRET not in forms(certificate)
    return certificate.stages[finding.stage].alias, finding.first.record, finding.first.text


def plant(monkeypatch, *stages):
    """Gives Connect another chain."""
    parsed, other = chain_pair._parsed, chain_of(*stages)
    monkeypatch.setattr(chain_pair, "_parsed", lambda chain, **settings: parsed(other, **settings))


def test_another_option_is_found(monkeypatch):
    plant(monkeypatch, MASK, ("Cast$Value", {"spec": "amount:float32,id:string"}), MARK)
    text = "value id: Connect has a text, here a whole number"
    assert first_difference(certify(CHAIN, ORDERS)) == ("b", "orders-0@0", text)


def test_another_field_is_found(monkeypatch):
    plant(monkeypatch, ("MaskField$Value", {"fields": "id"}), CAST, MARK)
    text = "value id: Connect has a whole number, here another value of this kind"
    assert first_difference(certify(CHAIN, ORDERS)) == ("a", "orders-0@0", text)


def test_another_type_in_the_schema_is_found(monkeypatch):
    plant(monkeypatch, MASK, ("Cast$Value", {"spec": "amount:float32"}), MARK)
    text = "value schema amount: Connect has type float, here type double"
    assert first_difference(certify(CHAIN, ENVELOPES, value=Format("envelope"))) == ("b", "orders-0@0", text)


def test_a_wrong_rule_of_the_python_evaluator_is_found(monkeypatch):
    effects = MaskField.effects
    monkeypatch.setattr(MaskField, "effects", lambda self: effects(self)[:0])  # it masks nothing
    stage, record, text = first_difference(certify(chain_of(MASK, CAST), ORDERS))
    assert (stage, record) == ("a", "orders-0@0")
    assert text == "value email: Connect has a text, here another value of this kind"


def test_another_schema_of_a_header_is_found(monkeypatch):
    monkeypatch.setattr(on_plan_record, "parse_literal", lambda text: (INT32, int(text)))
    text = "header mark schema: Connect has type int8, here type int32"
    assert first_difference(certify(CHAIN, ORDERS)) == ("c", "orders-0@0", text)


def test_a_timestamp_that_is_one_millisecond_off_is_found(monkeypatch):
    steps_of = certify_chain.steps_of

    def late(chain, reader, records, classes=None):
        steps = steps_of(chain, reader, records, classes)
        if classes is None:
            steps[1][2]["record"]["timestamp"] += 1
            steps[2][2]["record"]["timestamp"] += 1
        return steps

    monkeypatch.setattr(certify_chain, "steps_of", late)
    text = "timestamp: Connect has a timestamp, here one 1 ms later"
    assert first_difference(certify(CHAIN, ORDERS)) == ("b", "orders-0@2", text)


def test_a_dropped_record_is_found(monkeypatch):
    plant(monkeypatch, MASK, ("Filter", {}), MARK)
    assert first_difference(certify(CHAIN, ORDERS)) == (
        "b",
        "orders-0@0",
        "result: Connect has a dropped record, here a record",
    )


def test_another_exception_is_found(monkeypatch):
    plant(monkeypatch, MASK, ("Cast$Value", {"spec": "email:int32"}), MARK)
    stage, record, text = first_difference(certify(CHAIN, ORDERS))
    assert (stage, record) == ("b", "orders-0@0")
    assert (
        text == "result: Connect has a failed record: org.apache.kafka.connect.errors.DataException in b, here a record"
    )


def test_a_difference_that_a_later_stage_removes_is_shown_and_does_not_count(monkeypatch):
    drop = ("ReplaceField$Value", {"exclude": "email,id"})
    plant(monkeypatch, ("MaskField$Value", {"fields": "id"}), drop)
    certificate = certify(chain_of(MASK, drop), ORDERS)
    (finding,) = certificate.findings
    assert (finding.stage, finding.decision, finding.records, finding.lasting) == (0, "", 3, 0)
    assert certificate.verdict_of(0) == "different" and (certificate.verdict, certificate.exit_code) == ("equal", 0)
    assert certificate.statement.endswith("; a later stage removes the other differences")
    assert "3 records, of which 3 no longer differ after the last stage" in forms(certificate)


def test_values_are_shown_only_on_request(monkeypatch):
    plant(monkeypatch, MARK)
    assert SECRET not in forms(certify(chain_of(MASK), ORDERS))
    shown = certify(chain_of(MASK), ORDERS, show_values=True)
    assert shown.verdict == "different" and SECRET in forms(shown)


def test_records_that_only_one_converter_reads():
    declared = samples(b'{"a":1}', b"no json", b'{"a":1} x', b"\xff")
    certificate = certify(chain_of(MASK), declared)
    assert (certificate.records, certificate.refused) == (1, 3)
    assert certificate.verdict_of(-1) in ("equal", "deliberate") and certificate.exit_code == 0
    coerced = samples(envelope(id="7", email="x", amount="1"), envelope(id=7, email="x", amount="1"))
    certificate = certify(chain_of(MASK), coerced, value=Format("envelope"))
    (finding,) = certificate.findings
    assert (finding.way, finding.decision, finding.records, certificate.refused) == ("converters", "D5", 1, 1)


def test_stages_that_cannot_be_compared_say_why(jar):
    chain = chain_of(MASK, NO_JAR, ("acme.Same", {}), CAST, smt_jars=[jar])
    certificate = certify(chain, ORDERS)
    assert certificate.verdict == "equal" and certificate.statement.endswith("; 2 of 4 stages cannot be compared")
    assert [stage.alias for stage in certificate.not_compared] == ["b", "c"]
    confluents, of_jar = (stage.same for stage in certificate.not_compared)
    assert "Confluent publishes no jar" in confluents and of_jar == "the class runs from its jar on both sides"
    assert "not comparable" in forms(certificate)


def test_predicates_are_compared_too():
    chain = {
        "transforms": "a",
        "transforms.a.type": "Filter",
        "transforms.a.predicate": "gone",
        "transforms.a.negate": "true",
        "predicates": "gone",
        "predicates.gone.type": "RecordIsTombstone",
    }
    certificate = certify(parse_chain(chain), ORDERS)
    assert certificate.verdict == "equal" and certificate.stages[0].records == 4


@pytest.mark.parametrize(
    ("chain", "records", "form", "code"),
    [
        (CHAIN, [], "json", "SMT971"),
        (chain_of(NO_JAR), ORDERS, "json", "SMT971"),
        (parse_chain({"transforms": ""}), ORDERS, "json", "SMT971"),
    ],
)
def test_what_cannot_be_compared_is_refused(chain, records, form, code):
    with pytest.raises(ConfigError, match=code):
        certify(chain, records, value=Format(form))


def test_rows_of_arrays_are_refused():
    with pytest.raises(ConfigError, match="SMT970"):
        certify(CHAIN, ORDERS, value=Format("json", options={"arrays-as-rows": "true"}))


def test_a_host_that_cannot_run_is_an_error(monkeypatch):
    monkeypatch.setenv("DAGSTER_SMT_HOST_OPTIONS", "-XX:NoSuchOption")
    with pytest.raises(EngineError, match="SMT643"):
        certify(CHAIN, ORDERS)


def test_a_chain_of_connects_engine_is_compared_with_ours():
    chain = parse_chain({**CHAIN.properties, "engine": "connect"})
    pair = chain_pair.chain_pair(chain)
    assert not pair.ours.has_foreign and all(stage.foreign for stage in pair.connect.stages)
    assert certify(chain, ORDERS).verdict == "equal"


def test_properties_have_safe_aliases():
    stages = [{"alias": "a.b", "type": "Filter", "predicate": {"name": "p.q", "type": "RecordIsTombstone"}}]
    properties = properties_of(parse_chain(stages), 1)
    assert properties["transforms"] == "s1" and properties["predicates"] == "p1"
    assert properties["transforms.s1.predicate"] == "p1" and parse_chain(properties).stages[0].predicate is not None


@pytest.mark.parametrize("text", HOSTILE.values(), ids=list(HOSTILE))
def test_names_from_outside_are_escaped(text):
    place = DifferencePlace(text, f"header {text}", text, "a text", "null", (text, text))
    findings = tuple(
        Finding(text, stage, decision, 2, frozenset({0}), place) for stage in (-1, 0) for decision in ("", "D5")
    )
    stage = CertifiedStage(text, text, text, 1, same=text)
    warnings = (Problem("SMT011", text, text),)
    ways = (CertifiedWay(text, 0, text),)
    certificate = Certificate(text, "", text, (text,), 2, 1, 1, (stage,), ways, findings, warnings)
    page, markdown = certificate_page(certificate), certificate_text(certificate)
    assert not re.search("<(img|script)", page)
    assert not {token.type for token in tokens(markdown)} & {*BAD} - {"heading_open"}
    assert markdown == "\n".join(map(visible, markdown.split("\n")))
    for form in (page, markdown, json.dumps(certificate.to_json()), *map(visible, certificate.lines)):
        form.encode()
