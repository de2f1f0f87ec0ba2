"""``make demo POLICY=1``: tagged fields are masked, and a new personal field stays out until somebody decides."""

import json

import dagster as dg
import pytest

from dagster_smt.orchestration import SparkSessionResource
from definitions.demo import FOLDER_VARIABLE
from definitions.demo.new_field import CUSTOMERS, NEW_CUSTOMER, build_customers, show_new_field, table_rows


@pytest.mark.spark
@pytest.mark.long
def test_the_new_field_is_held_back(spark, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    session = SparkSessionResource()
    with dg.instance_for_test() as instance:
        assert show_new_field(build_customers(), session, instance)
    rows = [json.loads(row) for row in table_rows(session)]
    plain = ({name: value[name] for name in ("id", "country")} for value in (*CUSTOMERS, NEW_CUSTOMER))
    assert rows == [{**value, "name": "", "email": ""} for value in plain]
    text = capsys.readouterr().out
    assert "check held_back: passed" in text
    assert "check held_back: warns: nobody has decided about: value phone of shop.customers" in text
