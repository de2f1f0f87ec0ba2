"""Metadata from a plan and from a report made by hand."""

import zipfile
from pathlib import Path

import dagster as dg
import pytest

from dagster_smt.chain import parse_chain, plan_chain
from dagster_smt.errors import Problem
from dagster_smt.model.reports.run_report import LedgerEntry, LedgerLine, RejectedRecord, RunReport, StageCounts, Unread
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.orchestration.launch.code_versions import code_version, data_version
from dagster_smt.orchestration.metadata.definition_metadata import definition_metadata
from dagster_smt.orchestration.metadata.run_metadata import RunContext, run_metadata
from dagster_smt.orchestration.metadata.schema_metadata import column_lineage, column_schema
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.sink_options import DeltaSink, FileTopicSink
from dagster_smt.tables.topic_table import FileTopics, TopicTable

TOPIC = dg.AssetKey(["kafka", "orders"])
CHAIN = parse_chain(
    [
        {"alias": "hide", "type": "MaskField$Value", "options": {"field.syntax.version": "V2", "fields": ["who.mail"]}},
        {"alias": "names", "type": "ReplaceField$Value", "options": {"renames": {"n": "number"}, "exclude": ["note"]}},
        {"alias": "origin", "type": "InsertField$Value", "options": {"topic.field": "source|topic!"}},
    ]
)
SCHEMA = parse_ddl("n INT NOT NULL COMMENT 'how many', who STRUCT<id: INT, mail: STRING NOT NULL>, note STRING")
COLUMNS = DeltaSink(Path("lake/orders"), "columns")
RECORDS = DeltaSink(Path("lake/orders"), "records")


def typed_plan():
    return plan_chain(CHAIN, None, SCHEMA, topics=("orders",), typed=True)


def schemaless_plan():
    return plan_chain(CHAIN, None, None, typed=False)


def report(**changes):
    plan = typed_plan()
    problem = Problem("SMT401", "transforms.hide (MaskField$Value)", "cannot be masked", "mend it")
    rejects = [RejectedRecord("orders", 0, offset, "hide", problem) for offset in (11, 12)]
    values = {
        "name": "orders",
        "window": Window((Range("orders", 0, 10, 20), Range("orders", 1, 0, 4))),
        "records_in": 14,
        "records_out": 11,
        "dropped": 1,
        "failed": 2,
        "stages": [StageCounts("hide", "MaskField$Value", 14, 1, 2)],
        "ledger": [LedgerLine(LedgerEntry(0, "hide", "masked", "who.mail"), 11)],
        "before": plan.before,
        "after": plan.after,
        "rejects": rejects,
        "bytes": 1000,
        "seconds": {"read": 0.25, "write": 1.5},
        "warnings": [Problem("SMT350", "transforms.names", "touched nothing", "look")],
    }
    return RunReport(**{**values, **changes})


def test_a_table_with_keys_shows_its_keys_and_has_no_column_for_deletions():
    value = parse_ddl("id BIGINT, name STRING COMMENT 'first and last', __deleted STRING")
    key = parse_ddl("id BIGINT, region STRING")
    plan = plan_chain(parse_chain([]), key, value, topics=("orders",), typed=True)
    sink = DeltaSink(Path("lake/orders"), "columns", mode="upsert", deletes="soft")
    columns = {c.name: c for c in column_schema(plan, sink).columns}
    assert {name: (c.type, c.tags.get("dagster_smt/role")) for name, c in columns.items()} == {
        "region": ("string", "key"),
        "id": ("int64", "key"),
        "name": ("string", None),
        "_is_deleted": ("boolean", "added"),
        "_deleted_at": ("timestamp", "added"),
        "_source_topic": ("string", "source"),
        "_source_partition": ("int32", "source"),
        "_source_offset": ("int64", "source"),
    }
    assert not columns["id"].constraints.nullable and columns["name"].description == "first and last"
    deps = column_lineage(plan, sink, [TOPIC]).deps_by_column
    assert [[d.column_name for d in deps[name]] for name in ("id", "region")] == [["value.id"], ["key.region"]]
    assert "__deleted" not in deps
    whole = plan_chain(parse_chain([]), parse_ddl("id BIGINT").by_name["id"], value, topics=("orders",), typed=True)
    names = DeltaSink(Path("lake/orders"), "columns", mode="scd2", keys=["number"])
    columns = {c.name: c for c in column_schema(whole, names).columns}
    assert (columns["number"].type, columns["valid_from"].type, columns["is_current"].type) == (
        "int64",
        "timestamp",
        "boolean",
    )
    assert [d.column_name for d in column_lineage(whole, names, [TOPIC]).deps_by_column["number"]] == ["key"]


def test_schema_and_lineage_are_known_before_any_run():
    result = definition_metadata(typed_plan(), dg.AssetKey(["lake", "orders"]), COLUMNS, [TOPIC], Path("chain.yaml"))
    columns = {c.name: c for c in result["dagster/column_schema"].columns}
    assert {n: c.type for n, c in columns.items()} == {
        "number": "int32",
        "who": "struct",
        "who.id": "int32",
        "who.mail": "string",
        "source|topic": "string",
        "_source_topic": "string",
        "_source_partition": "int32",
        "_source_offset": "int64",
    }
    assert [n for n, c in columns.items() if not c.constraints.nullable] == ["number", "who.mail", "source|topic"]
    masked = {n: c.tags["dagster_smt/masked"] for n, c in columns.items() if "dagster_smt/masked" in c.tags}
    assert masked == {"who": "partly", "who.mail": ""}
    assert columns["number"].description == "how many"
    lineage = result["dagster/column_lineage"].deps_by_column
    assert set(lineage) == set(columns)
    assert {n: [(d.asset_key, d.column_name) for d in deps] for n, deps in lineage.items()} == {
        "number": [(TOPIC, "value.n")],
        "who": [(TOPIC, "value.who.id"), (TOPIC, "value.who.mail")],
        "who.id": [(TOPIC, "value.who.id")],
        "who.mail": [(TOPIC, "value.who.mail")],
        "source|topic": [(TOPIC, "topic")],
        "_source_topic": [(TOPIC, "topic")],
        "_source_partition": [(TOPIC, "partition")],
        "_source_offset": [(TOPIC, "offset")],
    }
    assert result["dagster/table_name"] == "lake.orders"
    assert result["dagster/uri"].startswith("file:///") and result["dagster/storage_kind"] == "delta"
    assert result["dagster/code_references"].code_references[0].file_path == str(Path("chain.yaml").absolute())
    assert "source\\|topic!" in result["dagster_smt/chain"].value


DDL = (
    "id INT, addresses ARRAY<STRUCT<street: STRING, no: INT>>, tags ARRAY<STRING>, all ARRAY<STRUCT<x: STRING>>, "
    "m MAP<STRING, STRUCT<street: STRING, no: INT>>"
)


@pytest.mark.parametrize(
    ("fields", "masked"),
    [
        ("addresses[*].street", {"addresses": "partly"}),
        ("tags[*]", {"tags": ""}),
        ("all[*].x", {"all": "partly"}),
        ("m[*].street", {"m": "partly"}),
        ("id", {"id": ""}),
    ],
)
def test_masked_elements_are_in_the_tags(fields, masked):
    options = {"field.syntax.version": "extended", "fields": [fields]}
    mask = parse_chain([{"alias": "hide", "type": "MaskField$Value", "options": options}])
    plan = plan_chain(mask, None, parse_ddl(DDL), typed=True)
    schema = column_schema(plan, COLUMNS)
    tags = {c.name: c.tags["dagster_smt/masked"] for c in schema.columns if "dagster_smt/masked" in c.tags}
    assert tags == masked


def test_records_without_schema_have_kafkas_columns():
    result = definition_metadata(schemaless_plan(), dg.AssetKey("a"), RECORDS, [TOPIC])
    names = [c.name for c in result["dagster/column_schema"].columns]
    assert names[:3] == ["key", "value", "topic"] and names[-1] == "source_topic"
    assert result["dagster/column_lineage"].deps_by_column["source_topic"][0].column_name == "topic"
    assert result["dagster_smt/masked_fields"].data == ["who.mail"]
    assert "dagster/code_references" not in result


def test_columns_without_schema_are_left_to_the_run():
    result = definition_metadata(schemaless_plan(), dg.AssetKey("a"), COLUMNS, [TOPIC])
    assert "dagster/column_schema" not in result and "dagster/column_lineage" not in result


def test_a_report_becomes_metadata_that_dagster_takes():
    ends = {"orders": {"0": 20, "1": 4}}
    context = RunContext(typed_plan(), COLUMNS, [TOPIC], rows=200, ends=ends, app_id="local-1", window_id="w")
    event = dg.AssetMaterialization("a", metadata=run_metadata(report(), context))
    result = event.metadata
    values = {n.removeprefix("dagster_smt/"): m.value for n, m in result.items() if n.startswith("dagster_smt/")}
    assert (values["records_in"], values["records_out"]) == (14, 11)
    assert (values["records_dropped"], values["records_dead_lettered"]) == (1, 2)
    assert (values["seconds"], values["seconds_by_phase"]) == (1.75, {"read": 0.25, "write": 1.5})
    assert (values["start_offsets"], values["end_offsets"]) == ({"orders": {"0": 10, "1": 0}}, ends)
    assert (values["status"], values["spark_app_id"], values["window_id"]) == ("committed", "local-1", "w")
    assert (values["chain_hash"], values["chain_overridden"]) == (CHAIN.hash, False)
    assert result["dagster/row_count"].value == 200
    assert {"dagster/column_schema", "dagster/column_lineage"} <= set(result)


def test_what_was_not_read_stands_in_the_metadata_and_the_report():
    unread = (
        Unread("orders", 0, "hide", 1000, (Range("orders", 0, 10, 1010),)),
        Unread("orders-eu", 0, "hide", 5, (Range("orders-eu", 0, 0, 5),), counted=False),
    )
    stages = [StageCounts("hide", "MaskField$Value", 1014, 1006, 2)]
    metadata = run_metadata(report(unread=unread, stages=stages), RunContext(typed_plan(), COLUMNS, [TOPIC]))
    assert [r.data for r in metadata["dagster_smt/not_read"].records] == [
        {"topic": "orders", "stage": "hide", "offsets": "orders-0 [10, 1010)", "number": 1000, "of": "records"},
        {"topic": "orders-eu", "stage": "hide", "offsets": "orders-eu-0 [0, 5)", "number": 5, "of": "offsets"},
    ]
    assert "dropped 1,006 records, 1,005 of them unread" in metadata["dagster_smt/report"].value
    assert "dagster_smt/not_read" not in run_metadata(report(), RunContext(typed_plan(), COLUMNS, [TOPIC]))


TABLES = [
    ("stage_stats", [{"stage": "hide", "transform": "MaskField$Value", "records_in": 14, "dropped": 1, "failed": 2}]),
    (
        "ledger",
        [{"stage": "hide", "action": "masked", "side": "value", "path": "who.mail", "target": "", "records": 11}],
    ),
    (
        "schema_diff",
        [
            {"field": "n", "change": "removed", "before": "int32", "after": ""},
            {"field": "note", "change": "removed", "before": "string?", "after": ""},
            {"field": "number", "change": "added", "before": "", "after": "int32"},
            {"field": "source|topic", "change": "added", "before": "", "after": "string"},
        ],
    ),
    (
        "dead_letters",
        [
            {
                "code": "SMT401",
                "stage": "hide",
                "place": "transforms.hide (MaskField$Value)",
                "topic": "orders",
                "statement": "cannot be masked",
                "examples": 2,
                "failed_in_stage": 2,
            }
        ],
    ),
    ("warnings", [{"code": "SMT350", "place": "transforms.names", "statement": "touched nothing", "hint": "look"}]),
]


@pytest.mark.parametrize(("name", "rows"), TABLES, ids=[t[0] for t in TABLES])
def test_tables(name, rows):
    metadata = run_metadata(report(), RunContext(typed_plan(), COLUMNS))[f"dagster_smt/{name}"]
    assert [r.data for r in metadata.records] == rows
    assert [c.name for c in metadata.schema.columns] == list(rows[0])


def test_an_empty_report_has_tables_with_columns():
    metadata = run_metadata(
        RunReport("a", Window()), RunContext(schemaless_plan(), RECORDS, rows=None, rows_of_partition=0)
    )
    assert metadata["dagster_smt/ledger"].records == [] and metadata["dagster_smt/ledger"].schema.columns
    assert metadata["dagster/partition_row_count"] == 0 and "dagster/row_count" not in metadata
    dg.AssetMaterialization("a", metadata=metadata)


def test_without_a_schema_the_diff_is_what_the_ledger_counted():
    lines = [
        LedgerLine(LedgerEntry(0, "a", "dropped", "note"), 3),
        LedgerLine(LedgerEntry(0, "a", "renamed", "n", target="number"), 2),
        LedgerLine(LedgerEntry(0, "a", "dropped", "never"), 0),
        LedgerLine(LedgerEntry(0, "a", "masked", "mail"), 3),
        LedgerLine(LedgerEntry(0, "a", "added", "source", target="topic"), 3),  # where it comes from is no type
    ]
    plain = report(before=None, after=None, ledger=lines)
    metadata = run_metadata(plain, RunContext(schemaless_plan(), RECORDS))["dagster_smt/schema_diff"]
    assert [(r.data["change"], r.data["field"], r.data["after"]) for r in metadata.records] == [
        ("removed", "note", ""),
        ("renamed", "n", "number"),
        ("added", "source", ""),
    ]


def test_another_jar_is_another_code_version(tmp_path):
    table, sink = TopicTable(FileTopics(Path("topics")), ("t",)), FileTopicSink("out")
    stages = [{"alias": "x", "type": "com.acme.Change", "options": {}}]
    versions = []
    for content, connect_version in ((b"1", "4.3.1"), (b"1", "4.3.1"), (b"2", "4.3.1"), (b"2", "4.2.0")):
        with zipfile.ZipFile(tmp_path / "acme.jar", "w") as jar:
            jar.writestr(zipfile.ZipInfo("com/acme/Change.class"), content)
        chain = parse_chain(stages, smt_jars=[tmp_path / "acme.jar"], connect_version=connect_version)
        versions.append(code_version(chain, table, sink))
    assert versions[0] == versions[1]
    assert len(set(versions)) == 3


def test_versions_change_with_chain_and_offsets_only():
    other = parse_chain([{"alias": "x", "type": "ReplaceField$Value", "options": {"exclude": ["note"]}}])
    table, sink = TopicTable(FileTopics(Path("topics")), ("t",)), FileTopicSink("out")
    assert code_version(CHAIN, table, sink) == code_version(CHAIN, table, sink) != code_version(other, table, sink)
    assert data_version({"t": {"0": 1}}, CHAIN.hash) == data_version({"t": {"0": 1}}, CHAIN.hash)
    assert len({data_version(e, c.hash).value for e in ({"t": {"0": 1}}, {"t": {"0": 2}}) for c in (CHAIN, other)}) == 4
