"""``SmtChainComponent``: what ``defs.yaml`` can say, what it refuses and where, and what its scaffolder writes."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
import yaml
from dagster.components.testing import create_defs_folder_sandbox

from dagster_smt import (
    FileTopics,
    Format,
    KafkaSink,
    KafkaTopics,
    SmtChainComponent,
    SmtTopicCollectionComponent,
    TableSource,
    TopicTable,
)
from dagster_smt.tables.sources.file_writer import NewRecord, append_records

CHAIN = """
transforms=hide
transforms.hide.type=org.apache.kafka.connect.transforms.MaskField$Value
transforms.hide.fields=name
"""
LEAST = {
    "asset_key": "lake/orders",
    "chain": "chain.properties",
    "table": {"source": {"files": "topics"}, "topics": ["orders"]},
    "sink": {"delta": {"path": "lake/orders"}},
}
AVRO = {"kind": "avro-confluent", "options": {"url": "http://localhost:8081"}}
KAFKA = {"kafka": {"bootstrap_servers": "localhost:9092", "options": {"kafka.security.protocol": "SSL"}}}
KEY = dg.AssetKey(["lake", "orders"])


def loaded(attributes, chain=CHAIN, **files):
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            component_cls=SmtChainComponent,
            defs_path="orders",
            defs_yaml_contents={"type": "dagster_smt.SmtChainComponent", "attributes": attributes},
        )
        defs_yaml = {"type": "dagster_smt.SmtChainComponent", "attributes": attributes}
        (path / "defs.yaml").write_text(yaml.safe_dump(defs_yaml, sort_keys=False))  # columns have an order
        (path / "chain.properties").write_text(chain)
        for name, text in files.items():
            (path / name.replace("__", ".")).write_text(text)
        with sandbox.load_component_and_build_defs(defs_path="orders") as (component, defs):
            return component, defs


def spec_of(defs, key=KEY):
    return next(s for a in defs.assets for s in getattr(a, "specs", ()) if s.key == key)


def test_the_least_that_has_to_be_said():
    component, defs = loaded(LEAST)
    assert {s.key.to_user_string() for a in defs.assets for s in a.specs} == {"lake/orders", "topics/orders"}
    spec = spec_of(defs)
    (asset,) = [a for a in defs.assets if KEY in getattr(a, "keys", ())]
    assert (spec.description, asset.op.description) == ("orders after hide", "orders after hide")
    assert [d.asset_key.to_user_string() for d in spec.deps] == ["topics/orders"]
    assert spec.metadata["dagster_smt/masked_fields"].data == ["name"]
    assert component.table.source.root.name == "topics"
    assert component.table.source.root.is_absolute()  # beside defs.yaml, wherever Dagster runs
    assert (list(defs.sensors or ()), list(defs.schedules or ())) == ([], [])


def test_everything_that_can_be_said():
    attributes = {
        **LEAST,
        "chain": [{"alias": "hide", "type": "MaskField$Value", "options": {"fields": ["name"]}}],
        "table": {
            "source": KAFKA,
            "pattern": r"orders\..*",
            "key": {"kind": "bytes"},
            "value": {"kind": "json_schema", "schema": "orders.sql", "decimal_format": "NUMERIC"},
            "start": "latest",
            "on_data_loss": "gap",
            "group": "lake",
        },
        "sink": {"iceberg": {"table": "lake.db.orders", "kind": "columns", "source_columns": None}},
        "errors_tolerance": "all",
        "dead_letter_topic": "orders.dlq",
        "dead_letters": {"delta": {"path": "dead"}},
        "partitions_def": {"type": "topics", "name": "orders_topics"},
        "checks": {"off": ["lag"], "blocking": ["dead_mask"], "severity": {"dead_mask": "WARN"}},
        "schedule": "*/15 * * * *",
        "new_topic_sensor": {"exclude": r".*\.tmp", "max_topics": 7},
        "lag_sensor": {"min_records": 100, "name": "behind"},
        "spark": {"conf": {"spark.master": "local[2]"}},
        "op": {"pool": "spark", "backfill_policy": {"type": "multi_run", "max_partitions_per_run": 3}},
        "translation": {"group_name": "lake", "owners": ["team:data"], "tags": {"tier": "gold"}},
    }
    component, defs = loaded(attributes, orders__sql="id BIGINT NOT NULL, name STRING, price DECIMAL(9,2)")
    table, spec = component.table, spec_of(defs)
    assert (table.start, table.on_data_loss, table.group, table.key.kind) == ("latest", "gap", "lake", "bytes")
    assert isinstance(table.source, KafkaTopics)
    assert table.source.options == {"kafka.security.protocol": "SSL"}
    assert [name for name, _ in table.value.schema.fields] == ["id", "name", "price"]
    assert table.value.decimal_format == "NUMERIC"
    assert (component.sink.table, component.sink.source_columns) == ("lake.db.orders", None)
    assert (component.dead_letters.path, component.dead_letter_topic) == ("dead", "orders.dlq")
    assert (spec.group_name, spec.owners, spec.tags["tier"]) == ("lake", ["team:data"], "gold")
    assert (spec.partitions_def.name, "kafka" in spec.kinds) == ("orders_topics", True)
    (asset,) = [a for a in defs.assets if KEY in getattr(a, "keys", ())]
    assert (asset.op.pool, asset.backfill_policy.max_partitions_per_run) == ("spark", 3)
    (check,) = [c for c in asset.check_specs if c.name == "dead_mask"]
    assert check.blocking
    assert defs.resources["spark"].conf == {"spark.master": "local[2]"}
    assert loaded({**LEAST, "spark": attributes["spark"]})[1].resources["spark"] is defs.resources["spark"]
    assert {s.name for s in defs.sensors} == {"lake__orders_new_topics", "behind"}
    assert [s.name for s in defs.schedules] == ["lake__orders_schedule"]


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"table": {"source": {"table": {"name": "lake.bronze"}}, "topics": ["a"]}, "observe_topics": False}, "table"),
        ({"sink": {"kafka": {"bootstrap_servers": "h:1", "create": {"partitions": 3}, "group": "g"}}}, "kafka"),
        ({"sink": {"files": {"path": "out", "group": "g"}}}, "files"),
        (
            {
                "table": {**LEAST["table"], "columns": "name STRING"},
                "sink": {"files": {"path": "out", "value": AVRO, "key": {"kind": "json"}}},
            },
            "formats",
        ),
        ({"dead_letters": {"files": "dead"}, "dead_letter_topic": "d"}, "letters"),
        ({"dead_letters": {"kafka": {"bootstrap_servers": "h:1"}}, "dead_letter_topic": "d"}, "letters"),
        ({"partitions_def": {"type": "hourly", "start_date": "2026-01-01"}}, "time"),
        ({"partitions_def": {"type": "monthly", "start_date": "2026-01-01", "timezone": "UTC"}}, "time"),
    ],
)
def test_other_sources_sinks_and_partitions(changes, kind):
    component, defs = loaded({**LEAST, **changes})
    results = {
        "table": isinstance(component.table.source, TableSource),
        "kafka": isinstance(component.sink, KafkaSink) and component.sink.topics.create is not None,
        "files": component.sink.storage == "file_topics",
        "formats": component.sink.value == Format(**AVRO) and component.sink.key == Format("json"),
        "letters": isinstance(component.dead_letters, FileTopics | KafkaTopics),
        "time": isinstance(spec_of(defs).partitions_def, dg.TimeWindowPartitionsDefinition),
    }
    assert results[kind]


def problem(attributes, **files):
    with pytest.raises(Exception) as caught:
        loaded(attributes, **files)
    return messages_of(caught.value)


def messages_of(error):
    """All messages of an error and its causes."""
    texts = []
    while error is not None:
        texts.append(str(error))
        error = error.__cause__
    return "\n".join(texts)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"sinc": {}}, "sinc"),
        ({"sink": {"delta": {"path": "a"}, "files": {"path": "b"}}}, "SMT040 sink: delta and files are given"),
        ({"sink": {}}, "SMT040 sink: no option is set"),
        ({"table": {"source": {"files": "t"}, "value": {"kind": "json_schema"}}}, "SMT041 table.value"),
        ({"table": {"source": {"files": "t"}, "value": {"kind": "json", "schema": "a INT"}}}, "json takes no schema"),
        ({"chain": [{"type": "MaskFeld$Value"}]}, "did you mean 'MaskField'"),
        ({"checks": {"off": ["dead_msk"]}}, "SMT036"),
        ({"partitions_def": {"type": "topics"}}, "name"),
        ({"new_topic_sensor": {}}, "SMT039"),
        ({"asset_key": "{{ env('SMT_NO_SUCH_VARIABLE') }}"}, "SMT_NO_SUCH_VARIABLE"),
    ],
)
def test_what_is_wrong_is_named(changes, text):
    assert text in problem({**LEAST, **changes})


def test_a_typo_is_shown_with_its_line():
    assert "defs.yaml:" in problem({**LEAST, "table": {**LEAST["table"], "patern": "x"}})


COLUMNS = {"id": "BIGINT KEY", "name": "STRING", "at": {"type": "TIMESTAMP", "metadata": "timestamp", "virtual": True}}
STATEMENT = """CREATE TABLE orders (id BIGINT KEY, name STRING, at TIMESTAMP(3) METADATA FROM 'timestamp' VIRTUAL)
WITH ('connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = 'h:1', 'key.format' = 'json')"""
TABLES = [
    {
        "topics": ["orders"],
        "source": {"kafka": {"bootstrap_servers": "h:1"}},
        "key": {"kind": "json"},
        "columns": COLUMNS,
    },
    {"statement": STATEMENT},
    {"statement": "orders.sql"},
]


@pytest.mark.parametrize("table", TABLES)
def test_columns_and_statements(table):
    component, defs = loaded({**LEAST, "table": table}, orders__sql=STATEMENT)
    expected = TopicTable.create(STATEMENT)
    assert component.table == expected and expected.row.key_fields == ("id",)
    assert spec_of(defs).deps


def test_push_down_is_said_in_the_table_or_in_its_statement():
    with_option = STATEMENT.replace("'connector'", "'scan.push-down' = 'exact', 'connector'")
    for table in ({**TABLES[0], "push_down": "exact"}, {"statement": with_option}):
        component, _ = loaded({**LEAST, "table": table})
        assert component.table == TopicTable.create(with_option) and component.table.push_down == "exact"


def test_the_topic_lists_what_the_columns_come_from():
    columns = {
        **COLUMNS,
        "trace": {"type": "BYTES", "header": "trace-id"},
        "kind": "STRING METADATA FROM 'timestamp-type'",
    }
    sink = {"delta": {"path": "lake/orders", "kind": "columns"}}
    _, defs = loaded({**LEAST, "table": {**TABLES[0], "columns": columns}, "sink": sink})
    table, topic = spec_of(defs), spec_of(defs, dg.AssetKey(["kafka", "orders"]))
    listed = {column.name for column in topic.metadata["dagster/column_schema"].columns}
    message = table.metadata["dagster/column_lineage"].deps_by_column
    assert {dep.column_name for deps in message.values() for dep in deps} <= listed
    assert [dep.column_name for dep in message["trace"]] == ["headers.trace-id"]
    assert "key" in listed  # the only column of a JSON key is the key itself, as in ksqlDB


def test_other_columns_are_another_code_version():
    versions = set()
    for columns in (COLUMNS, {**COLUMNS, "name": "BINARY"}, ""):
        _, defs = loaded({**LEAST, "table": {**TABLES[0], "columns": columns}})
        versions.add(spec_of(defs).code_version)
    assert len(versions) == 3


def test_other_formats_are_another_code_version():
    versions = []
    for table, sink in (({}, {}), ({"value": {"kind": "string"}}, {}), ({}, {"value": {"kind": "string"}})):
        to = {"files": {"path": "lake/orders", **sink}}
        _, defs = loaded({**LEAST, "table": {**TABLES[0], **table}, "sink": to})
        versions.append(spec_of(defs).code_version)
    assert len(set(versions)) == 3
    registry = {"kind": "avro-confluent", "options": {"url": "http://localhost:8081"}}
    moved = {**registry, "options": {"url": "http://registry:8081"}}
    both = [loaded({**LEAST, "table": {**TABLES[0], "value": form}, "sink": to})[1] for form in (registry, moved)]
    assert len({spec_of(defs).code_version for defs in both}) == 1  # the registry's place is no code


def test_rows_of_arrays_are_another_code_version():
    versions = []
    for options in ({}, {"arrays-as-rows": "true"}, {"arrays-as-rows": "false"}):
        table = {**TABLES[0], "columns": "id INT, name STRING", "value": {"kind": "json", "options": options}}
        columns = {**LEAST, "table": table, "sink": {"delta": {"path": "lake/orders", "kind": "columns"}}}
        versions.append(spec_of(loaded(columns)[1]).code_version)
    assert versions[0] == versions[2] != versions[1]


@pytest.mark.parametrize(
    ("table", "what"),
    [
        ({"statement": STATEMENT, "topics": ["other"]}, "table.topics: cannot be set together with a statement"),
        ({"statement": STATEMENT, "columns": "id INT"}, "table.columns: cannot be set together with a statement"),
        ({"statement": STATEMENT, "value": {"kind": "bytes"}}, "table.value: cannot be set together with a statement"),
        ({"topics": ["orders"]}, "table.source: no option is set"),
        ({"statement": "CREATE TABLE t (id INT) WITH ('what' = 'ever')"}, "WITH 'what': is not supported"),
        ({"source": {"files": "topics"}, "topics": ["a"], "columns": {"id": "INTT"}}, "type INTT is not known"),
    ],
)
def test_columns_and_statements_that_are_wrong(table, what):
    assert what in problem({**LEAST, "table": table})


def test_templates_are_rendered_in_nested_values(monkeypatch):
    monkeypatch.setenv("SMT_TEST_SERVERS", "broker:9093")
    source = {"kafka": {"bootstrap_servers": "{{ env('SMT_TEST_SERVERS') }}"}}
    component, _ = loaded({**LEAST, "table": {"source": source, "topics": ["orders"]}})
    assert component.table.source.servers == "broker:9093"


def test_a_subclass_changes_the_spec():
    class Gold(SmtChainComponent):
        def get_asset_spec(self, data):
            return super().get_asset_spec(data).replace_attributes(description="gold")

    component, _ = loaded({**LEAST, "chain": {"transforms": ""}})
    gold = Gold(**{name: getattr(component, name) for name in component.__dataclass_fields__})
    (asset,) = [a for a in gold.build_defs(None).assets if KEY in getattr(a, "keys", ())]
    assert next(iter(asset.specs)).description == "gold"


def test_it_runs(spark, tmp_path):
    append_records(FileTopics(tmp_path / "topics"), "orders", [NewRecord(None, b'{"name":"x"}')] * 2)
    table = {"source": {"files": str(tmp_path / "topics")}, "topics": ["orders"]}
    _, defs = loaded({**LEAST, "table": table, "sink": {"delta": {"path": str(tmp_path / "lake")}}})
    asset = next(a for a in defs.assets if KEY in getattr(a, "keys", ()))
    assert dg.materialize([asset], resources={"spark": spark}).success
    assert spark.read.format("delta").load(str(tmp_path / "lake")).count() == 2


# -- the scaffolder, as people call it --------------------------------------------------------------------------------

CONNECTOR = {
    "name": "orders-sink",
    "config": {
        "connector.class": "io.example.Sink",
        "topics": "orders",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": "orders.dlq",
        "transforms": "drop",
        "transforms.drop.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
        "transforms.drop.blacklist": "note",
    },
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project of somebody who has installed the package."""
    root = tmp_path_factory.mktemp("project")
    (root / "shop" / "defs").mkdir(parents=True)
    for name in ("shop/__init__.py", "shop/defs/__init__.py"):
        (root / name).touch()
    (root / "shop/definitions.py").write_text(
        "from pathlib import Path\nimport dagster as dg\n"
        "@dg.definitions\ndef defs():\n"
        "    return dg.load_from_defs_folder(path_within_project=Path(__file__).parent)\n"
    )
    (root / "pyproject.toml").write_text(
        '[project]\nname = "shop"\nversion = "0"\n[tool.dg]\ndirectory_type = "project"\n'
        '[tool.dg.project]\nroot_module = "shop"\ncode_location_target_module = "shop.definitions"\n'
    )
    return root


def dg_command(project, *arguments):
    command = [str(Path(sys.executable).with_name("dg")), *arguments]
    import os

    environment = {**os.environ, "PYTHONPATH": str(project), "DAGSTER_DG_CLI_DISABLE_TELEMETRY": "1"}
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_what_is_scaffolded_passes_the_checks_and_loads(project):
    assert dg_command(project, "scaffold", "defs", "dagster_smt.SmtChainComponent", "people")[0] == 0
    orders = ("scaffold", "defs", "dagster_smt.SmtChainComponent", "orders", "--from-connector", "orders.json")
    code, text = dg_command(project, *orders)
    assert code == 1 and text.strip().splitlines()[-1] == "Error: orders.json: No such file or directory"
    (project / "orders.json").write_text(json.dumps(CONNECTOR))
    code, text = dg_command(project, *orders)
    assert code == 1, "a class that is unknown is not done"
    last = "Error: orders-sink is written, but not all of it is done: connector.class. See the report above."
    assert text.strip().splitlines()[-1] == last
    written = (project / "shop/defs/orders/defs.yaml").read_text()
    assert "dead_letter_topic: orders.dlq" in written and "spark" not in written
    session = (project / "shop/defs/spark.py").read_text()  # one for both, and one that somebody has changed stays
    (project / "shop/defs/spark.py").write_text(session.replace("local[*]", "local[1]"))
    assert "Creating the Spark session" not in text
    assert "${env:KAFKA_SERVERS}" in written
    code, text = dg_command(project, "check", "yaml")
    assert code == 0, text
    code, text = dg_command(project, "list", "defs", "--json")
    assert code == 0, text
    assert "lake/people" in text
    assert "kafka/orders_sink" in text, "the class is unknown: its connector reads topics"
    assert (project / "shop/defs/orders/connector.patch.json").exists()


TRANSLATIONS = [
    ({"group_name": "crm", "owners": ["team:data"], "tags": {"tier": "gold"}}, {}, "topics/orders"),
    ({"key_prefix": "crm", "group_name": "crm"}, {}, "crm/topics/orders"),
    ({"key": "gold/orders", "group_name": "crm"}, {}, "topics/orders"),
    ({"key_prefix": "crm", "description": "All orders.", "kinds": ["x"]}, {}, "crm/topics/orders"),
    ({"key_prefix": "crm"}, {"observe_topics": False}, "topics/orders"),
]


@pytest.mark.parametrize(("translation", "more", "key"), TRANSLATIONS)
def test_topics_follow_the_translation_of_their_table(translation, more, key):
    _, defs = loaded({**LEAST, "translation": translation, **more})
    specs = {s.key.to_user_string(): s for a in defs.assets for s in getattr(a, "specs", ())}
    (table,) = [s for name, s in specs.items() if name.endswith("orders") and "topics" not in name]
    assert [d.asset_key.to_user_string() for d in table.deps] == [key]
    assert (key in specs) is not bool(more)
    if not more:
        topic = specs[key]
        assert topic.description == "The topic `orders`." and topic.kinds == {"topic", "file"}
        assert topic.group_name == table.group_name == translation.get("group_name", "default")
        assert (topic.owners, topic.tags.get("tier")) == (table.owners, table.tags.get("tier"))


NOT_OURS = {"OpSpecModel", "AssetSpecUpdateKwargsModel"}  # Dagster's own, and so are partitions and policies of theirs
WITHOUT = {"translation"}  # its resolver takes no description


def documented(component):
    """Each attribute of a component and of its models, with its schema; Dagster's own models left out."""
    schema = component.get_model_cls().model_json_schema()
    ours = {name for name in schema["$defs"] if name not in NOT_OURS and not name.endswith(DAGSTERS_MODELS)}
    for model in [schema, *(schema["$defs"][name] for name in ours)]:
        for name, attribute in model.get("properties", {}).items():
            if name not in WITHOUT:
                yield f"{model['title']}.{name}", attribute


DAGSTERS_MODELS = ("PartitionsDefinitionModel", "BackfillPolicyModel")


def values_of(attribute):
    """The values of an enumeration, wherever they stand in a schema."""
    result = [*attribute.get("enum", ()), *([attribute["const"]] if "const" in attribute else ())]
    inner = [part for form in ("anyOf", "oneOf", "allOf") for part in attribute.get(form, ())]
    values = attribute.get("additionalProperties")
    for part in [*inner, *([values] if isinstance(values, dict) else ())]:
        result += values_of(part)
    return [value for value in result if isinstance(value, str)]


@pytest.mark.parametrize("component", [SmtChainComponent, SmtTopicCollectionComponent])
def test_every_attribute_says_what_it_is_for_and_which_values_it_takes(component):
    """``dg utils inspect-component`` shows descriptions, and of enumerations nothing else."""
    seen = 0
    for name, attribute in documented(component):
        description = attribute.get("description", "")
        assert description, name
        assert all(value in description for value in values_of(attribute)), name
        seen += len(values_of(attribute))
    assert seen > 15


LOCAL = {"conf": {"spark.master": "local[2]"}}
MORE = {"conf": {"spark.master": "local[2]", "spark.driver.memory": "4g"}}


@pytest.mark.parametrize(
    ("first", "second", "refused"),
    [
        ({"spark": LOCAL}, {"spark": MORE}, True),
        ({"spark": LOCAL}, {"spark": LOCAL}, False),
        ({"spark": LOCAL}, {}, False),
        ({"spark": LOCAL}, {"spark": MORE, "spark_key": "other"}, False),
    ],
    ids=["different", "the same", "one of them", "another key"],
)
def test_two_components_have_one_session_or_are_told_how(first, second, refused):
    with create_defs_folder_sandbox() as sandbox:
        for name, more in (("one", first), ("two", second)):
            path = sandbox.scaffold_component(
                component_cls=SmtChainComponent,
                defs_path=name,
                defs_yaml_contents={
                    "type": "dagster_smt.SmtChainComponent",
                    "attributes": {
                        **LEAST,
                        "asset_key": f"lake/{name}",
                        "sink": {"delta": {"path": f"lake/{name}"}},
                        "observe_topics": False,
                        **more,
                    },
                },
            )
            (path / "chain.properties").write_text(CHAIN)
        (sandbox.defs_folder_path / "spark.py").unlink()  # what the scaffolder wrote, before anybody said spark
        if refused:
            with pytest.raises(Exception, match="Error while building") as raised, sandbox.build_all_defs():
                pass
            text = "SMT050 spark: lake/one and lake/two have different settings of Spark for the resource spark"
            assert text in str(raised.value.__cause__)
            return
        with sandbox.build_all_defs() as defs:
            keys = {one.get("spark_key", "spark") for one in (first, second)}
            assert {key for key in defs.resources if key in ("spark", "other")} == keys
            assert defs.resources["spark"].conf == LOCAL["conf"]


@pytest.mark.parametrize(
    ("second", "refused"),
    [
        ({"delta": {"path": "lake/orders"}}, True),
        ({"iceberg": {"path": "lake/orders"}}, True),
        ({"delta": {"path": "lake/returns"}}, False),
        ({"delta": {"table": "lake.orders"}}, False),
        ({"files": {"path": "lake/orders"}}, False),
    ],
    ids=["the same", "another format", "another path", "a name", "topics"],
)
def test_two_components_on_one_table_do_not_load(second, refused):
    first = {"delta": {"path": "lake/orders"}}
    with create_defs_folder_sandbox() as sandbox:
        for name, sink in (("one", first), ("two", second)):
            attributes = {**LEAST, "asset_key": f"lake/{name}", "sink": sink, "observe_topics": False}
            path = sandbox.defs_folder_path / name
            path.mkdir()
            content = {"type": "dagster_smt.SmtChainComponent", "attributes": attributes}
            (path / "defs.yaml").write_text(yaml.safe_dump(content))
            (path / "chain.properties").write_text(CHAIN)
        if refused:
            with pytest.raises(Exception, match="Error while building") as raised, sandbox.build_all_defs():
                pass
            assert "SMT037 lake/two: writes to lake/orders, as lake/one does" in str(raised.value.__cause__)
            return
        with sandbox.build_all_defs() as defs:
            assert len(list(defs.assets)) >= 2


def test_the_component_is_listed_with_its_documentation():
    command = [str(Path(sys.executable).with_name("dg")), "list", "components", "--package", "dagster_smt"]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert "SmtChainComponent" in done.stdout


def collection(attributes, refresh=True):
    """The definitions of a topic collection, with a state refreshed as ``dg utils refresh-defs-state`` does."""
    with create_defs_folder_sandbox() as sandbox:
        sandbox.scaffold_component(
            component_cls=SmtTopicCollectionComponent,
            defs_path="shop",
            defs_yaml_contents={"type": "dagster_smt.SmtTopicCollectionComponent", "attributes": attributes},
        )
        with sandbox.load_component_and_build_defs(defs_path="shop") as (component, defs):
            if not refresh:
                return defs
            asyncio.run(component.refresh_state(sandbox.project_root))
        with sandbox.load_component_and_build_defs(defs_path="shop") as (_, defs):
            return defs


def columns_of(defs):
    return {
        spec.key.to_user_string(): {c.name: c.type for c in spec.metadata["dagster/column_schema"].columns}
        for assets in defs.assets or ()
        for spec in assets.specs
    }


@pytest.fixture
def shop(tmp_path):
    topics = FileTopics(tmp_path)
    records = {
        "shop.orders": [b'{"id": 1, "who": {"mail": "secret@example.org"}}', b'{"id": 2}'],
        "shop.bills": [b"no json"],
        "shop.empty": [],
        "other": [b"{}"],
    }
    for topic, values in records.items():
        append_records(topics, topic, [NewRecord(None, value) for value in values])
    return {"source": {"files": str(tmp_path)}, "pattern": r"shop\..*", "exclude": ".*empty"}


def test_topics_are_assets_with_their_real_columns(shop, tmp_path):
    assert list(collection(shop, refresh=False).assets or ()) == []  # nobody was asked yet
    result = columns_of(collection(shop))
    assert set(result) == {"topics/shop.orders", "topics/shop.bills"}
    inside = {name: kind for name, kind in result["topics/shop.orders"].items() if name.startswith("value.")}
    assert inside == {"value.id": "int64", "value.who": "struct", "value.who.mail": "string"}
    assert not any(name.startswith("value.") for name in result["topics/shop.bills"])


def test_envelopes_bring_their_columns_along(tmp_path):
    schema = {"type": "struct", "fields": [{"field": "id", "type": "int32", "default": 7}]}
    value = json.dumps({"schema": schema, "payload": {"id": 1}}).encode()
    append_records(FileTopics(tmp_path), "shop", [NewRecord(None, value), NewRecord(None, None)])
    result = columns_of(collection({"source": {"files": str(tmp_path)}, "value": {"kind": "envelope"}}))
    assert result["topics/shop"]["value.id"] == "int32"


def test_the_state_has_no_values_and_a_limit(shop, tmp_path):
    component = SmtTopicCollectionComponent(FileTopics(tmp_path), pattern=r"shop\..*", max_topics=2)
    state = tmp_path.parent / f"{tmp_path.name}-state" / "s.json"
    component.write_state_to_path(state)
    assert [entry["topic"] for entry in json.loads(state.read_text())] == ["shop.bills", "shop.empty"]
    SmtTopicCollectionComponent(FileTopics(tmp_path)).write_state_to_path(state)
    assert "who" in state.read_text() and "secret" not in state.read_text()


def test_one_topic_that_cannot_be_told_does_not_stop_the_others(tmp_path):
    topics = FileTopics(tmp_path)
    values = {"empty.name": b'{"": 1}', "deep": b"[" * 100_000, "broken": b"{", "good": b'{"id": 1}'}
    for topic, value in values.items():
        append_records(topics, topic, [NewRecord(None, value)])
    result = columns_of(collection({"source": {"files": str(tmp_path)}}))
    inside = {key: [n for n in names if n.startswith("value.")] for key, names in result.items()}
    assert inside.pop("topics/good") == ["value.id"]
    assert set(inside) == {"topics/empty.name", "topics/deep", "topics/broken"}
    broken = {"source": {"files": str(tmp_path)}, "value": {"kind": "envelope"}}
    assert len(columns_of(collection(broken))) == 4


def test_columns_of_a_topic_are_those_of_the_rows_in_its_arrays(tmp_path):
    topics = FileTopics(tmp_path)
    for topic, values in {"rows": [b'[{"id": 1}, {"name": "x"}]', b"[]"], "broken": [b"{"], "empty": [b"[]"]}.items():
        append_records(topics, topic, [NewRecord(None, value) for value in values])
    value = {"kind": "json", "options": {"arrays-as-rows": "true"}}
    result = columns_of(collection({"source": {"files": str(tmp_path)}, "value": value}))
    inside = {key: [n for n in names if n.startswith("value.")] for key, names in result.items()}
    assert inside == {"topics/rows": ["value.id", "value.name"], "topics/broken": [], "topics/empty": []}


def test_a_table_is_no_place_of_topics():
    with pytest.raises(Exception) as error:
        collection({"source": {"table": {"name": "lake.t"}}}, refresh=False)
    assert "SMT038 source.table: a table is an asset itself" in messages_of(error.value)
