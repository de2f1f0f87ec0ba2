"""A whole run over odd records: each becomes a row or a dead letter, and none ends the run."""

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.interpret.interpreter import DROPPED_STATUS, FAILED, Interpreter
from dagster_smt.model.record import Record
from dagster_smt.model.topics.format import Format
from dagster_smt.run.batch import run
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.rows.row_stages import with_row
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.topic_table import TableSource, TopicTable
from tests.spark.test_odd_records import COPY, case_of, frame_of

ONE = "t"
BOMB = b"\x02\x02x\x02\x01" + b"\xfe\xff\xff\xff\x0f" * 2
"""An Avro record whose array claims billions of items."""


def records_of(kind, seed, count):
    """Records of one topic and partition, as a table source reads them."""
    case = case_of(kind, seed, count)
    rows = [row | {"topic": ONE, "partition": 0, "timestampType": 0} for row in case.rows]
    for row in rows:
        row["timestamp"] = None if row["timestamp"] is None else row["timestamp"] % 10**15
    if kind == "avro":
        rows[0]["value"] = BOMB
    return case, rows


def fates_in_the_interpreter(spec, rows):
    """The offsets of the records that fail, and of those that are dropped, such as a statement among Canal's rows."""
    chain = with_row(spec.chain, spec.table, "columns")
    interpreter, fates = Interpreter(chain, Format("bytes"), spec.table.value), {FAILED: set(), DROPPED_STATUS: set()}
    for row in rows:
        record = Record(ONE, 0, row["offset"], row["timestamp"] and row["timestamp"] // 1000, "CreateTime", number=0)
        done = interpreter.run_all([record], None, [row["value"]])
        if 0 in done.lost:
            fates[done.lost[0].status].add(row["offset"])
    return fates[FAILED], fates[DROPPED_STATUS]


@pytest.mark.parametrize(
    ("kind", "seed", "count"),
    [
        pytest.param("json_schema", 3, 120, marks=pytest.mark.long),
        ("avro", 3, 120),
        *(
            pytest.param(kind, seed, 1_000, marks=pytest.mark.long)
            for kind in ("json_schema", "avro", "csv", "debezium-json", "canal-json", "protobuf")
            for seed in (4, 5)
        ),
    ],
)
def test_no_record_ends_a_run(spark, tmp_path, kind, seed, count):
    case, rows = records_of(kind, seed, count)
    frame_of(spark, rows).write.format("delta").save(str(tmp_path / "bronze"))
    source = TableSource(path=(tmp_path / "bronze").as_uri())
    table = TopicTable(source, (ONE,), value=case.table.value, key=Format("bytes"), columns=case.table.columns)
    letters = DeltaSink(tmp_path / "letters")
    sink = DeltaSink(tmp_path / "table", "columns")
    messages = kind in ("debezium-json", "canal-json")  # the row of a message is the columns here
    chain = parse_chain(COPY) if messages else case.chain
    spec = RunSpec("lake/odd", chain, table, sink, errors_tolerance="all", dead_letters=letters)
    run(spec, spark, lambda line: None)
    written = spark.read.format("delta").load(str(tmp_path / "table")).select("_source_offset").collect()
    letter_rows = spark.read.format("delta").load(str(tmp_path / "letters")).collect()
    rows_there = {row[0] for row in written}
    letters_there = {row["source_offset"] for row in letter_rows}
    failed, dropped = fates_in_the_interpreter(spec, rows)
    assert rows_there | letters_there | dropped == set(range(count))
    assert not rows_there & letters_there and not rows_there & dropped
    assert rows_there and failed <= letters_there
