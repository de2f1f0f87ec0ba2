"""Renders a certificate as one self-contained page, for light and dark screens and for paper."""

from collections.abc import Iterable

from dagster_smt.certify.certificate import READING, Certificate, Finding
from dagster_smt.cli.certificate_text import SIGNS, facts_of, of_kinds, stage_name, ways_of
from dagster_smt.cli.explain_page import escape

STYLE = """
:root { color-scheme: light dark; --page: #fff; --text: #1b1f24; --quiet: #59636e; --line: #d1d9e0; --card: #f6f8fa;
  --equal: #1a7f37; --deliberate: #9a6700; --different: #cf222e; --none: #59636e; }
@media (prefers-color-scheme: dark) { :root { --page: #0d1117; --text: #e6edf3; --quiet: #9198a1; --line: #3d444d;
  --card: #151b23; --equal: #3fb950; --deliberate: #d29922; --different: #f85149; --none: #9198a1; } }
* { box-sizing: border-box; }
body { font: 15px/1.55 system-ui, sans-serif; margin: 0 auto; padding: 2.5em 1.5em; max-width: 960px;
  color: var(--text); background: var(--page); }
h1 { font-size: 1.6em; margin: 0 0 .6em; overflow-wrap: anywhere; }
h2 { font-size: 1.1em; margin: 2em 0 .6em; }
code { font: 13px ui-monospace, monospace; overflow-wrap: anywhere; }
.verdict { border: 1px solid var(--line); border-left: 6px solid var(--tone); border-radius: 6px; padding: 1em 1.2em;
  background: var(--card); }
.verdict b { color: var(--tone); font-size: 1.15em; display: block; }
.equal { --tone: var(--equal); } .deliberate { --tone: var(--deliberate); } .different { --tone: var(--different); }
.none { --tone: var(--none); }
.badge { color: var(--tone); white-space: nowrap; font-weight: 600; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .45em .8em .45em 0; text-align: left; vertical-align: top; }
th { color: var(--quiet); font-weight: 500; font-size: .9em; }
td.number { text-align: right; font-variant-numeric: tabular-nums; } th.number { text-align: right; }
article { border: 1px solid var(--line); border-left: 4px solid var(--tone); border-radius: 6px; padding: .8em 1em;
  margin: 0 0 .8em; }
article p { margin: .3em 0 0; } .quiet { color: var(--quiet); }
@media print { body { padding: 0; max-width: none; } article { break-inside: avoid; } }
"""


def certificate_page(certificate: Certificate) -> str:
    """Returns ``certificate`` as an HTML page."""
    parts = [
        f"<h1>Certificate: {escape(certificate.name)}</h1>",
        _verdict(certificate),
        "<h2>Stages</h2>",
        _stages(certificate),
    ]
    for title, groups in of_kinds(certificate):
        parts.append(f"<h2>{title}</h2>")
        parts += [_findings(certificate, group) for group in groups]
    parts += [_not_compared(certificate), _warnings(certificate), "<h2>What was compared</h2>", _facts(certificate)]
    head = "<meta charset='utf-8'><meta name='viewport' content='width=device-width, initial-scale=1'>"
    head += f"<title>Certificate: {escape(certificate.name)}</title><style>{STYLE}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{''.join(parts)}</body></html>\n"


def _verdict(certificate: Certificate) -> str:
    verdict = certificate.verdict
    head = f"<b>{SIGNS[verdict]} {verdict}</b>"
    return f"<div class='verdict {verdict}'>{head}{escape(certificate.statement)}.</div>"


def _stages(certificate: Certificate) -> str:
    head = "<tr><th>stage</th><th>transform</th><th class='number'>records</th><th>verdict</th></tr>"
    count = certificate.records + certificate.refused
    rows = [_row("<i>reading</i>", "converters", count, certificate.verdict_of(READING))]
    for number, stage in enumerate(certificate.stages):
        alias, label = (f"<code>{escape(text)}</code>" for text in (stage.alias, stage.label))
        rows.append(_row(alias, label, stage.records, certificate.verdict_of(number)))
    return _table([head, *rows])


def _row(stage: str, transform: str, records: int, verdict: str) -> str:
    return f"<tr><td>{stage}</td><td>{transform}</td><td class='number'>{records}</td><td>{_badge(verdict)}</td></tr>"


def _badge(verdict: str) -> str:
    tone = verdict if verdict in ("equal", "deliberate", "different") else "none"
    return f"<span class='badge {tone}'>{SIGNS[verdict]} {verdict}</span>"


def _findings(certificate: Certificate, group: list[Finding]) -> str:
    finding = group[0]
    tone = "deliberate" if finding.decision else "different"
    stage = escape(stage_name(certificate, finding.stage))
    head = f"<code>{stage}</code> · {escape(ways_of(group))} · {finding.counts}"
    first = f"First <code>{escape(finding.first.record)}</code>: {escape(finding.first.text)}"
    reason = ""
    if finding.decision:
        reason = f"<p class='quiet'>{finding.decision}: {escape(finding.reason)}.</p>"
    return f"<article class='{tone}'><b>{head}</b><p>{first}.</p>{reason}</article>"


def _not_compared(certificate: Certificate) -> str:
    if not certificate.not_compared:
        return ""
    articles = []
    for stage in certificate.not_compared:
        articles.append(
            f"<article class='none'><b><code>{escape(stage.alias)}</code></b><p>{escape(stage.same)}.</p></article>"
        )
    return f"<h2>Not comparable</h2>{''.join(articles)}"


def _warnings(certificate: Certificate) -> str:
    if not certificate.warnings:
        return ""
    lines = []
    for p in certificate.warnings:
        lines.append(f"<li>{escape(f'{p.code} {p.place}: {p.statement}')}</li>")
    items = "".join(lines)
    return f"<h2>Options that Connect's classes do not know</h2><ul>{items}</ul>"


def _facts(certificate: Certificate) -> str:
    rows = []
    for name, text in facts_of(certificate):
        rows.append(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>")
    return _table(rows)


def _table(rows: Iterable[str]) -> str:
    return f"<div class='scroll'><table>{''.join(rows)}</table></div>"
