"""Patterns that go back and forth: the record that has such a text fails with one code, on both evaluators."""

import json

import pytest

from dagster_smt.chain import parse_chain, plan_chain
from dagster_smt.errors import PlanError
from dagster_smt.model.paths.json_path import parse_json_path
from dagster_smt.model.paths.steps import Match
from dagster_smt.model.schema import Schema, Type
from dagster_smt.model.topics.format import Format
from dagster_smt.spark.evaluate import evaluate
from dagster_smt.spark.stages import early_calls as rules
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from dagster_smt.transforms.debezium.events.values import LogicalTopic, Rerouted
from dagster_smt.values.containers import NewName, RenameKeys
from dagster_smt.values.java import regex as java_regex
from dagster_smt.values.java.regex import MatchesOrNull
from dagster_smt.values.json.path import Answer, StructShape, ValueShape
from dagster_smt.values.text_rules import Finds
from tests.spark.made_up import Example
from tests.spark.test_evaluators_agree import compare, frame_of, in_python
from tests.spark.test_nested_agree import TEXT, struct

EXTENDED = {"field.syntax.version": "extended"}
ENDLESS = "(a|aa)+$"
KAFKA, AIVEN = "org.apache.kafka.connect.transforms.", "io.aiven.kafka.connect."
MASK = {"alias": "mask", "type": KAFKA + "MaskField$Value", "options": {"fields": "name"}}
ROUTER = {"alias": "route", "type": KAFKA + "RegexRouter", "options": {"regex": ENDLESS, "replacement": "x"}}
LOGICAL = {
    "alias": "route",
    "type": "io.debezium.transforms.ByLogicalTableRouter",
    "options": {"topic.regex": ENDLESS, "topic.replacement": "x", "key.enforce.uniqueness": "false"},
}
TOPIC = {"type": KAFKA + "predicates.TopicNameMatches", "options": {"pattern": ENDLESS}}
FIELD = {"type": AIVEN + "predicates.FieldValueMatches", "options": {"field": "name", "value.pattern": ENDLESS}}
OF_TOPICS = {
    "a router": [ROUTER],
    "a predicate": [MASK | {"predicate": TOPIC}],
    "a negated predicate": [MASK | {"predicate": TOPIC, "negate": True}],
    "a router behind a predicate": [ROUTER | {"predicate": TOPIC}, MASK],
}
OF_FIELDS = {
    "a predicate": [MASK | {"predicate": FIELD}],
    "a negated predicate": [MASK | {"predicate": FIELD, "negate": True}, MASK | {"alias": "again"}],
    "a condition": [
        {
            "alias": "filter",
            "type": "io.confluent.connect.transforms.Filter$Value",
            "options": {"filter.condition": f"$[?(@.name =~ /{ENDLESS}/)]", "filter.type": "include"},
        }
    ],
    "new names of keys": [
        {
            "alias": "rename",
            "type": KAFKA + "ReplaceField$Value",
            "options": {"renames": f"attrs./{ENDLESS}/:x"} | EXTENDED,
        }
    ],
}
LONG = "a" * 40 + "!"
SCHEMA = struct(name=TEXT, attrs=Schema(Type.MAP, True, keys=Schema(Type.STRING), values=TEXT))
ANYTHING = b'{"name":"x","attrs":{"b":"y"}}'


def codes_on_spark(spark, chain, rows, topics):
    """The codes of what went wrong with each record on Spark, by offset."""
    plan = plan_chain(parse_chain(chain), TEXT, SCHEMA, topics=topics, typed=True)
    table = TopicTable(FileTopics("unused"), topics, value=Format("json_schema", SCHEMA))
    result = evaluate(frame_of(spark, rows), plan, table, "columns").collect()
    # Spark would run it all twice for an order
    return [row["__problem"] and row["__problem"]["code"] for row in sorted(result, key=lambda row: row["__offset"])]


def codes_in_python(chain, rows):
    result = in_python(parse_chain(chain), Example(SCHEMA, chain, rows))
    return [outcome.problem and outcome.problem.code for outcome, _ in result]


@pytest.mark.parametrize("name", OF_TOPICS)
def test_a_topic_that_a_pattern_does_not_end_with(spark, monkeypatch, name):
    """Where all topics are known, each meets the pattern once, while the run is planned."""
    monkeypatch.setattr(java_regex, "SECONDS", 0.1)
    topics = ("aaa", LONG, "orders")
    rows = [(ANYTHING, topic, (), None) for topic in topics]
    assert codes_in_python(OF_TOPICS[name], rows) == [None, "SMT445", None]
    compare(spark, Example(SCHEMA, OF_TOPICS[name], rows), topics)


@pytest.mark.parametrize("chain", [*OF_TOPICS.values(), [LOGICAL]], ids=[*OF_TOPICS, "a router of tables"])
def test_it_is_the_only_topic(monkeypatch, chain):
    """No record can pass: nothing is read, and that is said of the stage."""
    monkeypatch.setattr(java_regex, "SECONDS", 0.1)
    with pytest.raises(PlanError, match=r"SMT445 transforms\.(route|mask) \("):
        plan_chain(parse_chain(chain), TEXT, SCHEMA, topics=(LONG,), typed=True)


@pytest.mark.long
@pytest.mark.parametrize("name", [*OF_FIELDS, *OF_TOPICS])
def test_a_text_that_workers_do_not_end_with(spark, monkeypatch, name):
    """Texts of records meet patterns in Spark's workers, and so do topics that nobody knows before."""
    chain = (OF_FIELDS | OF_TOPICS)[name]
    of_record = json.dumps({"name": LONG, "attrs": {LONG: "x"}}).encode()
    rows = [(ANYTHING, "orders", (), None), (of_record, LONG, (), None), (b'{"name":"aaa"}', "aaa", (), None)]
    result = codes_on_spark(spark, chain, rows, ())
    monkeypatch.setattr(java_regex, "SECONDS", 0.1)
    assert result == codes_in_python(chain, rows) == [None, "SMT445", None]


RULES = [
    (java_regex.Matches(ENDLESS), ("x",)),
    (MatchesOrNull(ENDLESS), ("x",)),
    (Finds(ENDLESS), ("x",)),
    (java_regex.ReplaceIfMatches(ENDLESS, "y"), ("x",)),
    (LogicalTopic(ENDLESS, "y"), ("x",)),
    (Rerouted(ENDLESS, "y"), ("x",)),
    (RenameKeys(Match(ENDLESS), NewName("y")), ({"x": 1},)),
    (Answer(parse_json_path(f"$[?(@.name =~ /{ENDLESS}/)]"), StructShape((("name", ValueShape(TEXT)),))), (False, "x")),
]


@pytest.mark.parametrize(("rule", "of"), RULES, ids=lambda part: type(part).__name__)
def test_a_rule_says_that_it_was_given_up(monkeypatch, rule, of):
    """Not that a replacement cannot be used, nor that an unknown exception was raised."""

    def given_up(pattern, text):
        raise java_regex.too_long()

    for method in ("search", "fullmatch"):
        monkeypatch.setattr(java_regex.JavaPattern, method, given_up)
    kinds = (None,) * len(of)
    assert rules.in_python(rule, rule.python, kinds, TEXT)(*of) == (None, "SMT445")
    assert "SMT445" in {error.problem.code for error in rule.other_failures()}


PATTERNS = {"((a+)+)+$": None, "(a|aa)+$": "SMT445"}
"""Java would look for the first for years, Python sees that there is none; Python gives up the second after seconds."""


@pytest.mark.parametrize(
    "pattern", [pytest.param(p, marks=[pytest.mark.long] if code else []) for p, code in PATTERNS.items()]
)
def test_a_pattern_that_java_does_not_end_with(spark, monkeypatch, pattern):
    """Keys meet patterns with repetitions in Python, on both evaluators: there is a limit of time."""
    texts = Schema(Type.MAP, True, keys=Schema(Type.STRING), values=TEXT)
    maps = Schema(Type.MAP, True, keys=Schema(Type.STRING), values=struct(sku=TEXT))
    schema = struct(attrs=texts, kept=texts, rows=Schema(Type.ARRAY, True, values=maps))
    result = [{"attrs": {LONG: "x"}}, {"kept": {LONG: "x"}}, {"rows": [{LONG: {"sku": "x"}}]}]
    result += [{"attrs": {"a": "x", "b!": "x"}, "kept": {"aa": "x", "b!": "y"}, "rows": [{"a": {"sku": "x"}}, None]}]
    steps = [
        ("MaskField$Value", {"fields": f"attrs./{pattern}/,rows[0]./{pattern}/.sku"}),
        ("ReplaceField$Value", {"include": f"kept./{pattern}/,attrs"}),
    ]
    chain = [{"alias": f"s{n}", "type": t, "options": o | EXTENDED} for n, (t, o) in enumerate(steps)]
    example = Example(schema, chain, [(json.dumps(value).encode(), "orders", ()) for value in result])
    if PATTERNS[pattern] is None:
        return compare(spark, example)
    plan = plan_chain(parse_chain(chain), TEXT, schema, topics=("orders",), typed=True)
    table = TopicTable(FileTopics("unused"), ("orders",), value=Format("json_schema", schema))
    rows = evaluate(frame_of(spark, example.rows), plan, table, "columns").collect()
    rows.sort(key=lambda row: row["__offset"])  # Spark would run it all twice for an order
    monkeypatch.setattr(java_regex, "SECONDS", 0.1)
    codes = [outcome.problem and outcome.problem.code for outcome, _ in in_python(plan.chain, example)]
    assert [row["__problem"] and row["__problem"]["code"] for row in rows] == codes
    assert codes == [*[PATTERNS[pattern]] * 3, None]
