"""Moments in a Delta table, read by others than Spark."""

from datetime import UTC, datetime

import pytest
from deltalake import DeltaTable

from dagster_smt.orchestration.resources import SESSION_CONF
from dagster_smt.spark.environment import check_settings

SETTING = "spark.sql.parquet.outputTimestampType"
ENDS = (datetime(1, 1, 1, tzinfo=UTC), datetime(2020, 1, 31, 12, 0, 0, 123000, UTC), datetime(9999, 12, 31, tzinfo=UTC))


@pytest.mark.spark
def test_moments_of_any_year_can_be_read_without_spark(spark, tmp_path):
    seconds = ", ".join(f"({moment.timestamp()!r}D)" for moment in ENDS)
    frame = spark.sql(f"SELECT timestamp_millis(CAST(round(s * 1000) AS BIGINT)) AS at FROM VALUES {seconds} AS t(s)")
    check_settings(spark)  # Spark 3.5 writes no ancient moments by default
    before = spark.conf.get(SETTING)
    spark.conf.set(SETTING, SESSION_CONF[SETTING])
    try:
        frame.coalesce(1).write.format("delta").save(str(tmp_path / "t"))
    finally:
        spark.conf.set(SETTING, before)
    assert DeltaTable(str(tmp_path / "t")).to_pyarrow_table().column("at").to_pylist() == list(ENDS)
