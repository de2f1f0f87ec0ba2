"""Dead letters as an asset, and the job that runs the failed records again after the chain was mended."""

import dagster as dg
import pytest

from dagster_smt.errors import ConfigError
from dagster_smt.orchestration import build_dead_letters_asset, build_redrive_job, build_repair_job, build_smt_assets
from dagster_smt.orchestration.definitions.tables import SmtTable
from dagster_smt.tables.sink_options import DeltaSink
from tests.orchestration.test_assets import HIDE, KEY, PERSON, append, asset, checks, failure, read, table, value

CAST = {"alias": "number", "type": "Cast$Value", "options": {"spec": "id:int32"}}
LETTERS = {"errors_tolerance": "all", "dead_letter_topic": "dead"}


def launched(instance, one, spark, **more):
    defs = dg.Definitions(
        [one, build_dead_letters_asset(one)], jobs=[build_redrive_job(one)], resources={"spark": spark}
    )
    job = defs.resolve_job_def("lake__people_redrive")
    return job.execute_in_process(instance=instance, **more)


def letters_of(result):
    key = dg.AssetKey([*KEY.path, "dead_letters"])
    return [e.materialization for e in result.get_asset_materialization_events() if e.materialization.asset_key == key]


@pytest.mark.long
def test_failed_records_come_in_once_the_chain_is_mended(spark, tmp_path):
    append(tmp_path, "people", PERSON, {**PERSON, "id": "none"}, {**PERSON, "id": 3})
    broken, mended = asset(tmp_path, chain=[HIDE, CAST], **LETTERS), asset(tmp_path, chain=[HIDE], **LETTERS)
    with dg.instance_for_test() as instance:
        first = dg.materialize([broken], instance=instance, resources={"spark": spark})
        again = launched(instance, broken, spark)  # the chain is still broken
        append(tmp_path, "people", {**PERSON, "id": 4})
        done, nothing = launched(instance, mended, spark), launched(instance, mended, spark)
        rest = dg.materialize([mended], instance=instance, resources={"spark": spark})
    (letters,) = letters_of(first)
    assert value(letters, "records_dead_lettered") == 1
    (why,) = (dict(r.data) for r in letters.metadata["dagster_smt/dead_letters"].records)
    assert (why["stage"], why["topic"]) == ("number", "people") and "none" not in str(why)
    assert value(letters_of(again)[0], "records_dead_lettered") == 1
    (table,) = done.asset_materializations_for_node("lake__people")
    assert (value(table, "records_in"), value(table, "records_out")) == (1, 1)
    assert value(table, "start_offsets") == {"people": {"0": 1}} and table.metadata["dagster/row_count"].value == 3
    assert not nothing.asset_materializations_for_node("lake__people") and nothing.success
    assert sorted(r.offset for r in read(spark, tmp_path).collect()) == [0, 1, 2, 3]
    assert rest.success


TOPICS_OF_JOB = dg.DynamicPartitionsDefinition(name="people_topics")


@pytest.mark.parametrize(("build", "flag"), [(build_redrive_job, "redrive"), (build_repair_job, "repair")])
def test_a_job_of_partitioned_topics_is_launched_without_one_and_opens_ready(tmp_path, build, flag):
    """Its Launchpad shows what is in the config of a job that asks for no partition."""
    one = asset(tmp_path, partitions_def=TOPICS_OF_JOB, **LETTERS)
    defs = dg.Definitions([one], jobs=[build(one)], resources={"spark": object()})
    dg.Definitions.validate_loadable(defs)
    job = defs.resolve_job_def(f"lake__people_{flag}")
    assert job.partitions_def is None
    ((step, source),) = job.run_config["ops"].items()
    assert (step, source["config"]["window"][flag]) == (f"lake__people_{flag}_topics", True)


@pytest.mark.long
def test_failed_records_of_all_topics_come_in_as_partitions(spark, tmp_path):
    bad = {**PERSON, "id": "none"}
    for topic in ("people", "pets", "plants"):
        append(tmp_path, topic, PERSON, *([bad] if topic != "plants" else []))
    results = {**LETTERS, "topics": ("people", "pets", "plants"), "partitions_def": TOPICS_OF_JOB}
    broken, mended = asset(tmp_path, chain=[HIDE, CAST], **results), asset(tmp_path, chain=[HIDE], **results)
    with dg.instance_for_test() as instance:
        nothing = launched(instance, broken, spark)
        assert nothing.success and not nothing.get_asset_materialization_events()
        instance.add_dynamic_partitions("people_topics", ["people", "pets", "plants"])
        tags = {"dagster/asset_partition_range_start": "people", "dagster/asset_partition_range_end": "plants"}
        dg.materialize([broken], instance=instance, resources={"spark": spark}, tags=tags)
        config = {"ops": {"lake__people_redrive_topics": {"config": {"window": {"redrive": True, "topics": ["pets"]}}}}}
        some, rest = launched(instance, mended, spark, run_config=config), launched(instance, mended, spark)
        refused = dg.materialize([mended], instance=instance, resources={"spark": spark}, raise_on_error=False)
    for result, topic in ((some, "pets"), (rest, "people")):
        (event,) = (
            e for e in result.asset_materializations_for_node("lake__people_redrive_topics") if e.asset_key == KEY
        )
        counts = value(event, "records_in"), event.metadata["dagster/partition_row_count"].value
        assert (event.partition, counts) == (topic, (1, 2))
        assert checks(result)["no_dead_letters"].passed
    assert read(spark, tmp_path).count() == 5
    assert "SMT049 lake/people: the run has no partition" in failure(refused).description


def test_the_graph_leads_from_the_table_to_its_letters(tmp_path):
    one = asset(tmp_path, **LETTERS)
    letters = build_dead_letters_asset(one)
    assert letters.key == dg.AssetKey([*KEY.path, "dead_letters"]) and [d.asset_key for d in letters.deps] == [KEY]
    assert letters.metadata["dagster_smt/dead_letter_place"].endswith(": dead")


TOPICS = dg.StaticPartitionsDefinition(["people"])
TIMES = dg.DailyPartitionsDefinition("2026-01-01")


@pytest.mark.parametrize(("source", "build"), [({}, build_dead_letters_asset), ({}, build_redrive_job)])
def test_without_dead_letters_there_is_nothing_to_show(tmp_path, source, build):
    with pytest.raises(ConfigError, match="SMT043"):
        build(asset(tmp_path, **source))


@pytest.mark.parametrize("partitions", [TIMES, dg.MultiPartitionsDefinition({"day": TIMES, "topic": TOPICS})])
def test_windows_of_time_are_launched_again_themselves(tmp_path, partitions):
    with pytest.raises(ConfigError, match=r"SMT043.*windows of time"):
        build_redrive_job(asset(tmp_path, partitions_def=partitions, **LETTERS))


def tables_of(root, chain, **more):
    """An asset of two tables in one step; only the first has dead letters."""
    letters, both = {**LETTERS, **more}, ("people", "pets")
    first = SmtTable(key="first", chain=chain, table=table(root, *both), sink=DeltaSink(root / "lake"), **letters)
    second = SmtTable(key="second", chain=[HIDE], table=table(root, *both), sink=DeltaSink(root / "other"), **more)
    return build_smt_assets(name="both", tables=[first, second])


@pytest.mark.parametrize("partitions", [None, pytest.param(TOPICS_OF_JOB, marks=pytest.mark.long)])
def test_failed_records_of_a_step_with_several_tables_come_in(spark, tmp_path, partitions):
    for topic in ("people", "pets"):
        append(tmp_path, topic, PERSON, {**PERSON, "id": "none"})
    more = {} if partitions is None else {"partitions_def": partitions}
    broken, fixed = (tables_of(tmp_path, chain, **more) for chain in ([HIDE, CAST], [HIDE]))
    with dg.instance_for_test() as instance:
        tags = {}
        if partitions is not None:
            instance.add_dynamic_partitions("people_topics", ["people", "pets"])
            tags = {"dagster/asset_partition_range_start": "people", "dagster/asset_partition_range_end": "pets"}
        assert dg.materialize([broken], instance=instance, resources={"spark": spark}, tags=tags).success
        assert read(spark, tmp_path).count() == 2
        append(tmp_path, "people", PERSON)  # not read: the job reads only what failed
        append(tmp_path, "pets", PERSON)
        defs = dg.Definitions([fixed], jobs=[build_redrive_job(fixed)], resources={"spark": spark})
        again = defs.resolve_job_def("both_redrive").execute_in_process(instance=instance)
    events = again.get_asset_materialization_events()
    assert {e.asset_key.to_user_string() for e in events if "dead_letters" not in e.asset_key.path} == {"first"}
    assert sorted(row.offset for row in read(spark, tmp_path).collect()) == [0, 0, 1, 1]


def test_a_repair_job_of_several_tables_has_a_part_for_each(tmp_path):
    job = build_repair_job(tables_of(tmp_path, [HIDE]))
    defs = dg.Definitions([tables_of(tmp_path, [HIDE])], jobs=[job], resources={"spark": object()})
    config = defs.resolve_job_def("both_repair").run_config["ops"]["both"]["config"]
    assert config == {"first": {"window": {"repair": True}}, "second": {"window": {"repair": True}}}
