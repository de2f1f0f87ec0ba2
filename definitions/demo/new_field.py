"""Shows the effect of a policy: producers add a personal field, and the field stays out of the table until somebody
decides about it.
"""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from dagster_smt import DeltaSink, FileTopics, SmtTable, SparkSessionResource, TopicTable, build_smt_asset
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from definitions.demo import demo_folder

TOPIC = "shop.customers"
POLICY = Path(__file__).parents[1] / "policy" / "policy.yaml"
CUSTOMERS: Sequence[dict[str, Any]] = (
    {"id": 1, "country": "DE", "name": "Ada Sample", "email": "ada@example.org", "born": "1990-01-02"},
    {"id": 2, "country": "FR", "name": "Bo Sample", "email": "bo@example.org", "born": "1985-12-24"},
)
NEW_CUSTOMER = {**CUSTOMERS[0], "id": 3, "phone": "+49 30 0000000"}
"""A record with a new field, ``phone``, about which the policy has no decision yet."""


def folder() -> Path:
    """Returns the folder of the topic and the table."""
    return demo_folder() / "policy"


def build_customers() -> dg.AssetsDefinition:
    """Returns the asset of customers. A policy masks tagged fields of the records; there is no chain. The records have
    no schema.
    """
    customers = SmtTable(
        key=["shop", "customers"],
        chain={"transforms": ""},
        policy=POLICY,
        table=TopicTable(FileTopics(folder() / "topics"), topics=(TOPIC,)),
        sink=DeltaSink(folder() / "customers", "records"),
        description="Customers, with personal fields masked by tag.",
    )
    return build_smt_asset(customers)


def show_new_field(customers: dg.AssetsDefinition, session: SparkSessionResource, instance: dg.DagsterInstance) -> bool:
    """Runs the asset twice: before and after a record with the new field has been added. Prints the rows and the result
    of the check. Returns False if a run failed.
    """
    shutil.rmtree(folder(), ignore_errors=True)
    for title, values in (("as tags.yaml lists them", CUSTOMERS), ("with a new field, phone", (NEW_CUSTOMER,))):
        records = []
        for value in values:
            records.append(NewRecord(str(value["id"]).encode(), json.dumps(value).encode()))
        append_records(FileTopics(folder() / "topics"), TOPIC, records)
        config = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
        resources = {"spark": session}
        result = dg.materialize([customers], config, instance=instance, resources=resources, raise_on_error=False)
        if not result.success:
            return False
        checks = []
        for one in result.get_asset_check_evaluations():
            if one.check_name == "held_back":
                checks.append(one)
        (check,) = checks
        print(f"\nrecords of {TOPIC} {title}:")
        print("\n".join(f"  {json.dumps(value)}" for value in values))
        print("rows of the table:")
        print("\n".join(f"  {row}" for row in table_rows(session)))
        print(f"check held_back: {'passed' if check.passed else 'warns'}: {check.description}", flush=True)
    return True


def table_rows(session: SparkSessionResource) -> list[str]:
    """Returns the values of the table, in the order of their offsets."""
    rows = session.spark_session.read.format("delta").load(str(folder() / "customers"))
    texts = []
    for row in rows.orderBy("offset").select("value").collect():
        texts.append(bytes(row.value).decode())
    return texts
