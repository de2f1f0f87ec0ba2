"""Random chains of all transforms on random records: everything that goes wrong is a problem with a code, and no
problem quotes what was in a record."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dagster_smt.chain import parse_chain, plan_chain
from dagster_smt.chain.explain import explain
from dagster_smt.chain.plugins import predicates, transforms
from dagster_smt.errors import PlanError, SmtError, UnsupportedError
from dagster_smt.interpret.interpreter import FAILED, KEPT_OUTCOME, PASSED, Interpreter
from dagster_smt.model.record import Header, Record
from dagster_smt.model.schema import Schema, Type
from dagster_smt.model.topics.format import Format
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from dagster_smt.values.headers.literals import parse_simple_header
from tests.chain.record_transforms import DropIfNull
from tests.random_chains import chains, check_problem, joined, parsed, stages, strategies
from tests.random_records import as_text, documents, payload, record, structs, typed

EXAMPLES = settings(max_examples=settings.default.max_examples * 6, suppress_health_check=list(HealthCheck))
DROPS_A_HEADER = parse_chain([{"alias": "d", "type": "DropHeaders", "options": {"headers": ["x"]}}])
KINDS = st.sampled_from(["sink", "sink", "source"])


def test_every_option_is_drawn():
    for cls in (*transforms().values(), *predicates().values()):
        required, free = strategies(cls)
        assert {*required, *free} == set(cls.keys()), cls.__name__


def test_options_of_a_class_that_no_table_has_are_drawn_from_its_examples():
    required, free = strategies(DropIfNull)
    assert (set(required), set(free)) == ({"field"}, {"behavior"})


@EXAMPLES
@given(st.tuples(stages("a"), stages("b")))
def test_a_chain_is_refused_or_comes_back_from_its_own_text(result):
    chain = parsed(joined(dict(zip("ab", result, strict=True))))
    if chain is not None:
        assert parse_chain(chain.properties) == chain == parse_chain(chain.to_stages())
        assert parse_chain(chain.to_stages()).hash == chain.hash


@EXAMPLES
@given(chains(), documents, documents, KINDS)
def test_records_without_a_schema(chain, key, value, kind):
    for form in (Format(), Format("string")):
        outcome, _, _ = Interpreter(chain, form, Format()).process(record(kind), key, value)
        if outcome.status == FAILED:
            check_problem(outcome.problem)


@EXAMPLES
@given(chains(), typed | st.none(), structs(typed) | structs(typed) | typed, KINDS, st.data())
def test_records_with_a_schema(chain, key, schema, kind, data):
    forms = key and Format("json_schema", key), Format("json_schema", schema)
    results = []
    for _ in range(2):
        source = record(kind)
        texts = (key and as_text(payload(data.draw, key))), as_text(payload(data.draw, schema))
        outcome, _, _ = Interpreter(chain, *forms).process(source, *(texts if key else (b"k", texts[1])))
        if outcome.status == FAILED:
            check_problem(outcome.problem)
        elif outcome.status == PASSED:
            results.append(source)
    if kind == "sink":  # a plan is for records that a table reads
        check_plan(chain, key or Schema(Type.STRING, optional=True), schema, results)


def check_plan(chain, key, schema, passed):
    """What the plan foretells holds for every record that went through."""
    try:
        plan = plan_chain(chain, key, schema, topics=("orders",), typed=True)
    except UnsupportedError:
        return
    except PlanError as error:
        for problem in error.problems:
            check_problem(problem)
        if any(problem.code == "SMT476" for problem in error.problems):
            return  # headers decide: columns cannot say what records can
        assert all(out.value is None for out in passed)  # what passes nulls is planned for the rest
        return
    foretold = [(r.key and r.key.schema, r.value and r.value.schema) for r in plan.results.values()]
    for out in passed:
        if out.value is not None and out.key is None:  # a null side has no schema of its own: difference D6
            assert out.value_schema in [value for _, value in foretold]
        elif out.value is not None:
            assert (out.key_schema, out.value_schema) in foretold
    roots = {"value", "key", "topic", "partition", "offset", "timestamp", "headers"}
    assert {source.split(".")[0] for sources in plan.lineage.values() for source in sources} <= roots
    assert explain(plan)
    try:
        assert plan.after is None or set(plan.lineage) >= set(plan.masked)
    except SmtError as error:
        for problem in error.problems:
            check_problem(problem)


@pytest.mark.parametrize("depth", [100, 900, 5_000])
@pytest.mark.parametrize("stage", ["HeaderFrom", "ValueToKey", "MaskField", "Flatten"])
def test_deep_values_are_taken_or_refused(stage, depth):
    options = {"HeaderFrom": {"fields": "a", "headers": "h", "operation": "copy"}, "Flatten": {}}.get(
        stage, {"fields": "a"}
    )
    chain = parse_chain(
        [{"alias": "t", "type": stage + ("" if stage == "ValueToKey" else "$Value"), "options": options}]
    )
    value = b'{"a":' * depth + b"1" + b"}" * depth
    outcome, _, _ = Interpreter(chain).process(record(), None, value)
    assert outcome.status in (PASSED, FAILED)
    if outcome.status == FAILED:
        assert outcome.problem.statement == "the JSON is nested too deeply"


NUMBERS = st.sampled_from(
    ["1e9999999999999999999999", "-1e99999999999999999999", "1e-99999999999999999999", "1e" + "0" * 5_000 + "1", "sNaN",
     "NaN", "-Infinity", "1_0", "9" * 5_000, "0." + "7" * 5_000, "-0.0", "0x1p3", "1e400", "", " 1 ", "２"]
)  # fmt: skip
ODD = NUMBERS | st.text(max_size=6) | st.binary(max_size=8).map(lambda b: b.decode("latin-1"))
ROW_TYPES = [
    "INT",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL(9,2)",
    "BOOLEAN",
    "DATE",
    "TIMESTAMP(3)",
    "BYTES",
    "ARRAY<INT>",
]
ARRAYS = st.recursive(ODD, lambda v: st.lists(v, max_size=4).map(lambda x: f"[{','.join(x)}]"), max_leaves=6)
BRACKETS = st.sampled_from([b"[" * 20_000, b"[{" * 500, b"[" * 500 + b"]" * 500])
HEADERS = (ODD | ARRAYS).map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=8) | BRACKETS
ROW = st.dictionaries(st.sampled_from("ab"), ODD)
ROWS = st.sampled_from(["row"] * 4 + ["odd"]).flatmap(lambda kind: ROW if kind == "row" else st.none() | ODD)
"""Mostly rows: what follows a message without one is not read."""
MORE = {
    "source": st.none() | st.dictionaries(st.sampled_from(["ts_ms", "db", "schema", "table"]) | ODD, ODD) | ODD,
    "transaction": st.integers() | ODD,
    "ts_ms": st.integers() | ODD,
    "old": st.none() | st.lists(ODD, max_size=2) | ODD,
    "isDdl": st.booleans() | ODD,
    "es": st.integers() | ODD,
}
EVENTS = {
    "debezium-json": st.fixed_dictionaries(
        {"op": st.sampled_from([*"cdurcdur", "t", "x", 1, None, [], {}]), "before": ROWS, "after": ROWS}, optional=MORE
    ),
    "canal-json": st.fixed_dictionaries(
        {
            "type": st.sampled_from(["INSERT", "DELETE", "CREATE", 7, None, [], {}]),
            "data": st.lists(ROWS, min_size=1, max_size=2) | st.just([]) | st.none() | ODD,
        },
        optional=MORE,
    ),
}
"""Messages with what their format looks at first: a text without it is drawn as JSON."""
GOOD = {"debezium-json": b'{"op":"c","after":{"a":null}}', "canal-json": b'{"type":"INSERT","data":[{"a":null}]}'}


@EXAMPLES
@given(st.sampled_from(ROW_TYPES), st.sampled_from(["csv", "json", *GOOD, "avro", "envelope"]), st.data())
def test_odd_records_have_a_verdict_and_harm_no_others(column, kind, data):
    """Headers, lines, messages, bytes: a record is kept, dropped or failed, and those around it are as without it."""
    envelope = kind == "envelope"
    beside = {"source": "MAP<STRING, STRING> METADATA FROM 'value.source.properties'",
              "at": "TIMESTAMP METADATA FROM 'value.source.timestamp'",
              "db": "STRING METADATA FROM 'value.source.database'",
              "name": "STRING METADATA FROM 'value.source.table'"}  # fmt: skip
    if kind == "canal-json":
        beside = {"old": "MAP<STRING, STRING> METADATA FROM 'value.old'", "es": "TIMESTAMP METADATA FROM 'value.es'"}
    columns = {} if envelope else {"a": column, **(beside if kind in GOOD else {})}
    table = TopicTable(FileTopics("unused"), ("t",), value=Format(kind), columns=columns)
    interpreter = Interpreter(DROPS_A_HEADER, Format("bytes"), table.value)
    odd, header = data.draw(_odd_value(kind)), data.draw(HEADERS)
    good = GOOD.get(kind, b'{"a":null}')
    event = json.loads(odd) if kind in GOOD else None
    fate, alone = _fates(interpreter, [good, odd, good], header), _fates(interpreter, [good, good], header)
    assert [fate[0], fate[2]] == alone
    if event is not None and fate[1] is KEPT_OUTCOME:
        assert _has_row(kind, event), event
    if fate[1].problem is not None:
        assert fate[1].problem.code != "SMT430", fate[1].problem
        text = header.decode(errors="replace")
        assert len(text) < 8 or text not in str(fate[1].problem)


def _has_row(kind, event):
    """Whether a message is the change of one row: no other may become a row, which would be one of nulls."""
    if kind == "canal-json":
        rows = event["data"]
        changes = event["type"] in ("INSERT", "UPDATE", "DELETE") and event.get("isDdl") is not True
        return changes and isinstance(rows, list) and len(rows) == 1 and isinstance(rows[0], dict)
    row = event.get("before" if event["op"] == "d" else "after")
    return event["op"] in ("c", "r", "u", "d") and isinstance(row, dict)


def _odd_value(kind):
    if kind == "avro":
        return st.binary(max_size=40) | st.just(b"\x02\xfe\xff\xff\xff\x0f" + b"\x7f" * 3_000)
    if kind == "csv":
        return ODD.map(lambda text: text.encode("utf-8", "surrogatepass"))
    if kind in GOOD:
        return EVENTS[kind].map(lambda event: json.dumps(event).encode())
    if kind == "envelope":
        schema = '{"schema":{"type":"struct","fields":[{"field":"a","type":"double","default":%s}]},"payload":{"a":%s}}'
        return st.tuples(ODD, ODD).map(lambda pair: (schema % pair).encode("utf-8", "surrogatepass"))
    return ODD.map(lambda text: b'{"a":' + text.encode("utf-8", "surrogatepass") + b"}")


def _fates(interpreter, values, header):
    schema, value = parse_simple_header(header)
    records = [Record("t", number=n, timestamp=2**62) for n in range(len(values))]
    for one in records:
        one.headers = [Header("h", schema, value, header, from_stage=False)]
    lost = interpreter.run_all(records, None, list(values)).lost
    return [lost.get(number, KEPT_OUTCOME) for number in range(len(values))]
