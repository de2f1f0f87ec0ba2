"""Renders a plan as one self-contained page for ``explain --html``, with warnings, stages, and the lineage of the
columns.
"""

from collections.abc import Iterable, Sequence
from html import escape as escaped_markup

from dagster_smt.chain import Plan
from dagster_smt.chain.explain import explain
from dagster_smt.model.reports.run_report import FieldChange, LedgerEntry, leaf_labels, of_value, schema_diff
from dagster_smt.visible import visible

_LINE = 22  # pixels per line
_NAMES, _GAP = 340, 260
_STYLE = """
body { font: 14px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 1000px; color: #1b1f24; }
table { border-collapse: collapse; margin: 0 0 1.5em; }
th, td { border-bottom: 1px solid #d0d7de; padding: .3em .8em; text-align: left; vertical-align: top; }
code, pre, text { font: 12px ui-monospace, monospace; }
pre { background: #f6f8fa; padding: 1em; overflow-x: auto; }
path { fill: none; stroke: #57606a; stroke-opacity: .55; }
path.masked { stroke: #cf222e; } text.masked { fill: #cf222e; } text.gone { fill: #8c959f; }
.warning { color: #9a6700; }
"""


def escape(text: str) -> str:
    """Returns ``text`` for the page: keeps its lines, escapes markup, and replaces characters that cannot be
    printed.
    """
    return escaped_markup("\n".join(map(visible, text.split("\n"))))


def page(plan: Plan, name: str, *, full: bool = False) -> str:
    """Returns the HTML page about ``plan``.

    Args:
        plan: The plan.
        name: The name of the chain's file.
        full: True to show all fields after each stage; False to show only the changes of each stage.
    """
    if plan.typed:
        diff = schema_diff(plan.before, plan.after, plan.lineage)
    else:
        diff = []
    parts = [
        f"<h1>{escape(name)}</h1>",
        _warnings(plan),
        _stages(plan),
        _changes(diff),
        _ways(plan),
        f"<h2>Stage by stage</h2><pre>{escape(explain(plan, full=full))}</pre>",
    ]
    head = f"<meta charset='utf-8'><title>{escape(name)}</title><style>{_STYLE}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{''.join(parts)}</body></html>\n"


def _warnings(plan: Plan) -> str:
    lines = []
    for problem in plan.warnings:
        lines.append(f"<li class='warning'>{escape(str(problem))}</li>")
    items = "".join(lines)
    if items:
        return f"<h2>Warnings</h2><ul>{items}</ul>"
    return ""


def _stages(plan: Plan) -> str:
    rows = []
    for number, stage in enumerate(plan.chain.stages):
        if stage.predicate:
            acts = f"{'unless' if stage.negate else 'where'} {stage.predicate_name}"
        else:
            acts = "always"
        entries = [e for e in plan.entries if e.stage == number]
        did = [f"{e.action} {e.path}{_target(e)}" for e in entries]
        rows.append((str(number + 1), stage.alias, stage.label, acts, "\n".join(did)))
    return f"<h2>Stages</h2>{_table(('#', 'stage', 'transform', 'acts', 'what it may do'), rows)}"


def _target(entry: LedgerEntry) -> str:
    if entry.target:
        return f" {'←' if entry.action == 'added' else '→'} {entry.target}"
    return ""


def _changes(diff: Sequence[FieldChange]) -> str:
    rows = [(c.field, c.change, c.before, c.after) for c in diff]
    if rows:
        return f"<h2>Schema: input to table</h2>{_table(('field', 'change', 'before', 'after'), rows)}"
    return ""


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    def line(cells: Iterable[str], tag: str) -> str:
        texts = []
        for c in cells:
            # chr(10): before Python 3.12, an expression in an f-string may not contain a backslash
            texts.append(f"<{tag}>{escape(c).replace(chr(10), '<br>')}</{tag}>")
        return "<tr>" + "".join(texts) + "</tr>"

    return f"<table>{line(head, 'th')}{''.join(line(row, 'td') for row in rows)}</table>"


def _ways(plan: Plan) -> str:
    """Returns a drawing of the lineage in ``plan``: the input fields on the left, the output columns on the right, and
    lines between them.
    """
    if not plan.typed:
        return ""
    ways = {}
    for column, sources in plan.lineage.items():
        ways[column] = [of_value(source) or source for source in sources]
    used: set[str] = set()
    names = dict.fromkeys(leaf_labels(plan.before))
    for origins in ways.values():
        used.update(origins)
        names.update(dict.fromkeys(origins))
    left, right = list(names), list(ways)
    at = {}
    for n, name in enumerate(left):
        at[name] = n
    drawn = []
    for n, name in enumerate(left):
        drawn.append(_name(n, name, 0, "" if _is_used(name, used) else "gone"))
    for n, column in enumerate(right):
        kind = "masked" if column in plan.masked else ""
        for source in ways[column]:
            drawn.append(_way(at[source], n, kind, f"{source} → {column}"))
        drawn.append(_name(n, column, _NAMES + _GAP, kind))
    size = f"width='{2 * _NAMES + _GAP}' height='{(max(len(left), len(right)) + 1) * _LINE}'"
    note = "<p>Red: masked. Grey: in no column.</p>"
    return f"<h2>Where the columns come from</h2>{note}<svg {size}>{''.join(drawn)}</svg>"


def _is_used(field: str, used: Iterable[str]) -> bool:
    """Returns True if ``used`` contains ``field`` itself or an element of it: ``tags`` is used if ``used`` contains
    ``tags[0]``.
    """
    for source in used:
        if source == field or source.startswith(f"{field}["):
            return True
    return False


def _name(line: int, name: str, x: int, kind: str) -> str:
    return f"<text class='{kind}' x='{x}' y='{(line + 1) * _LINE}'>{escape(name)}</text>"


def _way(start: int, end: int, kind: str, title: str) -> str:
    x1, x2, bend = _NAMES - 10, _NAMES + _GAP - 10, _GAP // 2
    y1, y2 = ((line + 1) * _LINE - 4 for line in (start, end))
    curve = f"M{x1},{y1} C{x1 + bend},{y1} {x2 - bend},{y2} {x2},{y2}"
    return f"<path class='{kind}' d='{curve}'><title>{escape(title)}</title></path>"
