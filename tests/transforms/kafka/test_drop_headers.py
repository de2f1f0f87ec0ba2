"""DropHeaders: by name."""

import pytest

from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.transforms.kafka.drop_headers import DropHeaders
from tests.transforms.helpers import Case, chain_of, check, record_of, refusal

ALL = '[{"key":"a","value":"1"},{"key":"c","value":"2"},{"key":"A","value":"3"},{"key":"a","value":"4"}]'

CASES = (
    Case("every header of the names", {"headers": "a, c"}, ALL, '[{"key":"A","value":"3"}]', shows="headers"),
    Case("an unknown name", {"headers": "zz"}, ALL, ALL, shows="headers"),
    Case("no pattern", {"headers": "a.*"}, ALL, ALL, shows="headers"),
    Case("the value stays", {"headers": "a"}, '{"a":1}', '{"a":1}'),
    refusal("no name", {"headers": ""}, "{}", "SMT013 transforms.t (DropHeaders) headers: the list is empty"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_drop_headers(case):
    check(DropHeaders, case)


def test_the_ledger_counts_the_names_that_were_there():
    record = record_of(ALL, "headers")
    assert Interpreter(chain_of(DropHeaders, {"headers": "zz,a"})).run(record).status == 0
    assert record.touched == 0b10
