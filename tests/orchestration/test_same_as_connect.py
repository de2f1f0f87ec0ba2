"""The check ``same_as_connect``: a sample of a run in Kafka Connect's own classes."""

import dagster as dg
import pytest

from dagster_smt.orchestration import SmtChecks, SmtTable, build_smt_asset
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
