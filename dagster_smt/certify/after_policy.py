"""Certifies a chain that begins with the stages of a policy (a file that says, for example, "mask all e-mail
addresses").

Kafka Connect has no policies, so it has no classes for these stages. This package therefore runs the policy's stages
first. Both engines then start with the resulting records.
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
"""The formats in which records can be written again after the stages of a policy have changed them. Formats with a
schema registry are missing, because writing would add schemas to the registry.
"""


def policy_of_chain(chain: Chain) -> tuple[PolicyStage, ...]:
    """Returns the stages at the beginning of ``chain`` that come from a policy. Empty if the chain has no policy."""
    stages = []
    for stage in chain.stages:
        if not isinstance(stage, PolicyStage):
            break
        stages.append(stage)
    return tuple(stages)


def without_policy(chain: Chain, policy: Sequence[PolicyStage]) -> Chain:
    """Returns ``chain`` without its first stages, which are the stages in ``policy``."""
    return replace(chain, stages=chain.stages[len(policy) :])


def samples_after(
    chain: Chain, policy: Sequence[PolicyStage], samples: Sequence[Sample], key: Format, value: Format
) -> list[Sample]:
    """Runs the stages of ``policy`` on ``samples``, and returns the resulting records.

    The result does not contain records that the policy drops or rejects, nor messages without a row (such as a DDL
    statement from Canal). A record that cannot be read is returned unchanged.

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
        # Our converter has rejected the record: the numbers of converters are negative. The sample stays, because the
        # certificate also says whether Connect's converter reads the record.
        elif outcome.status == FAILED and outcome.stage < 0:
            left.append(sample)
    return left


def with_policy(certificate: Certificate, chain: Chain, policy: Sequence[PolicyStage], records: int) -> Certificate:
    """Returns a copy of ``certificate`` that begins with the stages of the policy. The copy says that these stages
    cannot be compared.

    Args:
        certificate: The certificate of the chain without its policy.
        chain: The chain with its policy.
        policy: The stages of the policy.
        records: The number of records that entered the policy's first stage.
    """
    stages = [CertifiedStage(stage.alias, stage.label, stage.connect_class, records, WHY) for stage in policy]
    findings = []
    for finding in certificate.findings:
        stage = finding.stage if finding.stage == READING else finding.stage + len(policy)
        findings.append(replace(finding, stage=stage))
    return replace(certificate, hash=chain.hash, stages=(*stages, *certificate.stages), findings=tuple(findings))
