"""Writes to a cluster that is not there and reads of it, in a session with an event log: a process of its own."""

import contextlib
import sys

from dagster_smt.model.windows.window import Range, Window
from dagster_smt.orchestration.resources import SparkSessionResource, need_packages
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.sinks.kafka_topics import KafkaPlace
from dagster_smt.tables.sources.kafka import KafkaReader

OPTIONS = {
    "kafka.max.block.ms": "1",
    "kafka.default.api.timeout.ms": "1",
    "kafka.request.timeout.ms": "1",
    "kafka.shown.marker": "${env:SMT_SHOWN}",
    "kafka.ssl.keystore.key": "${env:SMT_SECRET_PEM}",
    "kafka.ssl.key.password": "${env:SMT_SECRET}",
    "kafka.sasl.jaas.config": 'x.Module required username="u" password="${env:SMT_SECRET}";',
    "kafka.sasl.oauthbearer.config": "client=${env:SMT_SECRET}",
}
CONF = {
    "spark.master": "local[1]",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.redaction.regex": "mine",
    "spark.hadoop.fs.s3a.secret.key": "${env:SMT_SECRET}",
    "spark.hadoop.fs.azure.account.key.lake": "${env:SMT_SECRET}",
}


def main(folder: str) -> None:
    need_packages(["kafka"])
    session = SparkSessionResource(conf={**CONF, "spark.eventLog.dir": f"file://{folder}"}).spark_session
    topics = KafkaTopics("127.0.0.1:1", OPTIONS, timeout=1)
    headers = "CAST(NULL AS ARRAY<STRUCT<key: STRING, value: BINARY>>) AS headers"
    frame = session.sql(f"SELECT X'61' AS key, X'61' AS value, 'orders' AS topic, {headers}")
    with contextlib.suppress(Exception):
        KafkaPlace(session, topics).write(frame, topics=[])  # no broker is asked how long their records may be
    with contextlib.suppress(Exception):
        source = KafkaReader(topics, session)
        source.read(Window((Range("orders", 0, 0, 1),))).write.format("noop").mode("overwrite").save()
    session.stop()


if __name__ == "__main__":
    main(sys.argv[1])
