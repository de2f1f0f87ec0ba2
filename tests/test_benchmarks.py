"""The measuring itself: same records every time, comparisons complete. No figure is asserted."""

import json
import random
import subprocess
import sys
from datetime import datetime, timezone

import pyarrow.parquet as pq
import pytest

from benchmarks import beside_connect, kafka, many_tables, records, transforms
from benchmarks.__main__ import ALL, arguments, as_json, chosen
from benchmarks.cases import Case, Setting, Taken, Target
from benchmarks.connect.in_memory import passes
from benchmarks.data import DATA, Settings
from benchmarks.measure import Result, measure, micros, ratios, ratios_to_connect, table
from benchmarks.nested_records import nested_schema, nested_value
from benchmarks.page import page
from benchmarks.wide_records import wide_schema, wide_value
from dagster_smt.authoring.transform import Transform
from dagster_smt.chain import parse_chain
from dagster_smt.chain.plugins import own
from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.model.record import Record
from dagster_smt.model.topics.format import Format
from dagster_smt.transforms.aiven.hash import Hash
from dagster_smt.transforms.debezium.extract_new_record_state import ExtractNewRecordState
from dagster_smt.transforms.debezium.header_to_value import HeaderToValue
from dagster_smt.transforms.kafka.hoist_field import HoistField

NONE = {"flat": Setting(None, 6000, None)}


def test_records_are_the_same_in_every_run_and_fit_the_declared_schema(tmp_path):
    first, second = (pq.read_table(records.ensure(tmp_path / n, 40)) for n in ("a", "b"))
    assert first.equals(second)
    values = [json.loads(v) for v in first["value"].to_pylist()]
    assert {tuple(v) for v in values} == {tuple(records.value_schema().by_name)}
    offsets = sorted(zip(first["partition"].to_pylist(), first["offset"].to_pylist(), strict=True))
    assert offsets == [(p, o) for p in range(records.PARTITIONS) for o in range(10)]


def test_nested_records_fit_their_schema_and_have_addresses_at_every_depth():
    value = nested_value(random.Random(1), datetime(2026, 1, 1, tzinfo=timezone.utc))
    assert tuple(value) == tuple(nested_schema().by_name)
    assert len(json.dumps(value)) > 3000
    assert json.dumps(value).count('"email"') == 23


def test_records_are_written_once(tmp_path):
    folder = records.ensure(tmp_path, 8)
    before = {p: p.stat().st_mtime_ns for p in folder.iterdir()}
    assert records.ensure(tmp_path, 8) == folder
    assert {p: p.stat().st_mtime_ns for p in folder.iterdir()} == before


def test_every_case_is_compared_with_a_bare_one_that_exists():
    names = [c.name for c in ALL]
    assert len(set(names)) == len(names)
    assert all(c.bare in names for c in ALL if c.bare)
    beside = [c.name for c in beside_connect.CASES]
    assert len(set(beside)) == len(beside)
    assert all(other in beside for c in beside_connect.CASES for other in (c.bare, c.connect) if other)
    assert all(c.bare for c in ALL if "bare" not in c.name and "no stage" not in c.name)


def test_every_transform_is_measured_on_both_evaluators_where_an_example_goes_through():
    others = transforms.unlisted()
    for transform in own(Transform):
        name, words = transform.connect_class, ("lazy", "declared")
        kind = name + "$Value" * transform.sided
        called = name.rpartition(".")[2] if transform not in others else transforms.called(kind)
        names = [c.name.partition(" JSON, ") for c in transforms.CASES]
        measured = [word for word, _, name_of_case in names if name_of_case in (called, f"{called}$Value")]
        results = [word for word in words if transform not in others or transforms.of_example(transform, word)]
        assert measured == (["declared"] if name.endswith("SetSchemaMetadata") else results), name


@pytest.mark.parametrize(
    ("cls", "words"),
    [
        (HoistField, "lazy declared"),
        (ExtractNewRecordState, "lazy declared"),
        (Hash, "declared"),  # refuses values without a schema
        (HeaderToValue, ""),  # looks at headers, which the records do not have
    ],
    ids=lambda entry: getattr(entry, "__name__", entry),
)
def test_a_class_that_no_table_has_is_measured_with_its_example_where_that_goes_through(cls, words):
    cases = {word: transforms.of_example(cls, word) for word in ("lazy", "declared")}
    assert [word for word in cases if cases[word]] == words.split()
    assert all(case.bare == bare.name and not bare.bare for bare, case in filter(None, cases.values()))


def test_only_brings_the_bare_counterpart_along():
    assert chosen(["LAZY"])[0].name == "bare from_json + to_json"
    assert chosen(["no such case"]) == []


def test_a_round_runs_every_case_once_and_the_first_does_not_count():
    runs = []
    cases = [Case("bare", lambda s: runs.append("bare")), Case("ours", lambda s: runs.append("ours"), "bare")]
    results = measure(cases, NONE, 2, lambda line: None)
    assert runs == ["bare", "ours"] * 3
    assert [len(r.seconds) for r in results] == [2, 2]


def test_results_say_how_many_times_bare_spark_a_case_takes():
    bare, ours = Case("bare", print), Case("ours", print, "bare")
    results = [Result(bare, (2.0, 1.0, 9.0), 6000), Result(ours, (3.0, 3.0, 3.0), 6000)]
    assert ratios(results) == {"bare": 1.0, "ours": 1.5}
    assert ratios(results[1:]) == {"ours": None}
    assert table(results).splitlines()[-1].split() == ["ours", "3.00", "3.00", "3.00", "-", "2", "1.50"]
    assert json.loads(as_json(results, {}, 6000))["cases"][1]["to_bare"] == 1.5


def test_results_say_the_cost_of_one_stage_for_each_record():
    bare, stage = Case("none", print), Case("hash", print, "none", target=Target(micros=1.0), alone=True)
    results = [Result(bare, (2.0,), 10**6, (3.0,)), Result(stage, (9.0,), 10**6, (3.5,))]
    assert micros(results) == {"none": None, "hash": 0.5}
    head, first, second = table(results).splitlines()
    assert head.split()[-1] == "us/rec" and first.split()[-1] == "-" and second.endswith("0.50 <= 1.00")
    walls = [Result(bare, (2.0,), 10**6), Result(stage, (4.0,), 10**6)]  # no clock tells CPU time
    assert micros(walls)["hash"] == 2.0 and micros(walls[1:]) == {"hash": None}
    assert json.loads(as_json(results, {}, 10**6))["cases"][1]["micros"] == 0.5


def test_every_transform_with_a_key_has_a_cost():
    names = {case.name for case in transforms.CASES if case.alone}
    kinds = ("Coarsen", "Decrypt", "Detokenize", "Encrypt", "MaskPart", "Pseudonymize", "Redact", "Tokenize")
    assert {f"{word} JSON, {kind}$Value" for word in ("lazy", "declared") for kind in kinds} <= names
    (target,) = {case.target.micros for case in transforms.CASES if case.target.micros}
    assert target == 1.0


def run_of(*seconds, **facts):
    cases = [Case("bare", print), Case("ours", print, "bare", target=Target(bare=1.5))]
    results = [Result(case, (s,), 6000) for case, s in zip(cases, seconds, strict=True)]
    return json.loads(as_json(results, facts, 6000, ["ledger: +4.0 %"]))


def test_runs_are_a_table_side_by_side():
    lines = page([run_of(2.0, 3.0, cores=2), run_of(1.0, 2.0, cores=2), run_of(1.0, 1.25, cores=2)]).splitlines()
    assert lines[0] == "records 6000; cores 2"
    assert lines[4] == "| bare | 2.00 1.00 1.00 |  |  |  |"
    assert lines[5] == "| ours | 3.00 2.00 1.25 | 1.50 2.00 1.25 |  | 1.5 × bare: met |"
    assert lines[7:] == ["- ledger: +4.0 %"] * 3
    assert "1.5 × bare: **missed**" in page([run_of(2.0, 3.0), run_of(1.0, 2.0), run_of(1.0, 1.75)])
    with pytest.raises(ValueError, match="differ"):
        page([run_of(2.0, 3.0, cores=2), run_of(2.0, 3.0, cores=4)])
    with pytest.raises(ValueError, match="differ"):
        page([run_of(2.0, 3.0), {**run_of(2.0, 3.0), "cases": []}])


def test_results_say_how_many_times_kafka_connect_a_case_takes():
    connect, ours = Case("bare Connect", print), Case("ours", print, "bare Connect", connect="bare Connect")
    results = [Result(connect, (2.0,), 6000), Result(ours, (3.0,), 6000)]
    assert ratios_to_connect(results) == {"bare Connect": None, "ours": 1.5}
    head, first, second = table(results).splitlines()
    assert head.endswith("x Connect")
    assert (first.split()[-1], second.split()[-1]) == ("-", "1.50")
    assert [c["to_connect"] for c in json.loads(as_json(results, {}, 6000))["cases"]] == [None, 1.5]


def test_a_case_with_a_clock_of_its_own_gives_the_seconds():
    result = measure([Case("bare", lambda s: Taken(7.5))], NONE, 1, lambda line: None)[0]
    assert result.seconds == (7.5,)


def test_kafka_cases_are_compared_with_ones_that_exist():
    names = [c.name for c in kafka.CASES]
    assert all(other in names for c in kafka.CASES for other in (c.bare, c.connect) if other)


@pytest.mark.parametrize("wrong", [["--records", "0"], ["--repeats", "0"]])
def test_nothing_to_measure_is_refused(wrong):
    with pytest.raises(SystemExit):
        arguments(wrong)


LATER = [*transforms.CASES, *beside_connect.CASES, *many_tables.CASES]
"""Long: tests of the transforms run all of them on Spark, too; Kafka Connect's take a JVM each; tables are many."""


QUICK = (
    "lazy JSON to JSON, with ledger",
    "file topics: a read of all",
    "bare lines to Delta columns",
    "a run: lines to Delta columns, six stages",
)
"""One case of each way; in CI the others run in tests of their own parts."""


def cases():
    for case in ALL:
        if case not in LATER:
            yield pytest.param(case, id=case.name, marks=() if case.name in QUICK else pytest.mark.long)


@pytest.mark.parametrize("case", cases())
def test_every_case_runs(case, spark, tmp_path):
    case.run(Settings(spark, tmp_path, 40, tmp_path)[case.data])


@pytest.mark.long
@pytest.mark.parametrize("case", LATER, ids=lambda c: c.name)
def test_every_case_of_a_transform_and_of_kafka_connect_runs(case, spark, tmp_path):
    case.run(Settings(spark, tmp_path, 40, tmp_path)[case.data])


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(None, id="without schema", marks=pytest.mark.long),
        pytest.param(records.value_schema(), id="with schema", marks=pytest.mark.long),
    ],
)
def test_kafka_connect_makes_the_same_of_the_records(schema, tmp_path):
    values = records.ensure(tmp_path / "in", 8, "flat")
    with passes(tmp_path / "connect", values, beside_connect.FIVE, schema) as running:
        done = running.round()
    assert done.passed == 8 and done.cpu >= 0
    form = Format("json") if schema is None else Format("json_schema", schema)
    interpreter = Interpreter(parse_chain(beside_connect.FIVE), None, form)
    ours = []
    for value in (v for file in sorted(values.glob("*.parquet")) for v in pq.read_table(file)["value"].to_pylist()):
        record = Record(records.TOPIC, 0, 0, 0, "CreateTime")
        ours.append(json.loads(interpreter.process(record, None, value)[2]))
    results = [json.loads(line) for line in (tmp_path / "connect" / "shown.jsonl").read_text().splitlines()]
    assert results == ours[: len(results)] and len(results) == 4  # those of the first thread


def test_targets_are_shown_met_or_missed():
    bare, fast = Case("bare", lambda s: None), Case("fast", lambda s: None, "bare", target=Target(bare=0.5, seconds=1))
    slow = Case("slow", lambda s: None, "bare", target=Target(bare=0.5, seconds=1))
    lines = table([Result(bare, (4.0,), 1000), Result(fast, (1.0,), 1000), Result(slow, (8.0,), 1000)]).splitlines()
    assert "1.00 <= 1.00" in lines[2] and "0.25 <= 0.50" in lines[2]
    assert "8.00 > 1.00" in lines[3] and "2.00 > 0.50" in lines[3]


def test_the_summary_says_what_follows_from_several_cases():
    seconds = {"flat: JSON to JSON, five stages": 2.2, "flat: JSON to JSON, five stages, no ledger": 2.0}
    seconds |= {"flat: JSON to JSON, 1 cheap stages": 1.0, "flat: JSON to JSON, 40 cheap stages": 1.39}
    results = [Result(Case(name, lambda s: None), (taken,), 1000) for name, taken in seconds.items()]
    assert beside_connect.summary(results, 320) == [
        "ledger (flat: JSON to JSON, five stages): +10.0 % > 5 %",
        "one more cheap stage (flat: JSON to JSON): +1.0 % <= 1 %",
        "memory of a Python worker at most: 320 MB > 300 MB",
    ]
    names = {case.name for case in beside_connect.CASES}
    assert set(seconds) <= names  # else it would say nothing, and nobody would notice


_BELOW = """
import subprocess, sys
from benchmarks.processes import cpu_seconds
before = cpu_seconds()
subprocess.run([sys.executable, "-c", "sum(range(80_000_000))"], check=True)
print(cpu_seconds() - before)
"""


def test_cpu_time_of_processes_below_counts():
    """In a process of its own: Spark's workers of this one may end meanwhile, and take their time along."""
    done = subprocess.run([sys.executable, "-c", _BELOW], check=True, capture_output=True, text=True)
    assert float(done.stdout) > 0.1


@pytest.mark.parametrize(("clock", "cpu"), [([5.0, 7.5], (2.5,)), ([5.0, 4.0], ()), ([None, None], ())])
def test_cpu_time_that_went_with_a_process_is_not_told(monkeypatch, clock, cpu):
    message = iter([*clock, *clock])
    monkeypatch.setattr("benchmarks.measure.cpu_seconds", lambda: next(message))
    (result,) = measure([Case("a", lambda setting: None)], {"flat": Setting(None, 1, None)}, 1, lambda line: None)
    assert result.cpu == cpu


@pytest.mark.parametrize("name", DATA)
def test_data_sets_have_the_records_that_their_share_leaves(name, spark, tmp_path):
    setting = Settings(spark, tmp_path, 4000, tmp_path)[name]
    expected = {"nested": 400, "wide": 250, "webhooks": 80, "flat, 1,000": 1000}.get(name, 4000)
    assert (setting.records, setting.frame.count()) == (expected, expected)


def test_wide_records_fit_their_schema():
    value = wide_value(random.Random(1), datetime(2026, 1, 1, tzinfo=timezone.utc))
    assert tuple(value) == tuple(wide_schema().by_name) and 5000 < len(json.dumps(value)) < 6500
