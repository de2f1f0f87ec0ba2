"""Creates the certificate of a run: a comparison of this package's results with those of Kafka Connect's own classes,
for a sample of records.
"""

from typing import TYPE_CHECKING, Any

from dagster_smt.chain import Chain
from dagster_smt.errors import Problem, SmtError
from dagster_smt.model.windows.window import Window

if TYPE_CHECKING:
    from dagster_smt.certify import Certificate
    from dagster_smt.run.run_spec import RunSpec


def certificate_of(
    spec: "RunSpec", session: Any, window: Window, records: int | None, connector: Chain | None = None
) -> "Certificate | Problem | None":
    """Compares the results of a run with those of Kafka Connect's own classes, for a sample of records.

    The function never raises an error, because the run has already been committed.

    Args:
        spec: The run.
        session: The Spark session.
        window: The offsets that the run has read.
        records: The number of records in the sample, which consists of the last records of each partition; None for no
            certificate.
        connector: The chain that Connect's classes run; None for the chain of the run.

    Returns:
        The certificate with the result, or a problem that states why there is no certificate. None if no certificate
        was requested, or if the run has read nothing.
    """
    if records is None or not window.ranges:
        return None
    try:
        return _certificate(spec, session, window, records, connector)
    except SmtError as error:
        return error.problems[0]
    except Exception as error:  # noqa: BLE001 - whatever it is, the run is committed
        statement = f"the certificate failed with {type(error).__name__}"
        return Problem("SMT973", spec.name, statement, "run dagster-smt certify on the topic to see more")


def _certificate(spec: "RunSpec", session: Any, window: Window, records: int, connector: Chain | None) -> "Certificate":
    from dagster_smt.certify import certify
    from dagster_smt.certify.spark_ways import samples_of_frame, spark_ways
    from dagster_smt.run.facts import sample_of
    from dagster_smt.run.unread import needed
    from dagster_smt.tables.sources import open_source

    source = open_source(spec.table.source, session)
    sample = sample_of(needed(spec, window, source).window, records)
    samples = samples_of_frame(source.read(sample))
    formats = spec.table.key, spec.table.value
    more_ways = spark_ways(session)
    return certify(spec.chain, samples, *formats, original=connector, name=spec.name, more_ways=more_ways)
