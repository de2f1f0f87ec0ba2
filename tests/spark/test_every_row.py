"""Every row of the transforms' test tables, and every documented example, on the Spark evaluator too.

The tables are checked on the Python evaluator, row by row. Here all rows run on Spark, those of one chain and schema in
one frame; a row without a schema gets the one its value would have. What comes out is what the Python evaluator makes
of the same record. The rows lie in local relations, so that most need no job.
"""

import importlib
import inspect
import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dagster_smt.authoring.predicate import Predicate
from dagster_smt.authoring.transform import Example, Transform
from dagster_smt.chain.plan import fold_chain
from dagster_smt.chain.plugins import own
from dagster_smt.effects.code import CodeTransform
from dagster_smt.errors import ConfigError, DataError, UnsupportedError
from dagster_smt.interpret.examples import schema_of
from dagster_smt.interpret.interpreter import NO_STAGE, PASSED, Interpreter, Outcome
from dagster_smt.model.record import Record
from dagster_smt.model.topics.format import Format
from dagster_smt.spark import sql as F
from dagster_smt.spark.column_values import arrow_type, column_writer
from dagster_smt.spark.flat_columns import Leaf, built
from dagster_smt.spark.plain import from_plain, reader, to_plain
from dagster_smt.spark.sql import select
from dagster_smt.spark.stages.typed import State, TypedEvaluator
from dagster_smt.spark.versions import frame_of_arrow
from dagster_smt.values.headers.fields import header_bytes
from tests.spark.test_evaluators_agree import alike
from tests.transforms.helpers import Case, chain_of, record_of

TABLES = Path(__file__).parents[1] / "transforms"
ROOT = TABLES.parents[1]
CLASSES = (*own(Transform), *own(Predicate))
SIDES = ("key", "value")
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
METADATA = {
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_type": pa.string(),
    "headers": HEADERS,
}
NAMED_BY_VALUES = {"EventRouter"}
"""Classes that name schemas after what is in a field: columns have no such names."""
NO_COLUMNS = {"SMT207", "SMT903", "SMT904"}
"""What the Spark evaluator says it does not do."""
ONE_SENTENCE = {"SMT406"}
"""Problems that the Spark evaluator has one sentence for, where the Python evaluator says it more precisely."""


def tables() -> Iterator[tuple[type, Example]]:
    """(class, row) of every table in a module, and of every class's examples."""
    yield from ((cls, example) for cls in CLASSES for example in cls.examples)
    for path in sorted(TABLES.rglob("test_*.py")):
        module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        for table in [t for t in vars(module).values() if isinstance(t, list | tuple)]:
            for row in table:
                parts = getattr(row, "values", row if isinstance(row, tuple) else (row,))
                cases = [part for part in parts if isinstance(part, Case)]
                results = [part for part in parts if isinstance(part, type)]
                yield from ((results[0] if results else subject(module), case) for case in cases)


def subject(module: Any) -> type:
    """The class that a module of tests is about: that of its name."""
    name = module.__name__.rsplit(".test_", 1)[1]
    results = [cls for cls in CLASSES if cls.__module__.endswith("." + name) and cls in vars(module).values()]
    assert len(results) == 1, f"{module.__name__}: which class are its rows about?"
    return results[0]


@dataclass
class Group:
    """Rows of one chain and of records with the same schemas."""

    chain: Any
    rows: list[tuple[str, Record]] = field(default_factory=list)


def typed_record(row: Example) -> Record:
    """The record of a row, with a schema on the side that it gives."""
    part = row.input_part or row.shows
    record = record_of(row.before, part)
    if part in SIDES and getattr(record, part) is not None and getattr(record, f"{part}_schema") is None:
        form = Format("json_schema", schema_of(json.loads(row.before)))
        codec = getattr(Interpreter(chain_of(own(Transform)[0], {"spec": "string"}), form, form), part)
        schema, value = codec.read(row.before.encode())
        setattr(record, part, value)
        setattr(record, f"{part}_schema", schema)
    return record


@cache
def grouped() -> list[Group]:
    """All rows that can be configured, by chain and schemas."""
    results: dict[Any, Group] = {}
    for cls, row in tables():
        try:
            chain = chain_of(cls, row.options, getattr(row, "side", "Key" if row.shows == "key" else "Value"))
            record = typed_record(row)
        except (ConfigError, DataError):
            continue  # a row about a configuration, or about what no schema can say
        known = (
            json.dumps(chain.properties, sort_keys=True),
            record.key_schema,
            record.value_schema,
            topics(chain, record),
        )
        group = results.setdefault(known, Group(chain))
        group.rows.append((f"{cls.__name__}: {row.title}", record))
    return list(results.values())


def topics(chain: Any, record: Record) -> tuple[str, ...]:
    """The topics that the plan knows: one for a class of which each topic has a plan of its own."""
    transform = chain.stages[0].transform
    varies = isinstance(transform, CodeTransform) and type(transform).variant is not CodeTransform.variant
    return (record.topic,) if varies and record.topic is not None else ()


def frame_of(spark: Any, group: Group) -> tuple[Any, list[str], State]:
    """The records as a local relation, its columns, and where their values are."""
    records = [record for _, record in group.rows]
    arrays = {"in_row": pa.array(range(len(records)), pa.int32())}
    for name, kind in METADATA.items():
        values = [getattr(record, name) for record in records]
        if name == "timestamp":
            values = [None if v is None else v * 1000 for v in values]
        if name == "headers":
            values = [[{"key": h.key, "value": header_bytes(h)} for h in headers] for headers in values]
        arrays[f"m_{name}"] = pa.array(values, kind)
    columns = {name: F.col(name) for name in arrays}
    sides = {}
    for side in SIDES:
        schema = getattr(records[0], f"{side}_schema")
        if schema is not None:
            write = column_writer(schema, schema)
            arrays[f"s_{side}"] = pa.array([write(getattr(r, side)) for r in records], arrow_type(schema))
            columns[f"s_{side}"] = from_plain(F.col(f"s_{side}"), schema)
            sides[side] = Leaf(f"s_{side}", schema)
    frame = frame_of_arrow(spark, pa.table(arrays))
    status = [F.lit(0).cast("tinyint").alias("__status"), F.lit(NO_STAGE).alias("__stage"), F.lit(-1).alias("__why")]
    where = [F.col(f"m_{name}").alias(f"__{name}") for name in ("topic", "partition", "offset")]
    results = [*(column.alias(name) for name, column in columns.items()), *where, *status]
    return (
        select(frame, *results),
        [column.name for column in results],
        State(sides, {name: f"m_{name}" for name in METADATA}),
    )


def on_spark(spark: Any, group: Group) -> list[str]:
    """What the rows of a group get wrong."""
    first = group.rows[0][1]
    plan = fold_chain(group.chain, first.key_schema, first.value_schema, topics=topics(group.chain, first))
    frame, names, state = frame_of(spark, group)
    evaluator = TypedEvaluator(plan, frame, names, state)
    evaluator.run()
    columns = ["in_row", "__status", "__stage", "__why", *evaluator.touched]
    columns += ["__variant"] if evaluator.variants else []
    shown = [F.struct(*state_columns(s)).alias(f"v{n}") for n, s in evaluator.states.items()]
    wrong = []
    for row in select(evaluator.frame, *map(F.col, columns), *shown).collect():
        name, record = group.rows[row["in_row"]]
        if is_null_side(group.chain.stages[0], record):
            continue
        if needs_less(plan, record):
            failure = plan.steps[0].plan.failure
            wrong += [] if evaluator.problems[row["__why"]].code == failure.code else [f"{name}: another problem"]
            continue
        outcome = Interpreter(group.chain).run(record)
        message = difference(row, evaluator, outcome, record)
        wrong += [f"{name}: {message}"] if message else []
    return wrong


def is_null_side(stage: Any, record: Record) -> bool:
    """Whether the row is one that D6 is about: to Python a null side may have a schema, to Spark it has none."""
    rule = stage.transform.on_null()
    return bool(stage.side) and getattr(record, stage.side) is None and rule in ("apply", "wrap")


def needs_less(plan: Any, record: Record) -> bool:
    """Whether a stage refuses all records of a schema when it is planned for columns, but not this one by itself."""
    refuses = bool(plan.steps) and plan.steps[0].plan.failure is not None
    transform = plan.chain.stages[0].transform
    return refuses and isinstance(transform, CodeTransform) and transform.narrower(record) is not None


def state_columns(state: State) -> list[Any]:
    sides = [to_plain(built(layout), layout.schema).alias(side) for side, layout in state.sides.items()]
    return [*sides, *(F.col(state.columns[name]).alias(name) for name in ("topic", "headers"))]


def difference(row: Any, evaluator: TypedEvaluator, outcome: Outcome, record: Record) -> str:
    """How a row of Spark's is not what the Python evaluator has; never a value."""
    status = (row["__status"], row["__stage"])
    if status != (outcome.status, outcome.stage):
        return f"{status} instead of {(outcome.status, outcome.stage)}"
    if sum(row[name] << 62 * n for n, name in enumerate(evaluator.touched)) != record.touched:
        return "other ledger entries are touched"
    if outcome.problem is not None:
        problem, expected = evaluator.problems[row["__why"]], outcome.problem
        same = (problem.code, problem.connect_class) == (expected.code, expected.connect_class)
        said = problem.statement == expected.statement or problem.code in ONE_SENTENCE
        return "" if same and said else f"{problem.code} {problem.statement}"
    if outcome.status != PASSED:
        return ""
    number = row["__variant"] if evaluator.variants else 0
    state, values = evaluator.states[number], row[f"v{number}"]
    anonymous = evaluator.plan.chain.stages[0].label in NAMED_BY_VALUES
    wrong = [side for side in SIDES if not same_side(side, state, values, record, anonymous)]
    wrong += ["topic"] if values["topic"] != record.topic else []
    headers = [(h["key"], h["value"]) for h in values["headers"] or ()]
    wrong += ["headers"] if headers != [(h.key, header_bytes(h)) for h in record.headers] else []
    return f"another {' and '.join(wrong)}" if wrong else ""


def same_side(side: str, state: State, values: Any, record: Record, anonymous: bool) -> bool:
    expected, schema = getattr(record, side), getattr(record, f"{side}_schema")
    if side not in state.sides or expected is None:  # D6: a null side has no schema
        return expected is None and (side not in state.sides or values[side] is None)
    result = state.sides[side].schema
    if anonymous:
        schema = schema.with_(name=result.name, version=result.version)
    return result == schema and alike(reader(result)(values[side]), expected)


FIRST = 12
"""So many chains of each class run in CI; all of them with ``-m ''``."""
PARTS = 4
"""So that processes share them."""


def first_and_others() -> tuple[list[Group], list[Group]]:
    """The first chains of each class, and the others."""
    seen: Counter[type] = Counter()
    results: tuple[list[Group], list[Group]] = [], []
    for group in grouped():
        cls = type(group.chain.stages[0].transform)
        seen[cls] += 1
        results[seen[cls] > FIRST].append(group)
    return results


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.long) for part in range(1, PARTS))])
@pytest.mark.parametrize("others", [False, pytest.param(True, marks=pytest.mark.long)], ids=["first", "others"])
def test_every_row_is_the_same_on_spark(spark, others, part):
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    groups, skipped = first_and_others()[others][part::PARTS], []

    def run(group: Group) -> list[str]:
        try:
            return on_spark(spark, group)
        except UnsupportedError as error:
            skipped.append(error.problems[0].code)
            return []

    with ThreadPoolExecutor(4) as pool:
        wrong = [line for lines in pool.map(run, groups) for line in lines]
    assert wrong == [], "\n".join(wrong)
    assert set(skipped) <= NO_COLUMNS
    assert len(skipped) < 5
    assert len(groups) > 50


def test_every_table_is_found():
    """A row that this test does not see would run on one evaluator only."""
    results = {id(row) for _, row in tables()}
    for path in TABLES.rglob("test_*.py"):
        module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        written = inspect.getsource(module)
        rows = [v for t in vars(module).values() if isinstance(t, list | tuple) for v in t if isinstance(v, Case)]
        assert all(id(row) in results for row in rows)
        if path.stem != "test_every_transform" and "check(" in written:
            assert rows or "param(" in written, f"{path.name} checks rows that are in no table of the module"
