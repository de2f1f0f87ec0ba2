"""The code location of the browser tests: a shop's topics in files, and tables that people launch by hand."""

import os
from pathlib import Path
from typing import Any

import dagster as dg

from dagster_smt import (
    DeltaSink,
    FileTopics,
    Format,
    KafkaTopics,
    SmtTable,
    SparkSessionResource,
    TopicTable,
    build_dead_letters_asset,
    build_lag_sensor,
    build_new_topic_sensor,
    build_redrive_job,
    build_repair_job,
    build_smt_asset,
    build_smt_schedule,
    build_topic_assets,
    parse_ddl,
)

ROOT = Path(os.environ["SMT_UI_FOLDER"])
TOPICS = FileTopics(ROOT / "topics")
ORDER = Format("json_schema", parse_ddl("id BIGINT, amount INT, customer STRUCT<name: STRING, email: STRING>"))


def masked() -> tuple[dg.AssetsDefinition, dg.SensorDefinition]:
    """All topics of the shop, one partition each, and the sensor that finds new ones."""
    table = TopicTable(TOPICS, pattern=r"shop\..*")
    asset = build_smt_asset(
        SmtTable(
            key=["shop", "masked"],
            chain=ROOT / "masked.properties",
            table=table,
            sink=DeltaSink(ROOT / "lake" / "masked"),
            partitions_def=dg.DynamicPartitionsDefinition(name="shop_topics"),
            errors_tolerance="all",
            dead_letter_topic="dead.masked",
            group_name="shop",
        )
    )
    return asset, build_new_topic_sensor(asset, table, name="new_shop_topics", minimum_interval_seconds=5)


def orders() -> dg.AssetsDefinition:
    """Orders as columns; the chain file is what a test spoils and mends."""
    return build_smt_asset(
        SmtTable(
            key=["shop", "orders"],
            chain=ROOT / "orders.properties",
            table=TopicTable(TOPICS, topics=("orders",), value=ORDER),
            sink=DeltaSink(ROOT / "lake" / "orders", "columns"),
            errors_tolerance="all",
            dead_letter_topic="dead.orders",
            dead_paths="warn",
            group_name="shop",
        )
    )


def history() -> dg.AssetsDefinition:
    """A long backlog in small batches: long enough to be stopped."""
    return build_smt_asset(
        SmtTable(
            key=["shop", "history"],
            chain=ROOT / "masked.properties",
            table=TopicTable(TOPICS, topics=("history",)),
            sink=DeltaSink(ROOT / "lake" / "history"),
            group_name="shop",
        )
    )


def clicks() -> tuple[dg.AssetsDefinition, dg.SensorDefinition]:
    """A long backlog on a broker, and the sensor that sees it."""
    table = TopicTable(KafkaTopics(dg.EnvVar("SMT_UI_KAFKA")), topics=("clicks",))
    asset = build_smt_asset(
        SmtTable(
            key=["shop", "clicks"],
            chain=ROOT / "masked.properties",
            table=table,
            sink=DeltaSink(ROOT / "lake" / "clicks"),
            group_name="shop",
        )
    )
    return asset, build_lag_sensor(asset, table, name="clicks_lag", min_records=10, minimum_interval_seconds=5)


def visits() -> tuple[dg.AssetsDefinition, Any]:
    """Days of visits, and the schedule of those that have ended."""
    days = dg.DailyPartitionsDefinition("2023-11-13", end_date="2023-11-16", timezone="Europe/Berlin")
    asset = build_smt_asset(
        SmtTable(
            key=["shop", "visits"],
            chain=ROOT / "masked.properties",
            table=TopicTable(TOPICS, topics=("visits",)),
            sink=DeltaSink(ROOT / "lake" / "visits"),
            partitions_def=days,
            errors_tolerance="all",
            dead_letter_topic="dead.visits",
            group_name="shop",
        )
    )
    return asset, build_smt_schedule(asset, "0 3 * * *")


@dg.definitions
def defs() -> dg.Definitions:
    """Everything."""
    asset, sensor = masked()
    stream, lag = clicks()
    daily, nightly = visits()
    tables = [asset, orders(), history(), stream, daily]
    topics = [
        TopicTable(TOPICS, pattern=r"shop\..*"),
        TopicTable(TOPICS, topics=("orders",), value=ORDER),
        TopicTable(TOPICS, topics=("history",)),
    ]
    return dg.Definitions(
        assets=[build_topic_assets(topics, group_name="shop"), *tables, build_dead_letters_asset(tables[1])],
        jobs=[build_redrive_job(tables[1]), build_repair_job(tables[1]), build_redrive_job(asset)],
        schedules=[nightly],
        sensors=[sensor, lag],
        resources={"spark": SparkSessionResource(conf={"spark.master": "local[2]", "spark.driver.memory": "2g"})},
    )
