"""Assets and ops on real topics: what is committed, what Dagster is told, what a failure leaves behind."""

import json
from pathlib import Path

import dagster as dg
import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.errors import ConfigError, PlanError
from dagster_smt.model.topics.format import Format
from dagster_smt.orchestration import (
    SmtAssetData,
    SmtTable,
    SmtTranslator,
    build_smt_asset,
    build_smt_op,
    topic_to_partition_key,
)
from dagster_smt.orchestration.definitions.op_names import op_name
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from tests.record_path import record_path

HIDE = {"alias": "hide", "type": "MaskField$Value", "options": {"fields": ["name"], "replacement": "*"}}
DROP = {"alias": "drop", "type": "ReplaceField$Value", "options": {"exclude": ["note"]}}
PARTITIONS = dg.DynamicPartitionsDefinition(name="topics")
KEY = dg.AssetKey(["lake", "people"])


def table(root, *topics, **more):
    return TopicTable(FileTopics(root / "topics"), topics=topics, **more)


def append(root, topic, *values):
    from dagster_smt.tables.sources.file_writer import NewRecord, append_records

    texts = [v if v is None or isinstance(v, bytes) else json.dumps(v).encode() for v in values]
    records = [NewRecord(None, text) for text in texts]
    return append_records(FileTopics(root / "topics"), topic, records)


def read(session, root):
    from dagster_smt.tables.sinks import open_table

    return open_table(session, DeltaSink(root / "lake")).read()


def asset(root, *, chain=(HIDE, DROP), topics=("people",), kind="records", **more):
    sink = DeltaSink(root / "lake", kind)
    of_step = {name: more.pop(name) for name in ("retry_policy", "translator") if name in more}
    people = SmtTable(key=KEY, chain=list(chain), table=table(root, *topics), sink=sink, **more)
    return build_smt_asset(people, **of_step)


def events(result):
    return [e.step_materialization_data.materialization for e in result.get_asset_materialization_events()]


def observations(result):
    return [e.asset_observation_data.asset_observation for e in result.all_events if e.is_asset_observation]


def checks(result):
    results = [e.event_specific_data for e in result.all_events if e.event_type_value == "ASSET_CHECK_EVALUATION"]
    return {c.check_name: c for c in results}


def value(event, name):
    return event.metadata[name if "/" in name else f"dagster_smt/{name}"].value


def failure(result):
    (event,) = result.get_step_failure_events()
    return event.step_failure_data.user_failure_data


class Untouchable:
    """A Spark resource that no wrong configuration may reach."""

    @property
    def spark_session(self):
        raise AssertionError("Spark was asked for")


PERSON = {"name": "x", "note": "y", "id": 1}


def test_a_run_reads_what_is_new_and_tells_all_of_it(spark, tmp_path):
    append(tmp_path, "people", PERSON, PERSON)
    people = asset(tmp_path)
    with dg.instance_for_test() as instance:
        (first,) = events(dg.materialize([people], instance=instance, resources={"spark": spark}))
        append(tmp_path, "people", PERSON)
        (second,) = events(dg.materialize([people], instance=instance, resources={"spark": spark}))
        third = dg.materialize([people], instance=instance, resources={"spark": spark})
    assert [value(e, "records_in") for e in (first, second)] == [2, 1]
    assert [value(e, "dagster/row_count") for e in (first, second)] == [2, 3]
    assert [value(e, "status") for e in (first, second)] == ["committed", "committed"]
    assert [value(e, "lag") for e in (first, second)] == [0, 0]
    assert value(second, "start_offsets") == {"people": {"0": 2}}
    assert value(second, "end_offsets") == {"people": {"0": 3}}
    assert first.tags["dagster/data_version"] != second.tags["dagster/data_version"]
    assert (events(third), third.success) == ([], True)  # nothing new: the catalog keeps what it shows
    (seen,) = observations(third)
    assert {k: v.value for k, v in seen.metadata.items()} == {
        "dagster/row_count": 3,
        "dagster_smt/end_offsets": {"people": {"0": 3}},
        "dagster_smt/lag": 0,
        "dagster_smt/status": "empty",
    }
    assert first.tags["dagster/code_version"] == next(iter(people.specs)).code_version
    ledger = {r.data["path"]: r.data["records"] for r in first.metadata["dagster_smt/ledger"].records}
    assert ledger == {"name": 2, "note": 2}
    values = [json.loads(r.value) for r in read(spark, tmp_path).collect()]
    assert values == [{"name": "*", "id": 1}] * 3


def test_the_run_config_may_give_another_chain_and_says_so(spark, tmp_path):
    append(tmp_path, "people", PERSON)
    config = {"chain": {"stages": [DROP]}}
    run_config = {"ops": {"lake__people": {"config": config}}}
    (event,) = events(
        dg.materialize([asset(tmp_path, allow_chain_override=True)], run_config, resources={"spark": spark})
    )
    assert value(event, "chain_overridden") is True
    assert value(event, "chain_hash") == parse_chain([DROP]).hash
    assert json.loads(read(spark, tmp_path).first().value) == {"name": "x", "id": 1}


WRONG = [
    ("option", {"chain": {"stages": [{**HIDE, "options": {"header": "name"}}]}}, "unknown option 'header'"),
    ("window", {"window": {"max_records": -1}}, "SMT031 ops.lake__people.config.window.max_records"),
]


@pytest.mark.parametrize(("name", "config", "message"), WRONG, ids=[w[0] for w in WRONG])
def test_a_wrong_config_fails_before_any_spark_work(tmp_path, name, config, message):
    retry = dg.RetryPolicy(max_retries=3)
    result = dg.materialize(
        [asset(tmp_path, retry_policy=retry)],
        {"ops": {"lake__people": {"config": config}}},
        resources={"spark": Untouchable()},
        raise_on_error=False,
    )
    outcome = failure(result)
    assert message in outcome.description and "hint: " in outcome.description
    assert outcome.metadata["dagster_smt/problems"].records[0].data["code"].startswith("SMT0")
    assert not [e for e in result.all_events if e.is_step_up_for_retry]


def test_a_chain_that_fits_no_record_is_refused_when_defined(tmp_path):
    form = Format("json_schema", parse_ddl("name STRING"))
    clash = {"alias": "origin", "type": "InsertField$Value", "options": {"topic.field": "name"}}
    with pytest.raises(PlanError, match=r"SMT110 transforms\.origin"):
        build_smt_asset(
            SmtTable(key=KEY, chain=[clash], table=table(tmp_path, "t", value=form), sink=DeltaSink(tmp_path))
        )
    with pytest.raises(ConfigError, match="SMT011 lake/people chain:"):
        asset(tmp_path, chain=[{**HIDE, "options": {"x": 1}}])


def test_rejected_records_fail_the_run_or_become_dead_letters(spark, tmp_path):
    append(tmp_path, "people", PERSON, b"no json", {"name": {"a": 1}, "id": 2})
    bad = dg.materialize([asset(tmp_path)], resources={"spark": spark}, raise_on_error=False)
    assert "SMT530" in failure(bad).description and events(bad) == []
    config = {"ops": {"lake__people": {"config": {"errors.tolerance": "all"}}}}
    people = asset(tmp_path, dead_letter_topic="dead")
    event, published = events(dg.materialize([people], config, resources={"spark": spark}))
    assert published.asset_key.path == [*KEY.path, "dead_letters"] and value(published, "records_dead_lettered") == 2
    assert [value(event, n) for n in ("records_in", "records_out", "records_dead_lettered")] == [3, 1, 2]
    letters = [r.data for r in event.metadata["dagster_smt/dead_letters"].records]
    assert {r["stage"] for r in letters} == {"value.converter", "hide"}
    assert {r["failed_in_stage"] for r in letters} == {1}


def test_an_explicit_window_replaces_what_the_table_holds_of_it(spark, tmp_path):
    append(tmp_path, "people", PERSON, PERSON, PERSON)
    people = asset(tmp_path, allow_chain_override=True)
    dg.materialize([people], resources={"spark": spark})
    config = {"chain": {"stages": [DROP]}, "window": {"explicit": {"people": {"0": [0, 3]}}}}
    run_config = {"ops": {"lake__people": {"config": config}}}
    (event,) = events(dg.materialize([people], run_config, resources={"spark": spark}))
    assert (value(event, "records_in"), value(event, "dagster/row_count")) == (3, 3)
    assert {json.loads(r.value)["name"] for r in read(spark, tmp_path).collect()} == {"x"}


def test_a_committed_window_that_dagster_never_heard_of_is_reported_once(spark, tmp_path):
    from dagster_smt.run.batch import run
    from dagster_smt.run.run_spec import RunSpec

    append(tmp_path, "people", PERSON, PERSON)
    people = asset(tmp_path)
    spec = RunSpec("lake/people", parse_chain([HIDE, DROP]), table(tmp_path, "people"), DeltaSink(tmp_path / "lake"))
    run(spec, spark)
    with dg.instance_for_test() as instance:
        results = [dg.materialize([people], instance=instance, resources={"spark": spark}) for _ in range(3)]
    (message,) = (e for result in results for e in events(result))
    assert (value(message, "status"), value(message, "records_in")) == ("already committed", 2)
    assert [len(observations(result)) for result in results] == [0, 1, 1]


@pytest.fixture
def many(spark, tmp_path):
    """Three topics as partitions; the second one holds a record that cannot be masked."""
    append(tmp_path, "a", PERSON)
    append(tmp_path, "b", PERSON, {"name": {"no": "text"}})
    append(tmp_path, "c...d", PERSON, PERSON, PERSON)
    more = {"topics": ("a", "b", "c...d"), "partitions_def": PARTITIONS, "allow_chain_override": True}
    return asset(tmp_path, **more)


def materialize_all(instance, definition, session, keys, config=None, **more):
    instance.add_dynamic_partitions("topics", keys)
    tags = {"dagster/asset_partition_range_start": keys[0], "dagster/asset_partition_range_end": keys[-1]}
    run_config = {"ops": {"lake__people": {"config": config or {}}}}
    return dg.materialize([definition], run_config, instance=instance, resources={"spark": session}, tags=tags, **more)


def test_many_partitions_are_one_run_with_metadata_for_each(spark, tmp_path, many):
    keys = ["a", topic_to_partition_key("c...d")]
    with dg.instance_for_test() as instance:
        result = events(materialize_all(instance, many, spark, keys))
        again = dg.materialize([many], instance=instance, resources={"spark": spark}, partition_key=keys[1])
        append(tmp_path, "a", PERSON)
        mixed = events(materialize_all(instance, many, spark, keys))
    result.sort(key=lambda e: e.partition)
    assert [(e.partition, value(e, "records_in"), value(e, "dagster/partition_row_count")) for e in result] == [
        ("a", 1, 1),
        ("c%2E%2E%2Ed", 3, 3),
    ]
    assert value(result[1], "end_offsets") == {"c...d": {"0": 3}}
    assert events(again) == []
    (seen,) = observations(again)
    assert (seen.partition, value(seen, "status"), value(seen, "dagster/partition_row_count")) == (keys[1], "empty", 3)
    mixed.sort(key=lambda e: e.partition)  # of one with news and one without the second shows what it did
    assert [(value(e, "status"), value(e, "records_in")) for e in mixed] == [("committed", 1), ("empty", 3)]
    assert [value(e, "dagster/partition_row_count") for e in mixed] == [2, 3]
    assert read(spark, tmp_path).count() == 5


def test_a_partition_that_fails_does_not_lose_the_others(spark, tmp_path, many):
    keys = ["a", "b", topic_to_partition_key("c...d")]
    with dg.instance_for_test() as instance:
        result = materialize_all(instance, many, spark, keys, raise_on_error=False)
        assert not result.success
        assert {e.partition: value(e, "records_out") for e in events(result)} == {"a": 1, "c%2E%2E%2Ed": 3}
        assert "b-0@1" in failure(result).description and "a-0" not in failure(result).description
        assert set(instance.get_materialized_partitions(KEY)) == {"a", "c%2E%2E%2Ed"}
    assert read(spark, tmp_path).count() == 4


def test_rebuilding_one_partition_leaves_the_others(spark, tmp_path, many):
    keys = ["a", topic_to_partition_key("c...d")]
    with dg.instance_for_test() as instance:
        materialize_all(instance, many, spark, keys)
        config = {"window": {"rebuild": True}, "chain": {"stages": [DROP]}}
        (event,) = events(materialize_all(instance, many, spark, ["a"], config))
    assert (value(event, "records_in"), value(event, "dagster/partition_row_count")) == (1, 1)
    names = {(r.source_topic, json.loads(r.value)["name"]) for r in read(spark, tmp_path).collect()}
    assert names == {("a", "x"), ("c...d", "*")}


def of_type(root, kind, sink="columns"):
    """Two topics as partitions; their ids are of a type."""
    form = Format("json_schema", parse_ddl(f"id {kind}, name STRING"))
    sources = table(root, "a", "b", value=form)
    sink = DeltaSink(root / "lake", sink)
    return build_smt_asset(SmtTable(key=KEY, chain=[HIDE], table=sources, sink=sink, partitions_def=PARTITIONS))


REBUILD = {"window": {"rebuild": True}}
AGAIN = {"window": {"explicit": {"a": {"0": [0, 1]}}}}


@pytest.mark.long
def test_a_rebuild_of_every_partition_may_change_the_columns(spark, tmp_path):
    """One of some partitions may not, and says what would do: the rows of the others keep the columns."""
    append(tmp_path, "a", PERSON)
    append(tmp_path, "b", PERSON, PERSON)
    with dg.instance_for_test() as instance:
        materialize_all(instance, of_type(tmp_path, "INT"), spark, ["a", "b"])
        texts = []
        for keys, config in ((["a"], AGAIN), (["a"], REBUILD), (["a", "b"], {"window": {"explicit": {"*": [0, 1]}}})):
            wrong = materialize_all(instance, of_type(tmp_path, "DOUBLE"), spark, keys, config, raise_on_error=False)
            texts.append(failure(wrong).description)
        assert all("SMT521 id: the table has int, the run would write double" in text for text in texts)
        assert all("for every topic of the table: b name them too" in text for text in texts[:2])
        assert "launch the same with window.rebuild: true" in texts[2]
        result = events(materialize_all(instance, of_type(tmp_path, "DOUBLE"), spark, ["a", "b"], REBUILD))
        assert {e.partition: value(e, "records_out") for e in result} == {"a": 1, "b": 2}
        assert {f.name: f.dataType.simpleString() for f in read(spark, tmp_path).schema}["id"] == "double"
        assert read(spark, tmp_path).count() == 3
        result = events(materialize_all(instance, of_type(tmp_path, "INT", "records"), spark, ["a", "b"], REBUILD))
        assert read(spark, tmp_path).count() == 3 and "key" in read(spark, tmp_path).columns


def test_an_explicit_window_must_name_every_topic_of_the_run(tmp_path):
    append(tmp_path, "a", PERSON)
    append(tmp_path, "b", PERSON)
    two = asset(tmp_path, topics=("a", "b"), partitions_def=PARTITIONS)
    config = {"window": {"explicit": {"a": {"0": [0, 1]}}}}
    with dg.instance_for_test() as instance:
        result = materialize_all(instance, two, Untouchable(), ["a", "b"], config, raise_on_error=False)
    assert "does not name every topic of the run" in failure(result).description


def test_a_column_table_has_schema_and_lineage_before_and_after(spark, tmp_path):
    append(tmp_path, "people", PERSON)
    form = Format("json_schema", parse_ddl("id INT NOT NULL, name STRING, note STRING"))
    sink = DeltaSink(tmp_path / "lake", "columns")
    people = build_smt_asset(
        SmtTable(key=KEY, chain=[HIDE, DROP], table=table(tmp_path, "people", value=form), sink=sink)
    )
    spec = next(iter(people.specs))
    (event,) = events(dg.materialize([people], resources={"spark": spark}))
    planned, seen = spec.metadata["dagster/column_schema"], event.metadata["dagster/column_schema"].value
    assert planned == seen and [c.name for c in seen.columns] == ["id", "name", *SOURCE]
    row = read(spark, tmp_path).collect()[0].asDict()
    assert row == {"id": 1, "name": "*", **dict(zip(SOURCE, ("people", 0, 0), strict=True))}
    assert [d.asset_key for d in spec.deps] == [dg.AssetKey(["topics", "people"])]


SOURCE = ("_source_topic", "_source_partition", "_source_offset")


def person(**fields):
    """An envelope: texts and numbers, with a schema of exactly these fields."""
    kinds = [{"field": n, "type": "string" if isinstance(v, str) else "int32"} for n, v in fields.items()]
    return {"schema": {"type": "struct", "fields": kinds, "optional": False}, "payload": fields}


def test_columns_of_envelopes_are_known_after_a_run(spark, tmp_path):
    append(tmp_path, "people", person(id=1, name="x"), person(id=2, note="y", mail="z"))
    sink = DeltaSink(tmp_path / "lake", "columns", source_columns=None)
    origin = {"alias": "origin", "type": "InsertField$Value", "options": {"topic.field": "t!"}}
    source = table(tmp_path, "people", value=Format("envelope"))
    people = build_smt_asset(
        SmtTable(key=KEY, chain=[HIDE, DROP, origin], table=source, sink=sink, errors_tolerance="all")
    )
    (spec,) = people.specs
    assert not {"dagster/column_schema", "dagster/column_lineage"} & set(spec.metadata)
    assert spec.metadata["dagster_smt/masked_fields"].data == ["name"]
    with dg.instance_for_test() as instance:
        runs = events(dg.materialize([people], instance=instance, resources={"spark": spark}))
        append(tmp_path, "people", b"{")  # nothing to find a schema in
        runs += events(dg.materialize([people], instance=instance, resources={"spark": spark}))
    assert [dict(r.data) for r in runs[0].metadata["dagster_smt/schema_diff"].records] == [
        {"field": "note", "change": "removed", "before": "string?", "after": ""},
        {"field": "t", "change": "added", "before": "", "after": "string"},
    ]
    for event in runs:  # also where the records bring no schema: Dagster shows the last materialization
        columns = {c.name: c for c in value(event, "dagster/column_schema").columns}
        assert {n: c.type for n, c in columns.items()} == {
            "id": "int32",
            "name": "string",
            "t": "string",
            "mail": "string",
        }
        assert [n for n, c in columns.items() if not c.constraints.nullable] == ["id", "t"]
        assert [n for n, c in columns.items() if "dagster_smt/masked" in c.tags] == ["name"]
        lineage = value(event, "dagster/column_lineage").deps_by_column
        assert {n: [d.column_name for d in deps] for n, deps in lineage.items()} == {
            "id": ["value.id"],
            "name": ["value.name"],
            "t": ["topic"],
            "mail": ["value.mail"],
        }
    assert sorted(map(tuple, read(spark, tmp_path).collect())) == [(1, "*", "people", None), (2, None, "people", "z")]


def test_ops_run_chains_in_jobs_and_can_be_configured(spark, tmp_path):
    append(tmp_path, "people", PERSON, PERSON)
    mask = build_smt_op(
        SmtTable(chain=[HIDE], table=table(tmp_path, "people"), sink=DeltaSink(tmp_path / "lake"), key=KEY), name="mask"
    )
    first_one = dg.configured(mask, name="first_one")({"window": {"max_records": 1}})
    assert mask.description == "people after hide"

    @dg.job(resource_defs={"spark": dg.ResourceDefinition.hardcoded_resource(spark)})
    def job():
        first_one()

    result = job.execute_in_process()
    assert result.output_for_node("first_one") == {
        "records_in": 1,
        "records_out": 1,
        "dropped": 0,
        "failed": 0,
        "status": "committed",
    }
    (materialized,) = events(result)
    assert materialized.asset_key == KEY
    assert materialized.tags["dagster/data_version_is_user_provided"] == "true"


def test_two_ops_of_one_job_are_two_runs(spark, tmp_path):
    """They ask for the same; the second is no retry of the first."""
    append(tmp_path, "people", PERSON, PERSON)
    sink = DeltaSink(tmp_path / "lake")
    mask = build_smt_op(SmtTable(chain=[HIDE], table=table(tmp_path, "people"), sink=sink), name="mask")
    one, two = (dg.configured(mask, name=name)({"window": {"max_records": 1}}) for name in ("one", "two"))

    @dg.job(resource_defs={"spark": dg.ResourceDefinition.hardcoded_resource(spark)})
    def job():
        one()
        two()

    result = job.execute_in_process()
    assert [result.output_for_node(n)["records_in"] for n in ("one", "two")] == [1, 1]
    assert read(spark, tmp_path).count() == 2


def test_micro_batches_are_one_materialization_that_lists_them(spark, tmp_path):
    append(tmp_path, "people", *[PERSON] * 5)
    config = {"ops": {"lake__people": {"config": {"micro_batch": {"max_records": 2, "max_batches": 2}}}}}
    (event,) = events(dg.materialize([asset(tmp_path)], config, resources={"spark": spark}))
    assert [value(event, n) for n in ("records_in", "records_out")] == [4, 4]
    assert [r.data["records_in"] for r in event.metadata["dagster_smt/batches"].records] == [2, 2]
    assert value(event, "start_offsets") == {"people": {"0": 0}} and value(event, "end_offsets") == {"people": {"0": 4}}


@pytest.mark.long
def test_a_window_for_all_topics_and_by_time(spark, tmp_path):
    for topic in ("a", "b"):
        append(tmp_path, topic, *[PERSON] * 4)
    both = build_smt_asset(
        SmtTable(key=KEY, chain=[HIDE], table=table(tmp_path, "a", "b"), sink=DeltaSink(tmp_path / "lake"))
    )
    windows = [{"explicit": {"*": [1, 3]}}, {"until": "1970-01-01T00:00:00Z"}, {"since": "0", "topics": ["a"]}]
    with dg.instance_for_test() as instance:
        for window, count in zip(windows, (4, 0, 4), strict=True):
            config = {"ops": {"lake__people": {"config": {"window": window}}}}
            result = events(dg.materialize([both], config, instance=instance, resources={"spark": spark}))
            assert [value(e, "records_in") for e in result] == [count], window  # time without records is noted, too
    assert read(spark, tmp_path).count() == 6


def test_the_translator_changes_the_spec(tmp_path):
    class Gold(SmtTranslator):
        def get_asset_spec(self, data: SmtAssetData) -> dg.AssetSpec:
            return super().get_asset_spec(data).replace_attributes(tags={"tier": "gold"}, key=["gold", "people"])

    (spec,) = asset(tmp_path, translator=Gold(), group_name="g", description="d").specs
    assert (spec.key.path, spec.tags["tier"], spec.group_name, spec.description) == (
        ["gold", "people"],
        "gold",
        "g",
        "d",
    )


@pytest.mark.parametrize(
    ("table_", "keys"),
    [
        (TopicTable(FileTopics(Path("t")), topics=("a.b", "a_b")), [["topics", "a.b"], ["topics", "a_b"]]),
        (TopicTable(KafkaTopics("h:1"), topics=("a.b",)), [["kafka", "a.b"]]),
        (TopicTable(FileTopics(Path("t")), pattern=r"github\..*"), [["topics", "pattern", "github"]]),
        (TopicTable(FileTopics(Path("t")), pattern=".*"), [["topics", "pattern", "all"]]),
    ],
)
def test_upstream_assets_stand_for_topics(tmp_path, table_, keys):
    (spec,) = build_smt_asset(SmtTable(key="a", chain=[HIDE], table=table_, sink=DeltaSink(tmp_path))).specs
    assert [d.asset_key.path for d in spec.deps] == keys


def test_op_names_differ_where_dagsters_own_would_clash():
    keys = [["a.b"], ["a-b"], ["a_b"], ["a", "b"], ["a__b"], ["ä"], ["a/b"]]
    names = [op_name(dg.AssetKey(k)) for k in keys]
    assert len(set(names)) == len(names) and names[2:4] == ["a_b", "a__b"]
    assert all(n.isascii() and n.isidentifier() for n in names)


@pytest.mark.long
def test_a_record_crosses_few_files(spark, tmp_path):
    files = record_path(tmp_path, spark)
    assert {"tables/sources/file_topics.py", "spark/evaluate.py", "run/attempt.py", "tables/sinks/delta.py"} <= set(
        files
    )
    assert len(files) <= 20, files
