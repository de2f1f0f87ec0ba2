"""Certifies a chain with a policy, whose stages run before the comparison.

Kafka Connect has no policies, so no class of Connect corresponds to the stages of a policy. These stages run first, in
this package, and the resulting records are compared.
"""

from collections.abc import Sequence
from dataclasses import replace

from dagster_smt.authoring.stage import Chain
from dagster_smt.certify.certificate import READING, Certificate, CertifiedStage
from dagster_smt.errors import Problem, UnsupportedError
from dagster_smt.interpret.interpreter import FAILED, Interpreter
from dagster_smt.interpret.preview import Sample
from dagster_smt.model.record import Record
from dagster_smt.model.topics.format import Format
from dagster_smt.privacy.policy_stages import PolicyStage
from dagster_smt.values.headers.fields import header_as_read, header_bytes

WHY = "a stage of the policy: Kafka Connect has none, so it runs first and the records that it leaves are compared"
_FORMATS = ("json", "json_schema", "envelope", "string", "bytes")
"""The formats in which records can be written again after a policy. Formats with a registry are not included, because
writing would add schemas to the registry.
"""


def policy_of_chain(chain: Chain) -> tuple[PolicyStage, ...]:
    """Returns the stages of a policy, which are at the beginning of ``chain``."""
    stages = []
    for stage in chain.stages:
        if not isinstance(stage, PolicyStage):
            break
        stages.append(stage)
    return tuple(stages)


def without_policy(chain: Chain, policy: Sequence[PolicyStage]) -> Chain:
    """Returns ``chain`` without the stages in ``policy``, which are at its beginning."""
    return replace(chain, stages=chain.stages[len(policy) :])


def samples_after(
    chain: Chain, policy: Sequence[PolicyStage], samples: Sequence[Sample], key: Format, value: Format
) -> list[Sample]:
    """Returns ``samples`` after the stages of ``policy``. Records that cannot be read stay as they are, and records
    that the policy drops or rejects are left out.

    Raises:
        UnsupportedError: SMT974 if records of these formats cannot be written after the policy.
    """
    if key.kind not in _FORMATS or value.kind not in _FORMATS:
        hint = "certify the chain without its policy, on records that are no secret"
        statement = f"a chain behind a policy is compared on {', '.join(_FORMATS)} only"
        raise UnsupportedError(Problem("SMT974", "certify", statement, hint))
    interpreter = Interpreter(replace(chain, stages=tuple(policy)), key, value)
    records = []
    for number, sample in enumerate(samples):
        headers = []
        for name, raw in sample.headers:
            headers.append(header_as_read(name, raw))
        place = sample.topic, sample.partition, sample.offset, sample.timestamp
        records.append(Record(*place, "CreateTime", headers=headers, number=number))
    try:
        results = interpreter.run_all(records, [sample.key for sample in samples], [sample.value for sample in samples])
    finally:
        interpreter.close()
    assert results.keys is not None
    left = []
    for number, (sample, record) in enumerate(zip(samples, records, strict=True)):
        outcome = results.lost.get(number)
        if outcome is None:
            headers_left = tuple((header.key, header_bytes(header)) for header in record.headers)
            left.append(replace(sample, key=results.keys[number], value=results.values[number], headers=headers_left))
        elif outcome.status == FAILED and outcome.stage < 0:
            left.append(sample)
    return left


def with_policy(certificate: Certificate, chain: Chain, policy: Sequence[PolicyStage], records: int) -> Certificate:
    """Returns ``certificate`` with the stages of the policy added before its own. They are marked as not comparable.

    Args:
        certificate: The certificate of the chain without its policy.
        chain: The chain with its policy.
        policy: The stages of the policy.
        records: The number of records before the policy.
    """
    stages = [CertifiedStage(stage.alias, stage.label, stage.connect_class, records, WHY) for stage in policy]
    findings = []
    for finding in certificate.findings:
        stage = finding.stage if finding.stage == READING else finding.stage + len(policy)
        findings.append(replace(finding, stage=stage))
    return replace(certificate, hash=chain.hash, stages=(*stages, *certificate.stages), findings=tuple(findings))
