"""Compares a chain with Kafka Connect's own classes, in a user's tests."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster_smt.chain import Chain, parse_chain
from dagster_smt.model.topics.format import Format
from dagster_smt.testing.golden import Records, samples_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dagster_smt.certify import Certificate


def assert_same_as_connect(
    chain: Path | Mapping[str, Any] | Sequence[Mapping[str, Any]] | Chain,
    records: Records,
    *,
    connector: Path | Mapping[str, Any] | Sequence[Mapping[str, Any]] | Chain | None = None,
    key: Format | None = None,
    value: Format | None = None,
    topic: str = "records",
    smt_jars: Sequence[str | Path] = (),
    connect_version: str = "",
    spark: "SparkSession | None" = None,
    show_values: bool = False,
) -> "Certificate":
    """Runs a chain in this package and in Kafka Connect's own classes, and compares the results after each stage.

    The comparison needs Java 17. The jars of Connect are fetched from Maven Central only once.

    Args:
        chain: A chain file, properties, stages, or a parsed chain.
        records: The records, in one of three forms. A path is a file of JSON lines. A list of values contains bytes,
            strings or JSON; None is a tombstone. A list of ``Sample`` objects also contains keys, headers, timestamps
            and topics.
        connector: The original chain of the connector. Connect's classes then run this chain, while this package runs
            ``chain``, so a changed option also shows as a difference. None to run ``chain`` in both.
        key, value: The formats of keys (strings by default) and values (JSON by default).
        topic: The topic of records that are only values.
        smt_jars: Jars with vendors' classes. A parsed chain ignores these, since it already has its jars.
        connect_version: The version of Kafka Connect; empty for 4.3.1. A parsed chain ignores this.
        spark: A session in which Spark's execution paths are also compared; None to compare only the Python evaluator.
        show_values: True to include differing values in the message.

    Returns:
        The certificate, which lists the intended differences.

    Raises:
        AssertionError: The result of a record differs without a reason. The message has the first location for each
            stage.
        ConfigError: The chain has problems, or nothing can be compared. The error contains all problems.
        UnsupportedError: SMT642 if there is no Java; SMT960 if jars cannot be fetched.
    """
    from dagster_smt.certify import certify

    if not isinstance(chain, Chain):
        chain = parse_chain(chain, smt_jars=smt_jars, connect_version=connect_version)
    if connector is not None and not isinstance(connector, Chain):
        connector = parse_chain(connector, smt_jars=smt_jars, connect_version=connect_version)
    more_ways = None
    if spark is not None:
        from dagster_smt.certify.spark_ways import spark_ways

        more_ways = spark_ways(spark)
    samples = samples_of(records, topic)
    certificate = certify(chain, samples, key, value, original=connector, more_ways=more_ways, show_values=show_values)
    if certificate.verdict == "different":
        raise AssertionError("\n".join([certificate.statement, *certificate.lines]))
    return certificate
