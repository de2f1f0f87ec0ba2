"""Renders the report of a shadow run as one self-contained page, for light and dark screens and for paper."""

from collections.abc import Iterable, Sequence

from dagster_smt.cli.certificate_page import STYLE
from dagster_smt.cli.explain_page import escape
from dagster_smt.connect.takeover.shadow import ShadowReport, facts_of

PAGE = "shadow.html"


def shadow_page(report: ShadowReport) -> str:
    """Returns ``report`` as HTML. The page contains no value of an option or a field."""
    title = f"{'Certificate' if report.same else 'Differences'}: shadow run of {escape(report.connector)}"
    parts = [f"<h1>{title}</h1>", _verdict(report), _differences(report), "<h2>What was compared</h2>"]
    parts += [_table((), facts_of(report)), "<h2>Offsets</h2>"]
    offsets = []
    for topic, partitions in report.window.items():
        for partition, (start, end) in partitions.items():
            offsets.append((topic, str(partition), str(start), str(end)))
    parts += [_table(("topic", "partition", "from", "to"), offsets), "<h2>Columns</h2>"]
    parts.append(_table(("column", "type"), report.rows["columns"].items()))
    head = "<meta charset='utf-8'><meta name='viewport' content='width=device-width, initial-scale=1'>"
    head += f"<title>{title}</title><style>{STYLE}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{''.join(parts)}</body></html>\n"


def _verdict(report: ShadowReport) -> str:
    tone, word = ("equal", "same rows") if report.same else ("different", "different rows")
    statement = f"{report.records} records give {report.rows['ours']} rows; the connector wrote "
    statement += f"{report.rows['of_connector']} rows."
    return f"<div class='verdict {tone}'><b>{word}</b>{statement}</div>"


def _differences(report: ShadowReport) -> str:
    parts = []
    if report.columns:
        rows = []
        for c in report.columns:
            rows.append((c["column"], c["kind"], c["text"]))
        parts += ["<h2>Columns that differ</h2>", _table(("column", "difference", "text"), rows)]
    first = []
    for one in report.rows["first"]:
        first.append((one["place"], str(one["rows"]), ", ".join(one["columns"]) or "no row is similar"))
    if first:
        names = ("record", "rows", "columns that differ from the most similar row")
        parts += ["<h2>First differences</h2>", _table(names, first)]
    return "".join(parts)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["<tr>" + "".join(f"<th>{escape(name)}</th>" for name in head) + "</tr>"] if head else []
    for row in rows:
        lines.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>")
    return f"<div class='scroll'><table>{''.join(lines)}</table></div>"
