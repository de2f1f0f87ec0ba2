"""Renders a certificate as Markdown, for reports, pull requests and terminals."""

from collections.abc import Iterator
from dataclasses import replace

from dagster_smt.certify.certificate import READING, Certificate, Finding
from dagster_smt.model.reports.markdown import code, plain, table

SIGNS = {"equal": "✓", "deliberate": "≈", "different": "✗", "not comparable": "–"}


def certificate_text(certificate: Certificate) -> str:
    """Returns ``certificate`` as Markdown."""
    return "\n\n".join(_parts(certificate)) + "\n"


def _parts(certificate: Certificate) -> Iterator[str]:
    yield f"# Certificate: {plain(certificate.name)}"
    yield f"**{SIGNS[certificate.verdict]} {certificate.verdict}**: {plain(certificate.statement)}."
    yield table(_facts(certificate))
    yield "## Stages"
    yield table(_stages(certificate))
    for title, groups in of_kinds(certificate):
        yield f"## {title}"
        yield "\n".join(_findings(certificate, group) for group in groups)
    if certificate.not_compared:
        yield "## Not comparable"
        reasons = []
        for stage in certificate.not_compared:
            reasons.append(f"- {code(stage.alias)}: {plain(stage.same)}.")
        yield "\n".join(reasons)
    if certificate.warnings:
        yield "## Options that Connect's classes do not know"
        warnings = []
        for p in certificate.warnings:
            warnings.append(f"- {plain(f'{p.code} {p.place}: {p.statement}')}")
        yield "\n".join(warnings)


def of_kinds(certificate: Certificate) -> Iterator[tuple[str, list[list[Finding]]]]:
    """Yields the findings of ``certificate`` in up to two parts: ``("Different", groups)`` for the unexplained
    differences, then ``("Deliberate differences", groups)``.

    The findings in a group differ only in their execution path, such as Python or Spark.
    """
    different = [finding for finding in certificate.findings if not finding.decision]
    deliberate = [finding for finding in certificate.findings if finding.decision]
    if different:
        yield "Different", _groups(different)
    if deliberate:
        yield "Deliberate differences", _groups(deliberate)


def _groups(findings: list[Finding]) -> list[list[Finding]]:
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(replace(finding, way=""), []).append(finding)
    return list(groups.values())


def ways_of(group: list[Finding]) -> str:
    """Returns the names of the execution paths ("ways", such as the Python evaluator) on which the differences in
    ``group`` occurred.
    """
    return ", ".join(finding.way for finding in group)


def facts_of(certificate: Certificate) -> list[tuple[str, str]]:
    """Returns the certificate's facts as pairs of a name and a text, such as ``("records", "12 compared")``."""
    records = f"{certificate.records} compared"
    if certificate.refused:
        records += f", {certificate.refused} that the converters refuse"
    if certificate.skipped:
        records += f", {certificate.skipped} messages without a row"
    facts = [("records", records), ("Kafka Connect", certificate.connect_version)]
    if certificate.jars:
        facts.append(("jars", ", ".join(certificate.jars)))
    for way in certificate.ways:
        facts.append((f"way: {way.name}", f"{way.records} records" if way.records else f"not compared: {way.why_not}"))
    return [*facts, ("chain", certificate.hash)]


def stage_name(certificate: Certificate, stage: int) -> str:
    """Returns the alias of the stage with the index ``stage``, or ``reading`` if ``stage`` is ``READING`` (the
    converters).
    """
    return "reading" if stage == READING else certificate.stages[stage].alias


def _facts(certificate: Certificate) -> list[list[str]]:
    return [["", ""], *([plain(name), plain(text)] for name, text in facts_of(certificate))]


def _stages(certificate: Certificate) -> list[list[str]]:
    rows = [["", "stage", "transform", "records", "verdict"]]
    verdict = certificate.verdict_of(READING)
    rows.append([SIGNS[verdict], "reading", "converters", str(certificate.records + certificate.refused), verdict])
    for number, stage in enumerate(certificate.stages):
        verdict = certificate.verdict_of(number)
        rows.append([SIGNS[verdict], code(stage.alias), code(stage.label), str(stage.records), verdict])
    return rows


def _findings(certificate: Certificate, group: list[Finding]) -> str:
    finding = group[0]
    stage = code(stage_name(certificate, finding.stage))
    line = f"- {stage}, {plain(ways_of(group))}: {finding.counts}. "
    line += f"First {code(finding.first.record)}: {plain(finding.first.text)}."
    if finding.decision:
        line += f" {finding.decision}: {plain(finding.reason)}."
    return line
