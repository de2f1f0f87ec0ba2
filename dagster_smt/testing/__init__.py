"""What tests of chains and definitions need beside the package: a real Kafka broker that Java is enough for."""

from dagster_smt.testing.broker import KafkaBroker as KafkaBroker
