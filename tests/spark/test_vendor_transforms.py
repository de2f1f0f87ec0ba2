"""Transforms of other vendors on the Spark evaluator: the rows that the Python evaluator has."""

import json

import pytest

from dagster_smt.tables.ddl import parse_ddl
from tests.spark.made_up import Example
from tests.spark.test_evaluators_agree import compare

AIVEN = "io.aiven.kafka.connect.transforms."
TOPIC = {"alias": "shown", "type": "InsertField$Value", "options": {"topic.field": "shown topic"}}


def stage(type_, **options):
    return {"alias": "t", "type": type_, "options": {k.replace("_", "."): v for k, v in options.items()}}


MAILS = (
    "email STRING, n INT",
    [{"email": "jerry@big-corp.com", "n": 1}, {"email": "", "n": 2}, {"email": None, "n": 3}, None],
)
CASES = {
    **{
        f"Hash {function}": (*MAILS, [stage(f"{AIVEN}Hash$Value", field_name="email", function=function)])
        for function in ("md5", "sha1", "sha256")
    },
    "Hash, skipping": (
        *MAILS,
        [stage(f"{AIVEN}Hash$Value", field_name="email", function="md5", skip_missing_or_null="true")],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_both_evaluators_agree(spark, name):
    ddl, values, stages = CASES[name]
    rows = [(None if value is None else json.dumps(value).encode(), "eu.orders", ()) for value in values]
    compare(spark, Example(parse_ddl(ddl), stages, rows), ("eu.orders", "us.orders"))
