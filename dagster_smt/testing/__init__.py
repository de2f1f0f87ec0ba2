"""Helpers for tests of chains and definitions: golden files, comparison with Kafka Connect's own classes, and a real
Kafka broker."""

from dagster_smt.interpret.preview import Sample as Sample
from dagster_smt.testing.broker import KafkaBroker as KafkaBroker
from dagster_smt.testing.golden import assert_chain as assert_chain
from dagster_smt.testing.same_as_connect import assert_same_as_connect as assert_same_as_connect
