"""``plugin.version``, and predicates that no stage uses."""

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.chain.plugin_versions import version_problems
from dagster_smt.errors import ConfigError

PACKAGE = "org.apache.kafka.connect.transforms."
CHAIN = {
    "transforms": "f",
    "transforms.f.type": PACKAGE + "Filter",
    "transforms.f.predicate": "p",
    "predicates": "p",
    "predicates.p.type": PACKAGE + "predicates.RecordIsTombstone",
}


@pytest.mark.parametrize("text", [None, "latest", "4.3.1", "[4.3.1]", "[4.0,5.0)", "[4.3.1,)", "(,4.3.1]", "(4.3,4.4)"])
def test_versions_that_admit_ours(text):
    assert version_problems(text, "transforms.f") == []


@pytest.mark.parametrize(
    "text", ["1.0.0", "[1.0,4.3.1)", "(4.3.1,)", "5", "new", "[4.3.1", "4.3.1]", "[[4.3.1]]", "[latest]", "[]"]
)
def test_versions_that_do_not(text):
    (problem,) = version_problems(text, "transforms.f")
    statement = f"the chain requires version {text}, but results here are those of Kafka 4.3.1"
    assert str(problem).splitlines()[0] == f"SMT015 transforms.f plugin.version: {statement}"


@pytest.mark.parametrize("key", ["transforms.f.plugin.version", "predicates.p.plugin.version"])
def test_the_version_is_no_option_of_the_class(key):
    assert parse_chain(CHAIN | {key: "4.3.1"}).warnings == ()
    with pytest.raises(ConfigError, match=r"^SMT015 "):
        parse_chain(CHAIN | {key: "3.9.0"})


@pytest.mark.parametrize(
    ("unused", "first"),
    [
        ({}, "SMT301 predicates: there is no predicate 'q'"),
        ({"predicates.q.type": "Nothing"}, "SMT010 predicates.q: unknown predicate class 'Nothing'"),
    ],
)
def test_a_predicate_that_no_stage_uses_is_checked_too(unused, first):
    with pytest.raises(ConfigError) as caught:
        parse_chain(CHAIN | {"predicates": "p,q"} | unused)
    assert str(caught.value).splitlines()[0] == first


@pytest.mark.parametrize(("text", "means"), [("true", True), ("TRUE", True), (" true ", False), ("false", False)])
def test_negate_is_read_as_connect_reads_it(text, means):
    assert parse_chain(CHAIN | {"transforms.f.negate": text}).stages[0].negate is means
