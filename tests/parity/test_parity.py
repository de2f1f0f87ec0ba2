"""Every recorded case, on the Python evaluator: equal to Kafka Connect and the vendors, or different on purpose."""

import copy
from collections import Counter

import pytest

from dagster_smt.authoring.predicate import Predicate
from dagster_smt.authoring.transform import Transform
from dagster_smt.chain.plugins import own
from dagster_smt.chain.vendors import is_kafkas
from dagster_smt.tools.parity.judge import REASONS
from dagster_smt.tools.parity.runner import DELIBERATE, EQUAL, on_python, run_cases, transforms_of
from tests.parity.cases import FILES, KAFKAS, VENDORS, cases_of


@pytest.fixture(scope="module")
def report():
    return run_cases([case for path in KAFKAS for case in cases_of(path)])


@pytest.fixture(scope="module")
def vendors():
    return run_cases([case for path in VENDORS for case in cases_of(path)])


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_every_case_is_equal_or_different_on_purpose(path):
    cases = cases_of(path)
    verdicts = run_cases(cases).verdicts
    wrong = {v.id: f"{v.verdict}: {v.reason}" for v in verdicts if v.verdict not in (EQUAL, DELIBERATE)}
    assert wrong == {}
    assert len(verdicts) == len(cases) > 0


def test_every_transform_and_predicate_of_kafka_is_covered(report):
    kafkas = {c.__name__ for c in (*own(Transform), *own(Predicate)) if is_kafkas(c.connect_class)}
    assert kafkas <= set(report.by_transform())


def test_deliberate_differences_are_few_and_have_a_reason(report):
    """A change of these counts is to be looked at case by case."""
    counts = Counter(v.decision for v in report.verdicts if v.verdict == DELIBERATE)
    assert set(counts) <= set(REASONS)
    assert dict(counts) == {"D1": 8, "D2": 17, "D4": 9, "D5": 20}


def test_the_vendors_cases_are_whole(vendors):
    """They come from Debezium's and Aiven's own classes; a change of these counts is to be looked at case by case."""
    assert {path.name.split(".")[0]: len(cases_of(path)) for path in VENDORS} == {
        "aiven": 771,
        "bylogicaltablerouter": 188,
        "eventrouter": 445,
        "extractnewrecordstate": 593,
        "found": 46,
        "headertovalue": 214,
        "mixed": 301,
        "timezoneconverter": 273,
    }
    counts = Counter(v.decision for v in vendors.verdicts if v.verdict == DELIBERATE)
    assert dict(counts) == {"D1": 87, "D2": 82, "D9": 9, "D11": 26, "D12": 22}


def test_every_transform_of_debezium_and_aiven_is_covered(vendors):
    names = {c.__name__ for c in (*own(Transform), *own(Predicate)) if vendor_of(c) in ("debezium", "aiven")}
    assert names <= set(vendors.by_transform())


def vendor_of(cls):
    return cls.__module__.split(".")[2]


def test_named_rules_are_a_dozen():
    assert len(REASONS) <= 12


def damaged(case):
    """A case whose expectation is wrong in one place, or None."""
    case = copy.deepcopy(case)
    for result in case["expect"].get("results", ()):
        if "record" in result:
            result["record"]["topic"] = "elsewhere"
            return case
        if "dropped" in result:
            result.clear()
            result["error"] = {"class": "", "message": "", "stage": "t"}
            return case
    return None


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_a_wrong_expectation_is_noticed(path):
    """The comparison is not so lenient that it accepts anything."""
    equal = {v.id for v in run_cases(cases_of(path)).verdicts if v.verdict == EQUAL}
    wrong = [c for c in map(damaged, cases_of(path)) if c is not None and c["id"] in equal]
    for case in wrong:
        case["tags"], case["alternatives"] = [], []
    assert {v.id for v in run_cases(wrong).verdicts if v.verdict == EQUAL} == set()


@pytest.mark.parametrize(("text", "other"), [("1", "1.0"), ('{"a":null}', "{}"), ("[1,2]", "[2,1]"), ("null", "0")])
def test_values_that_connect_tells_apart_are_told_apart(text, other):
    record = {"topic": "t", "partition": 0, "offset": 1, "timestamp": 1, "timestampType": "CreateTime", "kind": "sink"}
    record |= {"key": None, "value": {"schemaless": text}, "headers": []}
    expected = {"results": [{"record": record | {"value": {"schemaless": other}}}]}
    case = {"id": "made-up", "tags": [], "config": {"transforms": ""}, "records": [record], "expect": expected}
    (verdict,) = run_cases([case]).verdicts
    assert verdict.verdict == "different"
    assert transforms_of(case) == ()


def test_a_case_that_an_evaluator_cannot_take_is_counted_as_unsupported():
    case = cases_of(FILES[0])[0]
    report = run_cases([case], lambda cases: [None for _ in cases])
    assert report.count("unsupported") == 1
    assert run_cases([case], on_python).count("unsupported") == 0
