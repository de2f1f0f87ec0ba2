"""The base of transforms that put values through rules: one rule per kind gives both forms, ledger and schema."""

from dataclasses import dataclass

import pytest

from dagster_smt.chain import plan_chain
from dagster_smt.chain.explain import explain
from dagster_smt.effects.python_field_rules import FieldRules
from dagster_smt.errors import data_error
from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.model.reports.run_report import LedgerEntry, LedgerLine, StageCounts, silent_lines
from dagster_smt.model.schema import INT32
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.values.value_rule import ValueRule
from tests.chain.record_transforms import chain
from tests.transforms.helpers import envelope, expectation, record_of, shown


@dataclass(frozen=True, slots=True)
class Upper(ValueRule):
    """Capital letters."""

    def python(self, text):
        return None if text is None else text.upper()

    def column(self, F, text):
        return F.upper(text)


@dataclass(frozen=True, slots=True)
class Length(ValueRule):
    """The length of a list."""

    returns = INT32

    def python(self, value):
        return None if value is None else len(value)

    def column(self, F, value):
        return F.size(value)


class Shout(FieldRules):
    """Texts in capital letters, lists as their lengths."""

    connect_class = "com.example.Shout"
    purpose = "shout"
    null = "pass"

    def rule(self, kind):
        if kind in ("map", "struct"):
            raise data_error("ACME03", f"a {kind} cannot shout")
        return {"string": Upper(), "array": Length()}.get(kind)


def outcome_of(options, text):
    record = record_of(text)
    outcome = Interpreter(chain(Shout.model_validate(options), "value")).run(record)
    return outcome, record


EXTENDED = {"field.syntax.version": "extended"}
FIELDS = "a:string? n:int32 l:array<string>? o:{a:string}?"


@pytest.mark.parametrize(
    ("options", "payload", "after", "touched"),
    [
        ({"fields": "a,n"}, {"a": "x", "n": 1}, {"a": "X", "n": 1}, 1),
        ({"fields": "a"}, {"a": None, "n": 1}, {"a": None, "n": 1}, 0),
        ({"fields": "l"}, {"l": ["x", "y"], "n": 1}, {"l": 2, "n": 1}, 1),
        ({"fields": "l[*],**.a", **EXTENDED}, {"l": ["x"], "o": {"a": "y"}}, {"l": ["X"], "o": {"a": "Y"}}, 3),
        ({"fields": "z"}, {"a": "x"}, {"a": "x"}, 0),
    ],
)
def test_one_rule_per_kind_serves_records_with_and_without_schema(options, payload, after, touched):
    import json

    outcome, record = outcome_of(options, json.dumps(payload))
    assert (outcome.status, record.touched, shown(record, "value")) == (
        0,
        touched,
        expectation(json.dumps(after), "value"),
    )
    full = {"a": None, "n": 0, "l": None, "o": None}
    outcome, record = outcome_of(options, envelope(FIELDS, json.dumps(full | payload)))
    fields = FIELDS.replace("array<string>?", "int32?") if options["fields"] == "l" else FIELDS
    assert (outcome.status, record.touched) == (0, touched)
    assert shown(record, "value") == expectation(envelope(fields, json.dumps(full | after)), "value")


def test_a_kind_that_is_refused_is_refused_unless_it_is_null():
    for text in ('{"o":{}}', envelope(FIELDS, '{"a":null,"n":1,"l":null,"o":{"a":"x"}}')):
        assert outcome_of({"fields": "o"}, text)[0].problem.code == "ACME03"
    for text in ('{"o":null}', envelope(FIELDS, '{"a":null,"n":1,"l":null,"o":null}')):
        assert outcome_of({"fields": "o"}, text)[0].problem is None


def test_the_ledger_says_changed_and_warns_of_a_change_that_touched_nothing():
    plan = plan_chain(chain(Shout(fields=("a",)), "value"), None, parse_ddl("a STRING"), typed=True)
    assert "  changed a" in explain(plan).splitlines()
    line = LedgerLine(LedgerEntry(0, "t", "changed", "a"), 0)
    assert plan.entries == (line.entry,) and silent_lines([line], [StageCounts("t", "Shout", 1)]) == [line]
