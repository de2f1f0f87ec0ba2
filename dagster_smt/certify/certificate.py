"""A certificate: the result of comparing a chain with Kafka Connect's classes."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from dagster_smt.certify.difference_places import DifferencePlace
from dagster_smt.errors import Problem
from dagster_smt.tools.parity.judge import REASONS

VERSION = 1
"""The version of the JSON that ``Certificate.to_json`` returns."""
READING = -1
"""The index of a finding (a group of differences from Kafka Connect) that the converters caused. All other findings
have the index of a stage: 0, 1 and so on.
"""
Verdict = Literal["equal", "deliberate", "different"]


@dataclass(frozen=True)
class CertifiedStage:
    """A stage of the chain, as a line of the certificate.

    Attributes:
        alias: The alias of the stage.
        label: The type of the stage as the user writes it, such as ``MaskField$Value``.
        class_name: The name of Connect's Java class for the stage.
        records: The number of records that reached the stage in Connect.
        same: The reason why the stage or its predicate was not compared, for example because no jar has its class. Both
            chains then used the same class for the stage or the predicate. Empty if both were compared.
    """

    alias: str
    label: str
    class_name: str
    records: int
    same: str = ""


@dataclass(frozen=True)
class CertifiedWay:
    """An execution path ("way", such as the Python evaluator) on which this package ran the records of a certificate.

    Attributes:
        name: The name of the execution path in reports.
        records: The number of records that ran on this path.
        why_not: The reason why no record ran on this path; empty if at least one record ran on this path.
    """

    name: str
    records: int = 0
    why_not: str = ""


@dataclass(frozen=True)
class Finding:
    """A group of records whose results differ from Connect's results in the same way: on the same execution path, after
    the same stage, for the same reason.

    Attributes:
        way: The name of the execution path, such as the Python evaluator.
        stage: The index of the stage after which the difference first appears; ``READING`` for the converters.
        decision: The id of the intended difference, such as ``D5``; empty if no rule explains the difference.
        records: The number of records in the group.
        lasting_numbers: The positions of the records in the group that still have an unexplained difference after the
            last stage. A later stage may remove a difference, for example by dropping the field. A record may be in
            several findings. Records that our converters reject come after all others.
        first: The location of the difference in the first record.
    """

    way: str
    stage: int
    decision: str
    records: int
    lasting_numbers: frozenset[int]
    first: DifferencePlace

    @property
    def lasting(self) -> int:
        """The number of records that still have an unexplained difference after the last stage."""
        return len(self.lasting_numbers)

    @property
    def reason(self) -> str:
        """The reason why the difference is intended. Empty if no rule explains the difference."""
        return REASONS.get(self.decision, "")

    @property
    def counts(self) -> str:
        """The number of records as text, such as ``3 records, of which 1 no longer differs after the last stage``."""
        records = f"{self.records} record" + "s" * (self.records != 1)
        if self.decision or self.lasting == self.records:
            return records
        equal_again = self.records - self.lasting
        verb = "differs" if equal_again == 1 else "differ"
        return f"{records}, of which {equal_again} no longer {verb} after the last stage"


@dataclass(frozen=True)
class Certificate:
    """The result of comparing a chain with Kafka Connect's classes.

    Attributes:
        name: The name of the chain.
        hash: The hash of the chain's properties.
        connect_version: The version of Kafka Connect.
        jars: The jars of vendors, as the option ``smt_jars`` names them.
        records: The number of records on which both chains ran.
        refused: The number of records that the converters reject.
        skipped: The number of messages that contain no row, such as a DDL statement from Canal. Neither chain gets
            these messages.
        stages: The stages.
        ways: The execution paths on which this package ran, such as the Python evaluator.
        findings: The differences, in the order of the stages.
        warnings: Warnings about options that Connect's classes do not know.
    """

    name: str
    hash: str
    connect_version: str
    jars: tuple[str, ...]
    records: int
    refused: int
    skipped: int
    stages: tuple[CertifiedStage, ...]
    ways: tuple[CertifiedWay, ...]
    findings: tuple[Finding, ...] = ()
    warnings: tuple[Problem, ...] = field(default=())

    @property
    def verdict(self) -> Verdict:
        """The verdict. It is ``different`` if an unexplained difference remains after the last stage. Otherwise it is
        ``deliberate`` if there are intended differences, and ``equal`` if there are none.
        """
        if any(finding.lasting for finding in self.findings if not finding.decision):
            return "different"
        return "deliberate" if any(finding.decision for finding in self.findings) else "equal"

    @property
    def different(self) -> int:
        """The number of records that still have an unexplained difference after the last stage. Each execution path,
        such as Python or Spark, may have its own number; this is the largest of these numbers.
        """
        by_way: dict[str, set[int]] = {}
        for finding in self.findings:
            if not finding.decision:
                # a record counts once, even if several stages make it differ, or if its value and its type differ
                by_way.setdefault(finding.way, set()).update(finding.lasting_numbers)
        return max(map(len, by_way.values()), default=0)

    @property
    def exit_code(self) -> int:
        """The exit code of the command: 1 if results differ without a reason, otherwise 0."""
        return int(self.verdict == "different")

    @property
    def not_compared(self) -> list[CertifiedStage]:
        """The stages that could not be compared."""
        return [stage for stage in self.stages if stage.same]

    def of_stage(self, stage: int) -> list[Finding]:
        """Returns the findings for the stage with the index ``stage``."""
        return [finding for finding in self.findings if finding.stage == stage]

    def verdict_of(self, stage: int) -> str:
        """Returns the verdict on the stage with the index ``stage``: ``equal``, ``deliberate``, ``different`` or
        ``not comparable``.
        """
        findings = self.of_stage(stage)
        if any(not finding.decision for finding in findings):
            return "different"
        if findings:
            return "deliberate"
        return "not comparable" if stage >= 0 and self.stages[stage].same else "equal"

    @property
    def statement(self) -> str:
        """The result of the comparison in one sentence, such as
        ``12 records have the results of Kafka Connect 4.3.1``.
        """
        count = f"{self.records} records"
        if self.verdict == "different":
            total = self.records
            # the converters were compared on the records that they reject, too
            if any(finding.lasting for finding in self.of_stage(READING)):
                total += self.refused
            return f"{self.different} of {total} records differ from Kafka Connect {self.connect_version}"
        but = ", except for deliberate differences" if self.verdict == "deliberate" else ""
        if any(not finding.decision for finding in self.findings):
            but += "; a later stage removes the other differences"
        if self.not_compared:
            but += f"; {len(self.not_compared)} of {len(self.stages)} stages cannot be compared"
        return f"{count} have the results of Kafka Connect {self.connect_version}{but}"

    @property
    def lines(self) -> Iterator[str]:
        """Yields a line for each group of records with an unexplained difference. A line names the number of records,
        the first record, the stage, the execution path and the difference.
        """
        for finding in self.findings:
            if not finding.decision:
                stage = "reading" if finding.stage == READING else self.stages[finding.stage].alias
                where = f"{finding.first.record}, stage {stage}, {finding.way}"
                yield f"{finding.counts}, first {where}: {finding.first.text}"

    def to_json(self) -> dict[str, Any]:
        """Returns the certificate as JSON data. Under the key ``version``, the data contains a number that changes
        whenever the structure changes.
        """
        return {
            "version": VERSION,
            "verdict": self.verdict,
            "statement": self.statement,
            "chain": {"name": self.name, "hash": self.hash},
            "connect_version": self.connect_version,
            "smt_jars": list(self.jars),
            "records": {"compared": self.records, "refused": self.refused, "without_row": self.skipped},
            "ways": [{"name": w.name, "records": w.records, "why_not": w.why_not} for w in self.ways],
            "reading": self._stage(READING),
            "stages": [self._named_stage(number) for number in range(len(self.stages))],
            "warnings": [{"code": p.code, "place": p.place, "statement": p.statement} for p in self.warnings],
        }

    def _named_stage(self, number: int) -> dict[str, Any]:
        stage = self.stages[number]
        data: dict[str, Any] = {"alias": stage.alias, "transform": stage.label, "class": stage.class_name}
        return {**data, "records": stage.records, "not_comparable": stage.same, **self._stage(number)}

    def _stage(self, number: int) -> dict[str, Any]:
        findings = []
        for finding in self.of_stage(number):
            entry: dict[str, Any] = {"way": finding.way, "decision": finding.decision, "reason": finding.reason}
            entry |= {"records": finding.records, "lasting": finding.lasting, "first": finding.first.to_json()}
            findings.append(entry)
        return {"verdict": self.verdict_of(number), "findings": findings}
