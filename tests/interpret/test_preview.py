"""Previews: each record, and what each stage makes of it."""

import pytest

from dagster_smt.formats.sides import side_codec
from dagster_smt.interpret.preview import Sample, preview
from dagster_smt.model.schema import INT64, STRING, Schema, Type, optional
from dagster_smt.model.topics.format import Format
from tests.chain.helpers import ORDERS, TOMBSTONE, chain_of, stage

CHAIN = (
    stage("MaskField$Value", unless=TOMBSTONE, fields="name"),
    stage("Filter", when=TOMBSTONE),
    stage("RegexRouter", regex="(.*)", replacement="$1-x"),
    stage("Cast$Value", spec="n:int8"),
)
FREE = """\
record 0
  input                orders: {"name":"Ann","n":"7"}
  maskfield            orders: {"name":"","n":"7"}
  filter               (predicate: skipped)
  regexrouter          orders-x: {"name":"","n":"7"}
  cast                 orders-x: {"name":"","n":7}
record 1
  input                orders: null
  maskfield            (predicate: skipped)
  filter               (dropped)
record 2
  input                orders: {"n":"x"}
  maskfield            orders: {"n":"x","name":null}
  filter               (predicate: skipped)
  regexrouter          orders-x: {"n":"x","name":null}
  cast                 SMT404 'n' is a string that is not a valid int8, or is out of range
record 3
  input                SMT411 value.converter: the text is not valid JSON in UTF-8"""
TYPED = """\
record 0
  input                t: {"id":1,"name":"Ann","a":null,"amount":null}
  replacefield         t: {"key":1,"a":null}
  flatten              t: {"key":1,"a.b":null,"a.c":null}
record 1
  input                SMT414 value.converter: id does not fit the declared type int32"""


def shown(*stages, lines, schema=None, topic="t"):
    """The steps as lines: topic and value after each stage, or the note."""
    value = Format("json_schema", schema) if schema is not None else Format()
    samples = [Sample(topic, 0, number, value=line) for number, line in enumerate(lines)]
    results = []
    for sample, steps in preview(chain_of(*stages), samples, None, value):
        results.append(f"record {sample.offset}")
        for step in steps:
            note = step.note if step.failed or step.note.startswith("SMT") else step.note and f"({step.note})"
            text = note or f"{step.record.topic}: {'null' if step.record.value is None else step.record.value}"
            results.append(f"  {step.stage:20} {text.splitlines()[0]}")
    return "\n".join(results)


def steps_of(*stages, line):
    ((_, steps),) = preview(chain_of(*stages), [Sample("t", value=line)])
    return steps


def test_without_a_schema():
    lines = [b'{"name":"Ann","n":"7"}', b"null", b'{"n":"x"}', b"{"]
    assert shown(*CHAIN, lines=lines, topic="orders") == FREE


def test_with_a_schema():
    stages = (stage("ReplaceField$Value", renames="id:key", exclude="name,amount"), stage("Flatten$Value"))
    assert shown(*stages, lines=[b'{"id":1,"name":"Ann"}', b'{"id":"x"}'], schema=ORDERS) == TYPED


def test_a_value_that_cannot_be_written_yet_is_told_and_fails_only_at_the_end():
    stages = (
        stage("TimestampConverter$Value", field="t", target_type="Timestamp"),
        stage("TimestampConverter$Value", field="t", target_type="unix"),
    )
    assert shown(*stages, lines=[b'{"t":5}']).split("\n")[2:] == [
        "  timestampconverter   SMT413 value.converter: JSON without a schema cannot hold this value",
        '  timestampconverter2  t: {"t":5}',
    ]
    assert [s.failed for s in steps_of(*stages, line=b'{"t":5}')] == [False, False, False]
    assert [s.failed for s in steps_of(stages[0], line=b'{"t":5}')] == [False, True]


ROW = Schema(Type.STRUCT, fields=(("id", INT64), ("name", optional(STRING))))


@pytest.mark.parametrize("kind", ["avro", "protobuf", "csv"])
def test_what_is_no_text_is_shown_as_json(kind):
    form = Format(kind, ROW)
    value = b"5,ann" if kind == "csv" else side_codec(form).write(ROW, {"id": 5, "name": "ann"})
    sample = Sample("t", 0, 0, value=value)
    ((_, steps),) = preview(chain_of(stage("MaskField$Value", fields="name")), [sample], Format("long"), form)
    assert [step.record.value for step in steps] == ['{"id":5,"name":"ann"}', '{"id":5,"name":""}']


def test_an_array_is_shown_row_by_row_where_arrays_are_rows():
    lines = [b'[{"id":1},{"id":2}]', b"[]", b'{"id":3}', b'[{"id":4},null]']
    schema = Schema(Type.STRUCT, optional=True, fields=(("id", INT64),))
    form = Format("json_schema", schema, options={"arrays-as-rows": "true"})
    samples = [Sample("t", 0, number, value=line) for number, line in enumerate(lines)]
    results = [
        (sample.offset, steps[-1].record.value if steps[-1].record else steps[-1].note)
        for sample, steps in preview(chain_of(), samples, None, form)
    ]
    assert results == [
        (0, '{"id":1}'), (0, '{"id":2}'), (1, "an array without elements: no row"), (2, '{"id":3}'), (3, '{"id":4}'),
        (3, "null"),
    ]  # fmt: skip
