"""What a sink's options become: keys, deletions, partitions, names of tables, the pace of runs."""

import json

import pytest
import yaml

from dagster_smt.chain import parse_chain
from dagster_smt.cli import main
from dagster_smt.connect import Connector, Worker, written_component
from dagster_smt.connect.settings import cron_of
from dagster_smt.interpret.interpreter import DROPPED_STATUS, Interpreter
from tests.connect.shapes import AVRO, JSON, KAFKA, STRING_KEY
from tests.transforms.helpers import record_of

SOURCE = {"kafka": {"bootstrap_servers": "localhost:9092"}}
AVRO_KEY = {k.replace("value.", "key."): v for k, v in AVRO.items()}
JDBC = {"connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector", "topics": "orders", **AVRO, **AVRO_KEY}
S3 = {"connector.class": "io.confluent.connect.s3.S3SinkConnector", "topics": "orders", **STRING_KEY}
ICEBERG = {"connector.class": "org.apache.iceberg.connect.IcebergSinkConnector", "topics": "t", "iceberg.tables": "d.t"}
TIME = "io.confluent.connect.storage.partitioner.TimeBasedPartitioner"


def written(config, **more):
    return written_component(Connector("orders", config), SOURCE, **more)


def sink(config, **more):
    ((_, options),) = written(config, **more).attributes["sink"].items()
    return {k: v for k, v in options.items() if k not in ("path", "table", "kind")}


def verdict(config, option):
    (result,) = (v for v in written(config).options if v.option == option)
    return result.verdict


UPSERT = {"insert.mode": "upsert", "pk.mode": "record_key", "pk.fields": "id"}
NOTHING = {"deletes": "ignore", "delete_flag": ""}


@pytest.mark.parametrize(
    ("options", "becomes"),
    [
        ({}, {}),
        ({"insert.mode": "insert", "pk.mode": "none"}, {}),
        (UPSERT, {"mode": "upsert", "keys": ["id"], **NOTHING}),
        ({**UPSERT, "delete.enabled": "true"}, {"mode": "upsert", "keys": ["id"], "deletes": "apply"}),
        ({**UPSERT, "pk.fields": ""}, {"mode": "upsert", "keys": "record_key", **NOTHING}),
        ({**UPSERT, "pk.mode": "record_value"}, {"mode": "upsert", "keys": ["id"], **NOTHING}),
        ({**UPSERT, "pk.mode": "kafka"}, {}),
        ({**UPSERT, "insert.mode": "update"}, {"mode": "upsert", "keys": ["id"], **NOTHING}),
        ({"auto.evolve": "false"}, {"schema_evolution": "none"}),
        ({"auto.evolve": "true"}, {}),
    ],
)
def test_rows_of_databases(options, becomes):
    config = {**JDBC, **options}
    assert sink(config) == becomes
    assert not any(v.verdict == "not done" for v in written(config).options)


@pytest.mark.parametrize(
    ("options", "not_done"),
    [
        ({"insert.mode": "upsert", "pk.mode": "record_value"}, {"insert.mode", "pk.mode"}),
        ({"insert.mode": "upsert"}, {"insert.mode"}),
        ({"insert.mode": "merge"}, {"insert.mode"}),
        ({**UPSERT, "pk.mode": "record_header"}, {"insert.mode", "pk.mode", "pk.fields"}),
        ({"insert.mode": "insert", "pk.mode": "record_key"}, {"pk.mode"}),
        ({"delete.enabled": "true"}, {"delete.enabled"}),
        ({**UPSERT, "pk.fields": "", **STRING_KEY}, {"insert.mode", "pk.mode"}),
        ({**UPSERT, **JSON}, {"insert.mode", "pk.mode", "pk.fields"}),
    ],
)
def test_rows_that_a_table_cannot_have(options, not_done):
    config = {
        k: v for k, v in {**JDBC, **options}.items() if not (options.get("key.converter") and "key.converter." in k)
    }
    if "schemas.enable" in str(options):
        config = {k: v for k, v in config.items() if "value.converter.schema.registry" not in k and "auth" not in k}
    assert "mode" not in sink(config)
    assert {v.option for v in written(config).options if v.verdict == "not done"} == not_done


def test_debeziums_spelling_is_the_same():
    options = {"insert.mode": "upsert", "primary.key.mode": "record_key", "primary.key.fields": "id"}
    config = {**JDBC, "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector", **options}
    assert sink({**config, "delete.enabled": "true", "schema.evolution": "basic"}) == {
        "mode": "upsert",
        "keys": ["id"],
        "deletes": "apply",
    }


def test_without_a_converter_jdbc_has_a_schema():
    config = {"connector.class": JDBC["connector.class"], "topics": "orders", **UPSERT}
    table = written(config).attributes["table"]
    assert (table["key"], table["value"]) == ({"kind": "envelope"}, {"kind": "envelope"})
    assert sink(config)["mode"] == "upsert"


@pytest.mark.parametrize(
    ("pattern", "path", "outcome"),
    [
        ("${topic}", "lake/orders", "used"),
        ("shop_${topic}", "lake/shop_orders", "used"),
        ("public.orders", "lake/public.orders", "used"),
        ("../../x", "lake/x", "used"),
        ("${value}", "lake/orders", "not done"),
    ],
)
def test_names_of_tables(pattern, path, outcome):
    config = {**JDBC, "table.name.format": pattern}
    assert written(config).attributes["sink"]["delta"]["path"] == path
    assert verdict(config, "table.name.format") == outcome


@pytest.mark.parametrize(
    ("lists", "stage"),
    [
        ({"fields.whitelist": "a,b"}, {"include": "a,b"}),
        ({"field.include.list": "orders:a, orders:b"}, {"include": "a,b"}),
        ({"field.exclude.list": "a"}, {"exclude": "a"}),
    ],
)
def test_lists_of_fields_are_a_stage(lists, stage):
    chain = written({**JDBC, **lists}).chain
    assert all(f"transforms.whitelist.{name}={value}" in chain for name, value in stage.items())


@pytest.mark.parametrize(
    ("mode", "fields"),
    [("record_value", "id,no,email"), ("record_key", "no,email"), ("none", "no,email")],
)
def test_a_whitelist_leaves_the_key_columns_of_the_value(mode, fields):
    options = {"pk.mode": mode, "pk.fields": "id,no", "fields.whitelist": "no,email"}
    chain = written({**JDBC, **options}).chain
    assert f"transforms.whitelist.include={fields}\n" in chain


def test_lists_for_one_of_several_topics_are_not_done():
    assert verdict({**JDBC, "topics": "a,b", "field.include.list": "a:x"}, "field.include.list") == "not done"


DAY = {"partitioner.class": TIME, "path.format": "'year'=YYYY/'month'=MM/'day'=dd", "timezone": "UTC"}


@pytest.mark.parametrize(
    ("options", "partitions"),
    [
        ({**DAY, "timestamp.extractor": "RecordField", "timestamp.field": "at"}, ["day(at)"]),
        ({**DAY, "timestamp.extractor": "RecordField"}, ["day(timestamp)"]),
        ({**DAY, "timestamp.extractor": "Record"}, ["day(_record_time)"]),
        ({**DAY, "path.format": "YYYY/MM/dd/HH", "timestamp.extractor": "Record"}, ["hour(_record_time)"]),
        ({**DAY, "path.format": "YYYY-MM", "timestamp.extractor": "Record"}, ["month(_record_time)"]),
        ({"partitioner.class": TIME.replace("TimeBased", "Hourly")}, ["hour(_record_time)"]),
        ({"partitioner.class": TIME.replace("TimeBased", "Field"), "partition.field.name": "a, b"}, ["a", "b"]),
        ({"partitioner.class": TIME.replace("TimeBased", "Default")}, None),
        ({}, None),
        ({"file.name.template": "{{topic}}/{{timestamp:unit=yyyy}}/{{timestamp:unit=MM}}"}, ["month(_record_time)"]),
        ({"file.name.template": "{{topic}}-{{partition}}-{{start_offset}}"}, None),
    ],
)
def test_partitions_of_files(options, partitions):
    config = {**S3, **AVRO, **options}
    assert sink(config).get("partition_by") == partitions
    assert not any(v.verdict == "not done" for v in written(config).options)
    has_stage = "transforms.recordTime.timestamp.field=_record_time" in written(config).chain
    assert has_stage == bool(partitions and "_record_time" in partitions[0])


def test_records_are_partitioned_by_their_own_column():
    config = {**S3, **JSON, **DAY, "timestamp.extractor": "Record"}
    assert sink(config) == {"partition_by": ["day(timestamp)"]}
    assert "recordTime" not in written(config).chain


@pytest.mark.parametrize(
    "options",
    [
        {"partitioner.class": "com.example.Own"},
        {**DAY, "path.format": "'all'"},
        {**DAY, "timestamp.extractor": "com.example.Own"},
        {"file.name.template": "{{key}}"},
        {"file.name.template": "{{timestamp:unit=century}}"},
        {**DAY, "timestamp.extractor": "RecordField", **JSON},
    ],
)
def test_partitions_that_are_not_known(options):
    config = {**S3, **({} if "value.converter" in options else AVRO), **options}
    assert sink(config).get("partition_by") in (None, ["day(_record_time)"])
    assert any(v.verdict == "not done" for v in written(config).options)


@pytest.mark.parametrize(
    ("behaviour", "outcome"), [("ignore", "changed"), ("fail", "used"), ("write", "not done"), ("IGNORE", "changed")]
)
def test_records_without_a_value(behaviour, outcome):
    config = {**S3, **AVRO, "behavior.on.null.values": behaviour}
    assert verdict(config, "behavior.on.null.values") == outcome
    assert ("predicates.noValue.type" in written(config).chain) == (outcome == "changed")


def test_the_added_filter_keeps_out_of_the_way():
    taken = {"transforms": "noValue", "transforms.noValue.type": f"{KAFKA}transforms.Flatten$Value"}
    chain = written({**S3, **AVRO, "behavior.on.null.values": "ignore", **taken}).chain
    assert "transforms=noValue,noValue_" in chain and "transforms.noValue_.predicate=noValue" in chain


@pytest.mark.parametrize(
    ("options", "attributes"),
    [
        ({"flush.size": "1000"}, {"lag_sensor": {"min_records": 1000}}),
        (
            {"flush.size": "5", "rotate.interval.ms": "60000", "rotate.schedule.interval.ms": "-1"},
            {"lag_sensor": {"min_records": 5, "max_age_seconds": 60.0}},
        ),
        ({"rotate.interval.ms": "600000"}, {"schedule": "*/10 * * * *"}),
        ({"flush.size": "${file:x:y}"}, {}),
    ],
)
def test_the_pace_of_files(options, attributes):
    result = written({**S3, **AVRO, **options}).attributes
    assert {k: result[k] for k in ("schedule", "lag_sensor") if k in result} == attributes


@pytest.mark.parametrize(
    ("seconds", "cron"),
    [(60, "*/1 * * * *"), (300, "*/5 * * * *"), (420, "*/6 * * * *"), (3600, "0 * * * *"), (5400, "0 * * * *"),
     (8000, "0 */2 * * *"), (90000, "0 0 * * *")],
)  # fmt: skip
def test_schedules(seconds, cron):
    assert cron_of(seconds) == cron


@pytest.mark.parametrize(
    ("options", "becomes"),
    [
        ({}, {}),
        (
            {"default-partition-by": "day(at),bucket(id, 16),region"},
            {"partition_by": ["day(at)", "bucket(16, id)", "region"]},
        ),
        ({"default-partition-by": "hours(at)"}, {"partition_by": ["hour(at)"]}),
        ({"default-id-columns": "id"}, {}),
        (
            {"default-id-columns": "id", "upsert-mode-enabled": "true"},
            {"mode": "upsert", "keys": ["id"], **NOTHING},
        ),
        ({"evolve-schema-enabled": "true"}, {"schema_evolution": "widen"}),
        ({"evolve-schema-enabled": "false"}, {"schema_evolution": "none"}),
        (
            {"auto-create-props.write.format.default": "parquet", "auto-create-props.format-version": "2"},
            {"properties": {"write.format.default": "parquet"}},
        ),
        ({"auto-create-props.write.target-file-size-bytes": "1048576"}, {"target_file_size": 1048576}),
    ],
)
def test_options_of_iceberg(options, becomes):
    config = {**ICEBERG, **AVRO, **{f"iceberg.tables.{k}": v for k, v in options.items()}}
    assert sink(config) == becomes


def test_options_of_one_table_of_iceberg_win():
    config = {
        **ICEBERG,
        **AVRO,
        "iceberg.table.d.t.partition-by": "day(at)",
        "iceberg.tables.default-partition-by": "x",
    }
    assert sink(config)["partition_by"] == ["day(at)"]


def test_keys_of_bigquery():
    class_ = {"connector.class": "com.wepay.kafka.connect.bigquery.BigQuerySinkConnector", "topics": "orders"}
    options = {"upsertEnabled": "true", "deleteEnabled": "true", "kafkaKeyFieldName": "k", "mergeIntervalMs": "60000"}
    result = written({**class_, **options, **AVRO, **AVRO_KEY})
    assert result.attributes["sink"]["delta"]["mode"] == "upsert"
    assert result.attributes["schedule"] == "*/1 * * * *"


WORKER = Worker(
    {
        **AVRO,
        "key.converter": f"{KAFKA}storage.StringConverter",
        "consumer.isolation.level": "read_committed",
        "consumer.auto.offset.reset": "latest",
        "config.providers": "secrets,vault",
        "config.providers.secrets.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        "config.providers.vault.class": "com.example.VaultConfigProvider",
    }
)


def test_the_worker_gives_what_the_connector_leaves_open():
    result = written({"connector.class": "FileStreamSink", "topics": "t"}, worker=WORKER)
    table = result.attributes["table"]
    assert (table["key"]["kind"], table["value"]["kind"]) == ("string", "avro-confluent")
    assert table["source"]["kafka"]["isolation_level"] == "read_committed" and table["start"] == "latest"
    assert [n.verdict for n in result.notes] == ["exact", "exact"]
    assert not any("isolation" in line for line in result.proposals)


def test_the_connectors_own_converter_wins():
    result = written({"connector.class": "FileStreamSink", "topics": "t", **JSON}, worker=WORKER)
    assert result.attributes["table"]["value"] == {"kind": "json"}


def test_references_get_the_usual_names_of_providers():
    login = {"value.converter.basic.auth.user.info": "${secrets:/run/registry.properties:login}"}
    result = written({"connector.class": "FileStreamSink", "topics": "t", **AVRO, **login}, worker=WORKER)
    options = result.attributes["table"]["value"]["options"]
    assert options["basic-auth.user-info"] == "${file:/run/registry.properties:login}"


ROUTE = {"transforms": "r", "transforms.r.type": f"{KAFKA}transforms.RegexRouter", "transforms.r.regex": "(.*)"}
ROUTE |= {"transforms.r.replacement": "x_$1"}
BY_TIME = {"transforms": "r", "transforms.r.type": f"{KAFKA}transforms.TimestampRouter"}


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ({**JDBC, "topics": "a,b"}, "lake/orders/{topic}"),
        ({**JDBC, "topics": "a,b", "table.name.format": "shop.${topic}"}, "lake/orders/shop.{topic}"),
        ({**JDBC, "topics": "a,b", **ROUTE}, "lake/orders/{topic}"),
        ({**JDBC, **ROUTE}, "lake/orders"),
        ({**JDBC, **BY_TIME}, "lake/orders/{topic}"),
        ({**JDBC, "topics": "a,b", "table.name.format": "all"}, "lake/all"),
        ({**S3, **AVRO, "topics": "a,b"}, "lake/orders/{topic}"),
        ({**{k: v for k, v in JDBC.items() if k != "topics"}, "topics.regex": "a.*"}, "lake/orders/{topic}"),
    ],
)
def test_a_table_for_each_topic(config, path):
    result = written(config)
    assert result.attributes["sink"]["delta"]["path"] == path
    assert not any(v.verdict == "not done" for v in result.options)


def test_keys_in_a_table_for_each_topic():
    many = {**JDBC, **UPSERT, "topics": "a,b"}
    assert not any(v.verdict == "not done" for v in written(many).options)
    one = {**many, "table.name.format": "all"}
    assert {v.option for v in written(one).options if v.verdict == "not done"} == {"topics"}


ROUTE = {"iceberg.tables.route-field": "kind", "iceberg.table.d.t.route-regex": "a|b"}


def verdicts(config):
    return {v.option: v.verdict for v in written({**ICEBERG, **AVRO, **config}).options if "route" in v.option}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (ROUTE, {"iceberg.tables.route-field": "used", "iceberg.table.d.t.route-regex": "used"}),
        ({"iceberg.table.d.t.route-regex": "a"}, {"iceberg.table.d.t.route-regex": "not needed"}),
        ({"iceberg.tables.route-field": "kind"}, {"iceberg.tables.route-field": "not done"}),
        ({**ROUTE, "iceberg.tables.route-field": "at.kind"}, {"iceberg.tables.route-field": "not done"}),
    ],
)
def test_routes_of_iceberg(config, expected):
    assert expected.items() <= verdicts(config).items()


@pytest.mark.parametrize(
    ("value", "passes"),
    [
        ({"kind": "a"}, True),
        ({"kind": "b"}, True),
        ({"kind": "ab"}, False),
        ({"kind": "a\n"}, False),
        ({"kind": None}, False),
        ({}, False),
        (None, False),
    ],
)
def test_a_route_keeps_the_records_that_the_connector_writes(tmp_path, value, passes):
    json_ = {
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
    }
    file = tmp_path / "chain.properties"
    file.write_text(written({**ICEBERG, **json_, **ROUTE}).chain)
    chain = parse_chain(file)
    outcome = Interpreter(chain).run(record_of(json.dumps(value)))
    assert outcome.status == (0 if passes else DROPPED_STATUS)


def test_each_table_of_an_iceberg_sink_is_a_component(tmp_path, capsys):
    config = {**ICEBERG, **AVRO, **ROUTE, "iceberg.tables": "d.t,d.u", "iceberg.table.d.u.route-regex": "c"}
    (tmp_path / "c.json").write_text(json.dumps({"name": "lake", "config": config}))
    assert main(["import", str(tmp_path / "c.json"), "--to", str(tmp_path / "defs"), "--sample", "0"]) == 0
    assert sorted(p.name for p in (tmp_path / "defs").iterdir() if p.is_dir()) == ["lake_d_t", "lake_d_u"]
    tables = [yaml.safe_load((tmp_path / "defs" / f / "defs.yaml").read_text()) for f in ("lake_d_t", "lake_d_u")]
    assert [t["attributes"]["sink"]["iceberg"]["table"] for t in tables] == ["d.t", "d.u"]
    assert "d.u.route-regex" not in (tmp_path / "defs" / "lake_d_t" / "import.md").read_text()
