"""The measuring itself: same records every time, comparisons complete. No figure is asserted."""

import json
import random
from datetime import datetime, timezone

import pyarrow.parquet as pq
import pytest

from benchmarks import kafka, records, transforms
from benchmarks.__main__ import ALL, arguments, as_json, chosen
from benchmarks.cases import Case, Setting
from benchmarks.measure import Result, measure, ratios, ratios_to_connect, table
from benchmarks.nested_records import nested_schema, nested_value
from dagster_smt.chain.registry import own
from dagster_smt.chain.vendors import is_kafkas
from dagster_smt.spec.transform import Transform
from dagster_smt.transforms.hoist_field import HoistField


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
    assert all(c.bare for c in ALL if "bare" not in c.name and "no stage" not in c.name)


def test_every_transform_is_measured_on_both_evaluators():
    for transform in own(Transform):
        name, sides = transform.__name__, "$Value" if transform.sided else ""
        labels = [name + sides] if is_kafkas(transform.connect_class) else []
        labels = labels or [transforms.called(transform.connect_class + sides)]
        measured = [case.name.split(" ")[0] for case in transforms.CASES if case.name.split(", ")[1] in labels]
        wanted = [] if name in transforms._ONE_RECORD else ["lazy", "declared"]
        assert measured == (["declared"] if name == "SetSchemaMetadata" else wanted), name


def test_a_class_that_no_table_has_is_measured_with_its_example():
    example = HoistField.examples[0]
    cases = transforms._of_example(HoistField.connect_class + "$Value", example)
    names = [case.name for case in cases]
    assert names[1::2] == ["lazy JSON, HoistField$Value", "declared JSON, HoistField$Value"]
    assert [case.bare for case in cases] == ["", names[0], "", names[2]]


def test_only_brings_the_bare_counterpart_along():
    assert chosen(["LAZY"])[0].name == "bare from_json + to_json"
    assert chosen(["no such case"]) == []


def test_a_round_runs_every_case_once_and_the_first_does_not_count():
    runs = []
    cases = [Case("bare", lambda s: runs.append("bare")), Case("ours", lambda s: runs.append("ours"), "bare")]
    results = measure(cases, None, 2, lambda line: None)
    assert runs == ["bare", "ours"] * 3
    assert [len(r.seconds) for r in results] == [2, 2]


def test_results_say_how_many_times_bare_spark_a_case_takes():
    bare, ours = Case("bare", print), Case("ours", print, "bare")
    results = [Result(bare, (2.0, 1.0, 9.0)), Result(ours, (3.0, 3.0, 3.0))]
    assert ratios(results) == {"bare": 1.0, "ours": 1.5}
    assert ratios(results[1:]) == {"ours": None}
    assert table(results, 6000).splitlines()[-1].split() == ["ours", "3.00", "3.00", "3.00", "2", "1.50"]
    assert json.loads(as_json(results, {}, 6000))["cases"][1]["to_bare"] == 1.5


def test_results_say_how_many_times_kafka_connect_a_case_takes():
    connect, ours = Case("bare Connect", print), Case("ours", print, "bare Connect", connect="bare Connect")
    results = [Result(connect, (2.0,)), Result(ours, (3.0,))]
    assert ratios_to_connect(results) == {"bare Connect": None, "ours": 1.5}
    head, first, second = table(results, 6000).splitlines()
    assert head.endswith("x Connect")
    assert (first.split()[-1], second.split()[-1]) == ("-", "1.50")
    assert [c["to_connect"] for c in json.loads(as_json(results, {}, 6000))["cases"]] == [None, 1.5]


def test_a_case_with_a_clock_of_its_own_gives_the_seconds():
    result = measure([Case("bare", lambda s: 7.5)], None, 1, lambda line: None)[0]
    assert result.seconds == (7.5,)


def test_kafka_cases_are_compared_with_ones_that_exist():
    names = [c.name for c in kafka.CASES]
    assert all(other in names for c in kafka.CASES for other in (c.bare, c.connect) if other)


@pytest.mark.parametrize("wrong", [["--records", "0"], ["--repeats", "0"]])
def test_nothing_to_measure_is_refused(wrong):
    with pytest.raises(SystemExit):
        arguments(wrong)


@pytest.mark.parametrize("case", ALL, ids=lambda c: c.name)
def test_every_case_runs(case, spark, tmp_path):
    frame = spark.read.parquet(str(records.ensure(tmp_path / "in", 40)))
    nested = spark.read.parquet(str(records.ensure(tmp_path / "in", 4, "nested", nested_value)))
    case.run(Setting(frame, 40, tmp_path / "out", Setting(nested, 4, tmp_path / "out")))
