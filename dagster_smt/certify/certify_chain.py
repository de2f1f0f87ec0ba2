"""Implements ``certify``, which runs a chain in Kafka Connect's classes and in this package, and compares the
results.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from dagster_smt.authoring.stage import Chain
from dagster_smt.certify.after_policy import policy_of_chain, samples_after, with_policy, without_policy
from dagster_smt.certify.certificate import Certificate, CertifiedStage, CertifiedWay
from dagster_smt.certify.chain_pair import ChainPair, chain_pair
from dagster_smt.certify.compared_ways import AbsentWay, ComparedWay, in_python
from dagster_smt.certify.judging import ChainComparison
from dagster_smt.certify.reading import Reader
from dagster_smt.certify.reading_check import reading_findings
from dagster_smt.certify.stepwise import Steps, steps_of
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.interpret.preview import Sample
from dagster_smt.model.topics.format import Format
from dagster_smt.values.json.lazy import make_room

MoreWays = Callable[[ChainComparison], Iterable[ComparedWay | AbsentWay]]
"""A function that returns the execution paths to compare in addition to the Python evaluator: for example, the paths
through Spark.
"""


def certify(
    chain: Chain,
    samples: Iterable[Sample],
    key: Format | None = None,
    value: Format | None = None,
    *,
    original: Chain | None = None,
    name: str = "chain",
    more_ways: MoreWays | None = None,
    show_values: bool = False,
) -> Certificate:
    """Runs a chain in this package and in Kafka Connect's and vendors' own classes, and compares the results on sample
    records.

    Args:
        chain: The chain. ``chain.foreign`` names the jars and the version of Connect.
        samples: The records.
        key, value: The formats of keys and values. By default, keys are strings and values are JSON.
        original: The chain that Connect's classes run; ``chain`` by default.
        name: The name of the chain in the certificate.
        more_ways: Returns the execution paths to compare in addition to the Python evaluator.
        show_values: True to include values of records in the certificate.

    Raises:
        ConfigError: SMT971 if there is nothing to compare; SMT970 if the format turns a record into several rows. If
            Connect's classes reject options of the chain, the error contains all problems.
        UnsupportedError: SMT642 if there is no Java; SMT960 if jars cannot be fetched; SMT974 if records of these
            formats cannot be written again after the stages of a policy.
        EngineError: SMT643 or SMT644 if the process of Connect's classes ended.
    """
    make_room()
    policy = policy_of_chain(chain)
    if policy:
        all_samples = list(samples)
        left = samples_after(chain, policy, all_samples, key or Format("string"), value or Format())
        options = {"original": original, "name": name, "more_ways": more_ways, "show_values": show_values}
        certificate = certify(without_policy(chain, policy), left, key, value, **options)  # type: ignore[arg-type]
        return with_policy(certificate, chain, policy, len(all_samples))
    check_same_stages(chain, original or chain, "certify")
    pair = chain_pair(chain, original)
    reader = Reader(pair.ours, key or Format("string"), value or Format())
    all_samples = _told_apart(list(samples))
    _check_comparable(pair, all_samples)
    readings = reader.readings(all_samples)
    connect = steps_of(pair.connect, reader, readings.samples, pair.classes)
    python = steps_of(pair.ours, reader, readings.samples)
    without = None if pair.without is None else steps_of(pair.without, reader, readings.samples)
    comparison = ChainComparison(pair, reader, readings, connect, python, without, show_values)
    comparison.findings += reading_findings(pair, reader, readings)
    ways = [comparison.add(in_python(python))]
    for way in more_ways(comparison) if more_ways is not None else ():
        ways.append(CertifiedWay(way.name, 0, way.why) if isinstance(way, AbsentWay) else comparison.add(way))
    # unexplained differences come before the intended differences of the same stage
    findings = sorted(comparison.findings, key=lambda finding: (finding.stage, bool(finding.decision)))
    return Certificate(
        name=name,
        hash=chain.hash,
        connect_version=chain.foreign.connect_version,
        jars=chain.foreign.jars,
        records=len(readings.samples),
        refused=len(readings.refused),
        skipped=readings.skipped,
        stages=_stages(pair, connect),
        ways=tuple(ways),
        findings=tuple(findings),
        warnings=pair.warnings,
    )


def _told_apart(samples: list[Sample]) -> list[Sample]:
    """Returns ``samples`` with coordinates (topic, partition, offset) that identify each record. If two records have
    the same coordinates, all records get new offsets: 0, 1, 2 and so on.
    """
    # spark_ways identifies the result of a record by its coordinates
    places = {(sample.topic, sample.partition, sample.offset) for sample in samples}
    if len(places) == len(samples):
        return samples
    renumbered = []
    for number, sample in enumerate(samples):
        renumbered.append(replace(sample, offset=number))
    return renumbered


def check_same_stages(chain: Chain, original: Chain, place: str) -> None:
    """Raises an error if ``chain`` and the connector's chain ``original`` cannot be compared stage by stage.

    Args:
        chain, original: The chains.
        place: The location of the problem in the error.

    Raises:
        ConfigError: SMT971, the chains have different numbers of stages.
    """
    if len(chain.stages) != len(original.stages):
        statement = f"the chain has {len(chain.stages)} stages, and the connector has {len(original.stages)}"
        hint = "a certificate compares the results after each stage: give both the same stages"
        raise ConfigError(Problem("SMT971", place, statement, hint))


def _check_comparable(pair: ChainPair, samples: Sequence[Sample]) -> None:
    if not samples:
        hint = "name a topic or a file that has records"
        raise ConfigError(Problem("SMT971", "certify", "there is no record to compare", hint))
    if len(pair.same) == len(pair.ours.stages):
        reasons = "; ".join(dict.fromkeys(pair.same.values())) or "the chain has no stages"
        raise ConfigError(Problem("SMT971", "certify", "no stage can be compared with a class of Connect", reasons))


def _stages(pair: ChainPair, connect: Steps) -> tuple[CertifiedStage, ...]:
    stages = []
    for index, stage in enumerate(pair.ours.stages):
        if index:
            reached = 0
            for result in connect[index - 1]:
                reached += "record" in result
        else:
            reached = len(connect[0])
        stages.append(CertifiedStage(stage.alias, stage.label, stage.connect_class, reached, pair.same.get(index, "")))
    return tuple(stages)
