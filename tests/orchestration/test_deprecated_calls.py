"""The deprecated form of ``build_smt_asset`` and ``build_smt_op``: the fields of the table as keyword arguments."""

import warnings

import dagster as dg
import pytest

from dagster_smt import DeltaSink, FileTopics, SmtTable, TopicTable, build_smt_asset, build_smt_assets, build_smt_op
from dagster_smt.errors import ConfigError
from dagster_smt.orchestration.runs.tables_of_ops import TABLES_OF_OPS
from tests.orchestration.test_assets import HIDE, PERSON, append, events, table


@pytest.fixture
def fields(tmp_path):
    return {"chain": [HIDE], "table": table(tmp_path, "people"), "sink": DeltaSink(tmp_path / "lake")}


ASSET = {"key": ["lake", "people"], "group_name": "crm", "tags": {"tier": "gold"}, "dead_letter_topic": "dead"}
STEP = {"pool": "spark", "spark_key": "session", "op_tags": {"a": "b"}, "retry_policy": dg.RetryPolicy(2)}


def test_both_forms_make_the_same_asset(fields):
    new = build_smt_asset(SmtTable(**fields, **ASSET), **STEP)
    with pytest.warns(DeprecationWarning, match=r"call build_smt_asset\(SmtTable\(") as caught:
        old = build_smt_asset(**fields, **ASSET, **STEP)
    assert caught[0].filename == __file__
    assert list(old.specs) == list(new.specs) and old.specs_by_key.keys() == {dg.AssetKey(["lake", "people"])}
    for name in ("name", "pool", "tags", "retry_policy", "required_resource_keys"):
        assert getattr(old.op, name) == getattr(new.op, name)
    assert TABLES_OF_OPS[old.op][""].definition == TABLES_OF_OPS[new.op][""].definition


def test_both_forms_make_the_same_op(spark, tmp_path, fields):
    append(tmp_path, "people", PERSON)
    key = dg.AssetKey(["lake", "people"])
    with pytest.warns(DeprecationWarning, match=r"call build_smt_op\(SmtTable\("):
        old = build_smt_op(name="mask", asset_key=key, description="d", **fields)
    new = build_smt_op(SmtTable(key=key, description="d", **fields), name="mask")
    assert (old.name, old.description, old.pool) == (new.name, new.description, new.pool)

    @dg.job(resource_defs={"spark": dg.ResourceDefinition.hardcoded_resource(spark)})
    def job():
        old()

    (event,) = events(job.execute_in_process())
    assert event.asset_key == key


def test_the_new_form_does_not_warn_and_takes_no_fields(fields):
    declared = SmtTable(key="people", **fields)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        build_smt_asset(declared)
        build_smt_op(declared, name="mask")
        build_smt_assets(name="all", tables=[declared])
    with pytest.raises(TypeError, match="unexpected keyword arguments: group_name"):
        build_smt_asset(declared, group_name="crm")
    with pytest.raises(TypeError, match="unexpected keyword arguments: asset_key"):
        build_smt_op(declared, name="mask", asset_key=dg.AssetKey("people"))
    with pytest.raises(TypeError, match="takes an SmtTable, not a TopicTable"):
        build_smt_asset(TopicTable(FileTopics("topics"), topics=("a",)))
    with pytest.warns(DeprecationWarning), pytest.raises(TypeError, match="gruop_name"):
        build_smt_asset(**fields, key="people", gruop_name="crm")


def test_an_asset_needs_a_key_and_an_op_does_not(fields):
    unnamed = SmtTable(**fields)
    assert build_smt_op(unnamed, name="mask").name == "mask"
    for build in (build_smt_asset, lambda table: build_smt_assets(name="all", tables=[table])):
        with pytest.raises(ConfigError, match="SMT040 SmtTable key: no option is set"):
            build(unnamed)
