"""HeaderToValue: Debezium's cases (HeaderToValueTest, ConnectRecordUtilTest, page header-to-value), and the edges."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from dagster_smt.chain import plan_chain
from dagster_smt.errors import ConfigError, PlanError
from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.model.record import Header
from dagster_smt.model.schema import INT64, STRING, Schema, Type, optional
from dagster_smt.transforms.debezium.header_to_value import HeaderToValue
from tests.transforms.debezium.events import ID, MODEL, ROW_NAME, TEXT, added, struct, text
from tests.transforms.helpers import chain_of, expectation, record_of, shown

LIST = Schema(Type.ARRAY, values=STRING)
ROW, PASSED = {"id": 1, "name": "x"}, {"field": "id", "type": "int8"}
SOURCE = struct({"db": TEXT}, "source")
AFTER = struct([ID, ROW_NAME], "Value", True)
NEED = {"field": "n", "type": "string"}
STRINGS = [("h1", STRING, "v1"), ("h2", STRING, "v2")]


def value(payload, *fields, name="Envelope"):
    return text(struct(fields, name), payload)


EVENT = value({"after": ROW, "source": {"db": "a"}}, {"field": "after", **AFTER}, {"field": "source", **SOURCE})
WITH_F2 = struct([ID, ROW_NAME, {"field": "f2", "type": "string"}], "Value")


@dataclass(frozen=True)
class Row:
    """A record with headers: what becomes of it; ``problem``: the code and class that it fails with."""

    title: str
    options: tuple[str, str, str]
    headers: list[tuple[str, Any, Any]]
    before: str
    after: str = ""
    left: tuple[str, ...] | None = None
    problem: tuple[str, str] = ("", "")
    touches: tuple[str, ...] = field(default=())


ONE = value({"id": 1}, PASSED)
DATA, BUILDER = "DataException", "SchemaBuilderException"
ROWS = [
    Row("copied", ("h1,h2", "f1, f2", "copy"), STRINGS, ONE,
        value({"id": 1, "f1": "v1", "f2": "v2"}, PASSED, {"field": "f1", "type": "string"},
              {"field": "f2", "type": "string"}), touches=("f1", "f2")),
    Row("lists", (" h1 ", " f1 ", "copy"), [("h1", LIST, ["v1", "v2"])], ONE,
        value({"id": 1, "f1": ["v1", "v2"]}, PASSED,
              {"field": "f1", "type": "array", "items": {"type": "string"}}), touches=("f1",)),
    Row("moved", ("h1,h3", "f1,f3", "Move"), [*STRINGS, ("h1", STRING, "w")], ONE,
        value({"id": 1, "f1": "w"}, PASSED, {"field": "f1", "type": "string"}), ("h2",), touches=("f1", "h1")),
    Row("the order of the headers", ("h2,h1", "f2,f1", "copy"), STRINGS, ONE,
        value({"id": 1, "f1": "v1", "f2": "v2"}, PASSED, {"field": "f1", "type": "string"},
              {"field": "f2", "type": "string"}), touches=("f2", "f1")),
    Row("in structs", ("h1,h2,h3", "f1,after.f2,source.f3", "copy"), STRINGS, EVENT,
        value({"after": {**ROW, "f2": "v2"}, "source": {"db": "a"}, "f1": "v1"},
              {"field": "after", **WITH_F2}, {"field": "source", **SOURCE},
              {"field": "f1", "type": "string"}), touches=("f1", "after.f2")),
    Row("the documented one", ("event_timestamp,key", "timestamp,source.id", "move"),
        [("header_x", STRING, "0"), ("event_timestamp", INT64, 1626102708861), ("key", INT64, 100)], EVENT,
        value({"after": ROW, "source": {"db": "a", "id": 100}, "timestamp": 1626102708861}, {"field": "after", **AFTER},
              {"field": "source", **struct([{"field": "db", **TEXT}, {"field": "id", "type": "int64"}], "source")},
              {"field": "timestamp", "type": "int64"}), ("header_x",),
        touches=("timestamp", "source.id", "event_timestamp", "key")),
    Row("none there", ("h1,", "parent.f1", "move"), [STRINGS[1]], ONE, ONE),
    Row("a null value", ("h1", "f1", "move"), STRINGS, "null", "null"),
    Row("a new struct", ("h1,h2", "headers.h1,headers.h2", "copy"), STRINGS, ONE,
        value({"id": 1, "headers": {"h1": "v1", "h2": "v2"}}, PASSED,
              {"field": "headers", **struct({"h1": {"type": "string"}, "h2": {"type": "string"}}, None, True)}),
        touches=("headers.h1", "headers.h2")),
    Row("a field that is there", ("h1", "n", "copy"), [("h1", optional(STRING), "v")],
        value({"n": "x"}, NEED), value({"n": "v"}, NEED), touches=("n",)),
    Row("defaults", ("h1", "f1", "copy"), [STRINGS[0]],
        value({"d": None}, {**added("d"), "default": "y"}),
        value({"d": "y", "f1": "v1"}, {**added("d"), "default": "y"}, {"field": "f1", "type": "string"}),
        touches=("f1",)),
    Row("null in a required field", ("h1", "n", "copy"), [("h1", optional(STRING), None)], value({"n": "x"}, NEED),
        problem=("SMT401", DATA)),
    Row("another type", ("h1", "n", "copy"), [("h1", INT64, 7)], value({"n": "x"}, NEED), problem=("SMT481", DATA)),
    Row("no type", ("h1", "f", "copy"), [("h1", None, None)], ONE, problem=("SMT479", BUILDER)),
    Row("below a number", ("h1", "id.x", "copy"), STRINGS, ONE, problem=("SMT201", DATA)),
    Row("two structs to make", ("h1", "a.b.c", "copy"), STRINGS, ONE, problem=("SMT480", "")),
    Row("one to make inside", ("h1", "after.a.c", "copy"), STRINGS, EVENT, problem=("SMT480", "")),
    Row("a name for two", ("h1,h2", "a,a.b", "copy"), STRINGS, ONE, problem=("SMT111", BUILDER)),
    Row("a header twice in a new struct", ("h1", "a.b", "copy"), [STRINGS[0]] * 2, ONE, problem=("SMT111", BUILDER)),
    Row("no schema", ("h1", "f1", "copy"), STRINGS, '{"a":1}', problem=("SMT221", DATA)),
    Row("no struct", ("h1", "f1", "copy"), STRINGS, text({"type": "string"}, "x"), problem=("SMT201", DATA)),
]  # fmt: skip


def chain(headers, fields, operation):
    return chain_of(HeaderToValue, {"headers": headers, "fields": fields, "operation": operation})


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.title)
def test_header_to_value(row):
    built, record = chain(*row.options), record_of(row.before)
    record.headers = [Header(name, schema, result, b"", from_stage=False) for name, schema, result in row.headers]
    outcome = Interpreter(built).run(record)
    if outcome.problem is not None:
        results = (outcome.problem.code, outcome.problem.connect_class.rpartition(".")[2])
        assert results == row.problem, outcome.problem
        return
    assert shown(record, "value") == expectation(row.after, "value")
    left = tuple(name for name, _, _ in row.headers) if row.left is None else row.left
    assert tuple(h.key for h in record.headers) == left
    effects = built.stages[0].transform.ledger()
    assert tuple(e.path for n, e in enumerate(effects) if record.touched >> n & 1) == row.touches


def test_every_record_counts_by_itself():
    """The original refuses the third record: it remembers the schema that it made of the second (decision 13)."""
    interpreter = Interpreter(chain("h1,h2", "f1,f2", "copy"))
    results = []
    for headers in ([], STRINGS[:1], STRINGS[1:]):
        record = record_of(ONE)
        record.value_schema = record_of(ONE).value_schema
        record.headers = [Header(name, schema, message, b"", from_stage=False) for name, schema, message in headers]
        assert interpreter.run(record).status == 0
        results.append(list(record.value))
    assert results == [["id"], ["id", "f1"], ["id", "f2"]]


REFUSED = [
    (("h1", "f1", "invalidOp"), "SMT013 transforms.t (HeaderToValue) operation: must be one of: move, copy"),
    (("h1", " ", "copy"), "SMT013 transforms.t (HeaderToValue) fields: the list is empty"),
    (("h1,h2", "f1", "copy"), "SMT014 transforms.t (HeaderToValue) fields: has 1 items, but headers has 2"),
    (("h1,h2", ",f2", "copy"), "SMT013 transforms.t (HeaderToValue) fields: the list has an empty item"),
    (("header one", "f1", "copy"), "SMT013 transforms.t (HeaderToValue) headers: an item has a blank inside"),
    (("h1", "after. fieldOne", "copy"), "SMT013 transforms.t (HeaderToValue) fields: an item has a blank inside"),
]


@pytest.mark.parametrize(("options", "problem"), REFUSED)
def test_options_that_are_refused(options, problem):
    with pytest.raises(ConfigError) as caught:
        chain(*options)
    assert str(caught.value).splitlines()[0] == problem


def test_columns_cannot_follow_headers():
    with pytest.raises(PlanError, match=r"SMT476 .*: the schema of each record depends on its headers"):
        plan_chain(chain("h1", "f1", "copy"), None, MODEL, typed=True)


def test_values_of_headers_are_in_no_message():
    record = record_of(value({"n": "x"}, NEED))
    record.headers = [Header("h1", INT64, 4711, b"4711", from_stage=False)]
    assert "4711" not in json.dumps(str(Interpreter(chain("h1", "n", "copy")).run(record).problem))
