"""The check ``same_as_connect``: a sample of a run in Kafka Connect's own classes."""

import json
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest

from dagster_smt.errors import ConfigError
from dagster_smt.orchestration import SmtChecks, SmtTable, build_smt_asset
from dagster_smt.orchestration.components.table_models import checks_from
from dagster_smt.orchestration.definitions.planned_table import planned_asset
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.transforms.kafka.mask_field import MaskField
from tests.orchestration.test_assets import HIDE, append, table


def orders(tmp_path):
    """An asset whose runs compare two records."""
    checks = SmtChecks(same_as_connect=2)
    sink = DeltaSink(tmp_path / "lake", "records")
    return SmtTable(key="orders", chain=[HIDE], table=table(tmp_path, "orders"), sink=sink, checks=checks)


def result_of(tmp_path, spark, definition):
    """The result of the check in a run of the asset."""
    run = dg.materialize([build_smt_asset(definition)], resources={"spark": spark})
    assert run.success
    (check,) = [c for c in run.get_asset_check_evaluations() if c.check_name == "same_as_connect"]
    return check


def test_a_run_is_compared_with_connect(spark, tmp_path):
    append(tmp_path, "orders", *({"id": number, "name": "Ada"} for number in range(3)))
    assert planned_asset(orders(tmp_path)).certified_records == 2
    check = result_of(tmp_path, spark, orders(tmp_path))
    assert check.passed, check.description
    assert check.description == "2 records have the results of Kafka Connect 4.3.1"
    assert check.metadata["sampled"].value == 2
    assert [row.data["verdict"] for row in check.metadata["stages"].records] == ["equal"]


def connector_file(folder, *fields):
    """A connector's file with a stage for each of ``fields``, which masks the field."""
    config = {"connector.class": "x.Sink", "transforms": ",".join(fields)}
    for name in fields:
        config[f"transforms.{name}.type"] = "org.apache.kafka.connect.transforms.MaskField$Value"
        config[f"transforms.{name}.fields"] = name
        config[f"transforms.{name}.replacement"] = "*"  # as the stage HIDE has it
    path = folder / "sink.json"
    path.write_text(json.dumps({"name": "sink", "config": config}))
    return path


def with_connector(tmp_path):
    checks = checks_from({"same_as_connect": 2, "connector": "sink.json"}, tmp_path)
    assert Path(checks.connector) == tmp_path / "sink.json"
    return replace(orders(tmp_path), checks=checks)


def test_a_connector_with_other_stages_is_refused_before_a_run(tmp_path):
    connector_file(tmp_path, "name", "id")
    with pytest.raises(ConfigError, match=r"SMT971 checks.connector: the chain has 1 stages, and the connector has 2"):
        planned_asset(with_connector(tmp_path))
    connector_file(tmp_path, "name")
    assert planned_asset(with_connector(tmp_path)).connector_chain.stages[0].alias == "name"


@pytest.mark.long
def test_a_chain_that_masks_another_field_than_its_connector(spark, tmp_path):
    append(tmp_path, "orders", {"id": 1, "name": "Ada"})
    connector_file(tmp_path, "name")
    assert result_of(tmp_path, spark, with_connector(tmp_path)).passed
    append(tmp_path, "orders", {"id": 2, "name": "Ada"})
    connector_file(tmp_path, "id")
    check = result_of(tmp_path, spark, with_connector(tmp_path))
    assert not check.passed and check.severity == dg.AssetCheckSeverity.ERROR
    assert check.description.startswith("1 of 1 records differ") and "Ada" not in str(check)


@pytest.mark.long
def test_a_wrong_rule_and_a_host_that_does_not_start(spark, tmp_path, monkeypatch):
    append(tmp_path, "orders", {"id": 1, "name": "Ada"})
    with monkeypatch.context() as patched:
        effects = MaskField.effects
        patched.setattr(MaskField, "effects", lambda self: effects(self)[:0])
        check = result_of(tmp_path, spark, orders(tmp_path))
    assert not check.passed and check.severity == dg.AssetCheckSeverity.ERROR and "Ada" not in str(check)
    append(tmp_path, "orders", {"id": 2, "name": "Ada"})
    monkeypatch.setenv("DAGSTER_SMT_HOST_OPTIONS", "-XX:NoSuchOption")
    check = result_of(tmp_path, spark, orders(tmp_path))
    assert not check.passed and check.severity == dg.AssetCheckSeverity.WARN and "SMT643" in check.description
