"""The demo's code location. It contains GitHub's webhooks with masked fields, and GitHub's pushes as a table."""

from pathlib import Path

import dagster as dg

from dagster_smt import (
    DeltaSink,
    Format,
    SmtTable,
    SparkSessionResource,
    TopicTable,
    build_dead_letters_asset,
    build_lag_sensor,
    build_new_topic_sensor,
    build_redrive_job,
    build_smt_asset,
    build_smt_schedule,
    build_topic_assets,
    parse_ddl,
)
from definitions.demo import lake, topics

HERE = Path(__file__).parent
TOPICS = dg.DynamicPartitionsDefinition(name="github_topics")


def all_events() -> TopicTable:
    """Returns the topic table of events of all kinds, without a schema."""
    return TopicTable(topics(), pattern=r"github\..*")


def pushed() -> TopicTable:
    """Returns the topic table of pushes, with a declared schema."""
    schema = HERE / "schemas" / "github_push.sql"
    value = Format("json_schema", parse_ddl(schema.read_text(encoding="utf-8"), place=schema.name))
    return TopicTable(topics(), topics=("github.push",), value=value)


def build_masked() -> dg.AssetsDefinition:
    """Returns the asset of events of all kinds. The events have no schema, and each topic is a partition."""
    return build_smt_asset(
        SmtTable(
            key=["webhooks", "masked"],
            chain=HERE / "chains" / "webhooks.properties",
            table=all_events(),
            sink=DeltaSink(lake("webhooks_masked"), kind="records"),
            partitions_def=TOPICS,
            group_name="webhooks",
            description="GitHub's webhooks of all kinds as records: people masked, noise dropped, sent to `masked.*`.",
        )
    )


def build_pushes() -> dg.AssetsDefinition:
    """Returns the asset of pushes, as columns. Records that do not fit the declared schema become dead letters."""
    return build_smt_asset(
        SmtTable(
            key=["webhooks", "pushes"],
            chain=HERE / "chains" / "pushes.yaml",
            table=pushed(),
            sink=DeltaSink(lake("webhooks_pushes"), kind="columns"),
            errors_tolerance="all",
            dead_letter_topic="dead.pushes",
            group_name="webhooks",
            description="Pushes as a table: one row per push, authors masked, commit hashes renamed.",
        )
    )


def spark(log_level: str = "WARN") -> SparkSessionResource:
    """Returns the resource with the Spark session that both assets share."""
    return SparkSessionResource(
        conf={"spark.master": "local[*]", "spark.driver.memory": "2g", "spark.log.level": log_level}
    )


@dg.definitions
def defs() -> dg.Definitions:
    """Returns the demo's topics, tables, jobs, sensors and schedules. Sensors and schedules are off until somebody
    starts them.
    """
    masked, pushes = build_masked(), build_pushes()
    return dg.Definitions(
        assets=[
            build_topic_assets([all_events(), pushed()], group_name="webhooks"),
            masked,
            pushes,
            build_dead_letters_asset(pushes),
        ],
        jobs=[build_redrive_job(pushes)],
        sensors=[
            build_new_topic_sensor(masked, all_events(), name="new_github_topics"),
            build_lag_sensor(pushes, pushed(), name="unread_pushes"),
        ],
        schedules=[build_smt_schedule(masked, "0 * * * *"), build_smt_schedule(pushes, "*/15 * * * *")],
        resources={"spark": spark()},
    )
