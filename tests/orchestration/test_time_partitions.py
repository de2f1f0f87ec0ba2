"""Partitions of time that one run makes: each is told its own counts, rows and offsets, as if it had been run alone."""

from datetime import datetime, timezone

import dagster as dg
import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.model.reports.run_report import RunReport, TopicCounts
from dagster_smt.model.reports.table_facts import TableFacts
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.orchestration import SmtTable, build_smt_asset
from dagster_smt.orchestration.definitions.planned_table import PlannedTable
from dagster_smt.orchestration.launch.config_schema import RunSettings
from dagster_smt.orchestration.runs.afterwards import Afterwards
from dagster_smt.orchestration.runs.execution import SmtRun
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics
from dagster_smt.tables.window_request import WindowRequest
from tests.orchestration.test_assets import HIDE, events, read, table, value
from tests.orchestration.test_metadata import schemaless_plan

CHAIN = parse_chain([HIDE])
DAYS = dg.DailyPartitionsDefinition("2026-01-01", end_date="2026-01-06")
COUNTS = ("records_in", "records_out", "records_dropped", "records_dead_lettered", "start_offsets", "end_offsets")
GOOD, BAD = b'{"name":"x"}', b"no json"
DROP = {"alias": "drop", "type": "Filter", "predicate": {"name": "gone", "type": "RecordIsTombstone"}}


def at(day, hour=12, value=GOOD):
    moment = datetime(2026, 1, day, hour, tzinfo=timezone.utc)
    return NewRecord(None, value, (), int(moment.timestamp() * 1000))


def asset(root):
    return build_smt_asset(
        SmtTable(
            key=["lake", "people"],
            chain=[DROP, HIDE],
            table=table(root, "people", "pets"),
            sink=DeltaSink(root / "lake"),
            partitions_def=DAYS,
            errors_tolerance="all",
            dead_letter_topic="dead.people",
        )
    )


def days(first, last):
    return {
        "dagster/asset_partition_range_start": f"2026-01-0{first}",
        "dagster/asset_partition_range_end": f"2026-01-0{last}",
    }


def metadata_of(result):
    """What each partition says of itself."""
    results = {}
    for event in events(result):
        if event.asset_key.path == ["lake", "people"]:
            counts = {name: value(event, name) for name in COUNTS}
            stages = event.metadata["dagster_smt/stage_stats"].records
            counts["stages"] = [(s.data["records_in"], s.data["dropped"]) for s in stages if counts["records_in"]]
            counts["rows"] = value(event, "dagster/partition_row_count")
            results[event.partition] = counts
    return results


@pytest.mark.long
def test_each_partition_of_a_backfill_is_told_what_is_its_own(spark, tmp_path):
    """Of a backfill in one run, and of a run of each: the same. Late records are of the day among whose they lie."""
    people = [at(1), at(1, 13), at(2), at(1, 20), at(2, value=None), at(4), at(4, value=BAD), at(5, value=BAD)]
    append_records(FileTopics(tmp_path / "topics"), "people", people)
    append_records(FileTopics(tmp_path / "topics"), "pets", [at(2), at(4), at(4)])
    one = asset(tmp_path)
    with dg.instance_for_test() as instance:
        source = {"instance": instance, "resources": {"spark": spark}}
        together, alone = metadata_of(dg.materialize([one], tags=days(1, 5), **source)), {}
        rows = read(spark, tmp_path).count()
        for key in list(together)[1::2]:  # of records, of late ones and of some that fail; and of two topics
            alone |= metadata_of(dg.materialize([one], partition_key=key, **source))
        assert read(spark, tmp_path).count() == rows == 8
    assert alone == {key: together[key] for key in alone} and len(alone) == 2
    results = {key[-2:]: (t["records_in"], t["records_out"], t["rows"]) for key, t in together.items()}
    assert results == {"01": (2, 2, 2), "02": (4, 3, 3), "03": (0, 0, 0), "04": (4, 3, 3), "05": (1, 0, 0)}
    second = together["2026-01-02"]
    assert second["start_offsets"] == {"people": {"0": 2}, "pets": {"0": 0}}
    assert second["end_offsets"] == {"people": {"0": 5}, "pets": {"0": 1}}
    assert second["stages"] == [(4, 1), (3, 0)]


def test_a_day_is_run_again_with_its_late_records(spark, tmp_path):
    """No record is there twice, whichever day is run first; without the option a day leaves them where they lie."""
    people = [at(1), at(2), at(1, 20), at(3), at(1, 21), at(2, 23)]
    append_records(FileTopics(tmp_path / "topics"), "people", people)
    append_records(FileTopics(tmp_path / "topics"), "pets", [at(2), at(1)])
    one = asset(tmp_path)
    include = {"ops": {"lake__people": {"config": {"window": {"late": "include"}}}}}

    def offsets():
        rows = read(spark, tmp_path).collect()
        return sorted((r.source_topic, r.offset) for r in rows)

    with dg.instance_for_test() as instance:
        results = {"instance": instance, "resources": {"spark": spark}}

        def run(day, **more):
            key = f"2026-01-0{day}"
            return metadata_of(dg.materialize([one], partition_key=key, **results, **more))[key]

        assert run(1)["records_in"] == 1
        assert (run(1, run_config=include)["rows"], len(offsets())) == (4, 4)
        assert (run(2)["records_in"], len(offsets())) == (4, 6)
        assert (run(3)["records_in"], len(offsets())) == (3, 8)
        assert run(2, run_config=include)["records_in"] == 5
        assert run(1, run_config=include)["end_offsets"] == {"people": {"0": 5}, "pets": {"0": 2}}
    assert offsets() == [*(("people", n) for n in range(6)), ("pets", 0), ("pets", 1)]


RANGES = Window((Range("people", 0, 2, 5),))


@pytest.mark.parametrize(
    ("report", "cuts", "counts"),
    [
        (RunReport("a", RANGES, 3, 3, topics={"people": TopicCounts(3)}), (), 3),
        (RunReport("a", RANGES, 3, 3, status="already committed"), (), 3),
        (RunReport("a", RANGES, 3, 3, status="already committed"), (1,), None),
        (RunReport("a", Window(), status="already committed"), (), None),
        (RunReport("a", Window()), (), 0),
        (RunReport("a", Window(), status="empty"), (), 0),
    ],
    ids=["alone", "told late", "several told late", "an earlier commit", "no records", "nothing new"],
)
def test_a_partition_says_no_count_that_nobody_knows(report, cuts, counts):
    """A commit of a run that ended before it could tell remembers the counts of all its partitions together."""
    settings = RunSettings(CHAIN, WindowRequest(cuts=cuts), rebuild=False, errors_tolerance="none")
    planned = PlannedTable(name="a", definition=None, chain=CHAIN, own_chain=CHAIN, sink=DeltaSink("x"), topics=())
    facts, afterwards = TableFacts(rows=9), Afterwards("a", print)
    run = SmtRun(
        table=planned,
        settings=settings,
        plan=schemaless_plan(),
        reports=[report],
        facts=facts,
        afterwards=afterwards,
    )
    result = run.outcome_of_time("2026-01-01", 0).metadata
    assert result["dagster/row_count"] == 9 and result["dagster_smt/status"] == report.status
    assert result.get("dagster_smt/records_in") == result.get("dagster/partition_row_count") == counts
