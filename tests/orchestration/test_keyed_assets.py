"""Tables with keys in Dagster: a component in YAML, checks, and what runs tell."""

import json

import dagster as dg
import pytest
import yaml
from dagster.components.testing import create_defs_folder_sandbox

from dagster_smt.orchestration import SmtChainComponent
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics
from tests.orchestration.test_assets import checks, events, observations, value

DEFS = """\
type: dagster_smt.SmtChainComponent
attributes:
  asset_key: lake/people
  chain: []
  table:
    source: {files: %(root)s/topics}
    topics: [people]
    key: {kind: json_schema, schema: key.sql}
    value: {kind: json_schema, schema: value.sql}
  sink:
    delta:
      path: %(root)s/people
      kind: columns
      mode: upsert
      keys: record_key
      deletes: soft
      soft_delete_columns: [_gone, _gone_at]
  errors_tolerance: all
  dead_letter_topic: people.dead
"""


@pytest.fixture
def people(tmp_path):
    """The assets of a component that keeps one row for each key."""
    attributes = yaml.safe_load(DEFS % {"root": tmp_path})
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            component_cls=SmtChainComponent, defs_path="people", defs_yaml_contents=attributes
        )
        (path / "defs.yaml").write_text(DEFS % {"root": tmp_path})
        (path / "key.sql").write_text("id BIGINT")
        (path / "value.sql").write_text("id BIGINT, name STRING, __deleted STRING")
        with sandbox.load_component_and_build_defs(defs_path="people") as (component, defs):
            (asset,) = [a for a in defs.assets if dg.AssetKey(["lake", "people"]) in getattr(a, "keys", ())]
            yield component, asset


def event_of(result):
    """The materialization of the table; its dead letters have another one."""
    (event,) = [e for e in events(result) if e.asset_key == dg.AssetKey(["lake", "people"])]
    return event


def send(root, *rows):
    for key, row in rows:
        value = None if row is None else json.dumps(row).encode()
        append_records(FileTopics(root / "topics"), "people", [NewRecord(json.dumps({"id": key}).encode(), value)])


def test_a_component_keeps_one_row_for_each_key(people, spark, tmp_path):
    component, asset = people
    assert component.sink.keyed.soft.names == ("_gone", "_gone_at")
    columns = [c.name for c in next(iter(asset.specs)).metadata["dagster/column_schema"].columns]
    assert columns == ["id", "name", "_gone", "_gone_at", "_source_topic", "_source_partition", "_source_offset"]
    send(tmp_path, (1, {"id": 1, "name": "a"}), (2, {"id": 2, "name": "b"}), (1, {"id": 1, "name": "c"}))
    with dg.instance_for_test() as instance:

        def launch():
            return dg.materialize([asset], instance=instance, resources={"spark": spark})

        first = launch()
        send(tmp_path, (1, None), (3, {"id": 3, "name": "d"}), (None, {"name": "e"}))
        second = launch()
        third = launch()
        spark.sql(f"INSERT INTO delta.`{tmp_path}/people` SELECT * FROM delta.`{tmp_path}/people` WHERE id = 2")
        send(tmp_path, (3, {"id": 3, "name": "f"}))
        twins = launch()
    one, two = (event_of(result) for result in (first, second))
    assert [value(one, f"rows_{name}") for name in ("inserted", "updated", "deleted")] == [2, 0, 0]
    assert value(one, "events_superseded") == 1
    assert [value(two, f"rows_{name}") for name in ("inserted", "updated", "deleted")] == [1, 1, 0]
    assert value(two, "dagster/row_count") == 3 and value(two, "records_dead_lettered") == 1
    assert "What happened to the keys" in value(two, "report")
    (row,) = two.metadata["dagster_smt/keys_by_topic"].records
    assert (row.data["topic"], row.data["rows_inserted"]) == ("people", 1)
    assert "dagster_smt/keys_by_topic" not in str(observations(third))
    for result in (first, second):
        failed = {name for name, check in checks(result).items() if not check.passed}
        assert failed <= {"no_dead_letters"}
        assert checks(result).keys() >= {
            "offsets_contiguous",
            "rows_match_offsets",
            "keys_unique",
            "schema_matches_plan",
        }
    assert checks(second)["rows_match_offsets"].description == "the table has the 3 keys of its commits"
    failed = checks(twins)
    assert not failed["keys_unique"].passed and failed["keys_unique"].severity.value == "ERROR"
    assert failed["keys_unique"].metadata["repeated_keys"].value == 1
    assert not failed["rows_match_offsets"].passed


def test_every_option_of_keys_has_a_description():
    text = json.dumps(SmtChainComponent.get_model_cls().model_json_schema())
    for option in ("mode", "keys", "deletes", "delete_flag", "sequence_by", "unavailable_value"):
        assert f'"{option}": {{' in text, option
    assert "the effect of a tombstone" in text.lower()
