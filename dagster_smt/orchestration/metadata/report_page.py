"""Writes the report of a run as one page of Markdown. The page is the first entry in the run's metadata."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath

from dagster_smt.model.reports.markdown import code, fenced, plain, table
from dagster_smt.model.reports.run_report import FieldChange, RunReport, StageCounts, of_value, sum_of_keys
from dagster_smt.tables.sink_options import Sink
from dagster_smt.visible import visible

_MOST = 40
"""The largest number of lines in a part of the page. The tables below the page contain all lines."""
# ``[0]`` and ``[*]``, but not a quoted name such as ``['a.b']``
_ELEMENTS = re.compile(r"\[[^\[\]']*\]")
_WORDS = {"added": "←", "renamed": "→", "cast": "→", "extracted": "→"}


def report_markdown(
    report: RunReport,
    sink: Sink,
    changes: Sequence[FieldChange],
    since: Sequence[FieldChange],
    rows: int,
    lag: int | None,
    lineage: Mapping[str, Iterable[str]],
) -> str:
    """Returns the report as Markdown.

    Args:
        report: The report of a run, or a topic's part of the report.
        sink: The sink of the run.
        changes: The differences between the input schema and the output schema.
        since: The differences between the schemas of the previous run and this run.
        rows: The rows of the table, or of the partition, after the run.
        lag: The number of offsets that are in the topics but not in the table.
        lineage: Maps each column to the fields from which its values come. Empty if the sink contains records
            instead of columns.
    """
    parts = [
        _counts(report, sink, rows, lag),
        _keys(report),
        _stages(report),
        _changes("Schema: input to table", changes),
        _changes("Schema: since the run before", since),
        _ways(report, lineage),
        _warnings(report),
    ]
    return "\n\n".join(part for part in parts if part)


def _counts(report: RunReport, sink: Sink, rows: int, lag: int | None) -> str:
    topics = report.window.topics
    names = ", ".join(map(plain, topics[:3])) + (f" and {len(topics) - 3} more topics" if len(topics) > 3 else "")
    if sink.folder is not None:
        place = PurePath(sink.place).name
    else:
        place = sink.place
    head = f"**{names or 'No topic'}** → **{plain(place)}** ({report.status})"
    cells = {
        "records in": report.records_in,
        **({"their rows": report.rows_in} if report.rows_in != report.records_in else {}),
        "out": report.records_out,
        "dropped": report.dropped,
        **({"of these without a row": report.empty} if report.empty else {}),
        **({"of these, of erased people": report.erased} if report.erased else {}),
        "dead letters": report.failed_records,
        "rows now": rows,
        **({"not read yet": lag} if lag is not None else {}),
    }
    numbers = []
    for n in cells.values():
        numbers.append(f"{n:,}")
    counts = table([list(cells), numbers], right=True)
    if not report.way:
        return f"{head}\n\n{counts}"
    return f"{head}\n\n{counts}\n\nWay of the records: {report.way}"


def _keys(report: RunReport) -> str:
    """Returns text about the rows that a run inserted, updated and deleted in a table with keys (a table with one row
    for each key).
    """
    if not report.keyed:
        return ""
    names = ["inserted", "updated", "deleted", "superseded", "incomplete", "without_row"]
    lines = list(report.keyed.items())[:_MOST]
    if len(report.keyed) > 1:
        lines.append(("all topics", sum_of_keys(report.keyed.values())))
    rows = [["topic", *(name.replace("_", " ") for name in names)]]
    for topic, counts in lines:
        numbers = []
        for name in names:
            numbers.append(f"{getattr(counts, name):,}")
        rows.append([plain(topic), *numbers])
    return f"**What happened to the keys**\n\n{table(rows)}{_more(len(report.keyed))}"


def _stages(report: RunReport) -> str:
    if not report.stages:
        return ""
    unit = "rows" if report.rows_in != report.records_in else "records"
    rows: list[list[str]] = [["stage", "transform", unit, "what it did"]]
    for number, stage in enumerate(report.stages[:_MOST]):
        rows.append([code(stage.alias), plain(stage.transform), f"{stage.records_in:,}", _did(report, number, stage)])
    return f"**What each stage did**\n\n{table(rows)}"


def _did(report: RunReport, number: int, stage: StageCounts) -> str:
    effects = []
    for line in report.ledger:
        entry = line.entry
        if entry.stage == number:
            if entry.target:
                target = f" {_WORDS.get(entry.action, '→')} {code(entry.target)}"
            else:
                target = ""
            effects.append(f"{entry.action} {code(entry.path)}{target} in {line.records:,}")
    unread = 0
    for u in report.unread:
        if u.stage == number:
            unread += u.records
    apart = f", {unread:,} of them unread" if unread else ""
    effects += [f"dropped {stage.dropped:,} records{apart}"] if stage.dropped else []
    effects += [f"**{stage.failed:,} failed**"] if stage.failed else []
    more = f"; {len(effects) - _MOST} more" if len(effects) > _MOST else ""
    return "; ".join(effects[:_MOST]) + more or "nothing"


def _changes(title: str, changes: Sequence[FieldChange]) -> str:
    if not changes:
        return ""
    rows = [["field", "change", "before", "after"]]
    for c in changes[:_MOST]:
        rows.append([code(c.field), c.change, _code(c.before), _code(c.after)])
    return f"**{title}**\n\n{table(rows)}{_more(len(changes))}"


def _column_of(path: str) -> str:
    """Converts ``path``, a path in the ledger, into the spelling of the lineage. The path ``items[0].sku`` becomes
    ``items[].sku``, because the lineage has one name for all elements of an array.
    """
    return _ELEMENTS.sub("[]", path)


def _ways(report: RunReport, lineage: Mapping[str, Iterable[str]]) -> str:
    """Draws ``lineage`` as text, because Dagster's UI shows no diagrams in Markdown."""
    if not lineage:
        return ""
    entries = []
    for line in report.ledger:
        if line.entry.side == "value":
            entries.append(line.entry)
    touched = {_column_of(path): entry for entry in entries for path in entry.matched or (entry.path,)}
    lines = []
    for column, sources in list(lineage.items())[:_MOST]:
        paths = sorted(of_value(s) or s for s in sources)
        origin = ", ".join(map(visible, paths)) or "(a constant)"
        # a stage has changed the column itself, or a field from which the column comes
        entry = touched.get(column) or next((touched[p] for p in paths if p in touched), None)
        if entry is not None:
            effect = f"─ {visible(entry.alias)}: {entry.action} "
        else:
            effect = ""
        lines.append((origin, effect, visible(column)))
    width, middle = max(len(a) for a, _, _ in lines), max(len(b) for _, b, _ in lines)
    drawn = []
    for a, b, c in lines:
        drawn.append(f"{a:<{width}} {b + '─' * (middle - len(b))}──▶ {c}")
    return f"**Where the columns come from**\n\n{fenced(drawn)}{_more(len(lineage))}"


def _warnings(report: RunReport) -> str:
    if not report.warnings:
        return ""
    lines = []
    for w in report.warnings:
        lines.append(f"- **{w.code}** {plain(w.place)}: {plain(w.statement)}. _{plain(w.hint)}_")
    return "**Warnings**\n\n" + "\n".join(lines[:_MOST])


def _more(count: int) -> str:
    if count > _MOST:
        return f"\n\n{count - _MOST} more in the tables below."
    return ""


def _code(text: str) -> str:
    if text:
        return code(text)
    return ""
