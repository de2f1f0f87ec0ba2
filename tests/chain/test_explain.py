"""Explained plans, compared with golden texts."""

import os
from pathlib import Path

import pytest

from dagster_smt.chain import parse_chain, plan_chain
from dagster_smt.chain.explain import explain
from dagster_smt.tables.ddl import parse_ddl
from tests.chain.helpers import EUROPEAN, ORDERS, TOMBSTONE, TRACED, plan_of, stage

GOLDEN = Path(__file__).parents[1] / "golden" / "explain"

V2 = {"field_syntax_version": "V2"}
PLANS = {
    "every_kind_of_effect": lambda: plan_of(
        stage("MaskField$Value", fields="name,a.b", **V2),
        stage("ReplaceField$Value", exclude="amount", renames="id:key"),
        stage("InsertField$Value", topic_field="topic", timestamp_field="at!", static_field="s", static_value="x"),
        stage("Cast$Value", spec="key:string"),
        stage("Flatten$Value", delimiter="_"),
        stage("ValueToKey", fields="key"),
        stage("ExtractField$Key", field="key"),
        stage("RegexRouter", regex="(.*)", replacement="$1-eu"),
        stage("Filter", unless=EUROPEAN),
        key=parse_ddl("old INT"),
        topics=("orders",),
    ),
    "variants": lambda: plan_of(
        stage("InsertField$Value", when=TRACED, topic_field="t"),
        stage("MaskField$Value", unless=TOMBSTONE, fields="name"),
        stage("Filter", when=TOMBSTONE),
        topics=("orders", "orders-eu"),
    ),
    "warnings": lambda: plan_of(
        stage("MaskField$Value", fields="nam"),
        stage("InsertField$Value", when=TRACED, topic_field="id"),
        stage("Filter"),
    ),
    "whole_value": lambda: plan_of(
        stage("Cast$Value", spec="string"), stage("HoistField$Value", field="v"), value=parse_ddl("v INT").fields[0][1]
    ),
    "without_schema": lambda: plan_of(
        stage("MaskField$Value", fields="name"),
        stage("Filter", when=TOMBSTONE),
        value=None,
        typed=False,
        topics=("orders",),
    ),
    "empty": lambda: plan_chain(parse_chain({"transforms": ""}), None, ORDERS, typed=True),
}


@pytest.mark.parametrize("name", PLANS)
def test_explain(name):
    """Run with ``UPDATE_GOLDEN=1`` to write the expected texts again."""
    text, golden = explain(PLANS[name]()) + "\n", GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_every_golden_text_is_used():
    assert {p.stem for p in GOLDEN.iterdir()} == set(PLANS)
