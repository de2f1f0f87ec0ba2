"""The settings of this package's Spark sessions, except the settings that packages need."""

import os

from dagster_smt.spark.packages import JVM_OPTIONS

SESSION_CONF = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "500",  # a Kafka record may have 1 MB
    # Spark would measure the batch again after each record, which costs as much as sending the batch
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    # a run reads its cached rows only once, and most of them are bytes that compression does not shrink
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
    # Spark would replace a field name such as ${env:HOME} with the environment variable
    "spark.sql.variable.substitute": "false",
    # by default, timestamps are written as INT96, and deltalake fails at INT96 timestamps outside the years 1677 to
    # 2262
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
LOCAL_CONF = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # Spark's default of 200 is meant for a cluster; on one machine, most tasks of a small run would be empty
    "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
    # with the default, VACUUM lists the folder of a small table in 10,000 tasks, which takes half a minute
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": str(2 * (os.cpu_count() or 1)),
}
DRIVER_CONF = {
    # for each function on columns, PySpark would also tell Spark which line of Python calls it, which takes a fifth of
    # the time of a small run
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    **JVM_OPTIONS,
}
"""The settings of a classic session, whose driver runs in this process. A session of Spark Connect does not get them.
"""
CLASSIC_CONF = {
    "spark.master": "local[*]",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    **DRIVER_CONF,
}
