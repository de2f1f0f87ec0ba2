"""What people see: names in Markdown, HTML, on a terminal and in logs are names, whatever is in them."""

import ast
import io
import json
from html.parser import HTMLParser

import dagster as dg
import pytest
from markdown_it import MarkdownIt

from dagster_smt import Chain
from dagster_smt.chain import parse_chain, plan_chain
from dagster_smt.chain.explain import explain
from dagster_smt.cli.connector_commands import print_report
from dagster_smt.cli.explain_page import page
from dagster_smt.cli.grid import grid
from dagster_smt.cli.preview_command import lines_of
from dagster_smt.cli.terminal import say
from dagster_smt.connect import Connector, ConnectorComponent, OptionVerdict, TransformVerdict
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.interpret.preview import RecordSnapshot, Sample, StageResult
from dagster_smt.model.reports.markdown import cell, code, fenced, plain, table
from dagster_smt.model.reports.run_report import FieldChange, LedgerEntry, LedgerLine, RunReport, StageCounts
from dagster_smt.model.schema import STRING, Schema, Type, optional
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.orchestration.metadata.report_page import report_markdown
from dagster_smt.orchestration.metadata.schema_metadata import chain_markdown
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.visible import visible
from tests.hostile.texts import HOSTILE
from tests.package_code import ROOT, calls, quoting_strings

TEXTS = pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
GFM = MarkdownIt("commonmark").enable("table").enable("strikethrough")
BAD = ("image", "link_open", "html_inline", "html_block", "s_open", "heading_open", "blockquote_open")


def tokens(text):
    """All tokens of a page of Markdown, those inside of others, too."""
    result = []
    for token in GFM.parse(text):
        result += [token, *(token.children or [])]
    return result


def contents(text):
    return "\n".join(t.content for t in tokens(text) if t.type in ("text", "code_inline", "fence"))


def is_safe(text):
    kinds = {t.type for t in tokens(text)}
    assert not kinds & {*BAD}
    assert text == "\n".join(map(visible, text.split("\n"))), "nothing in it that does not print"


@TEXTS
def test_a_name_in_markdown_is_that_name(text):
    for result in (code(text), plain(text), f"before {code(text)} after", f"- **x** {plain(text)}: {plain(text)}."):
        is_safe(result)
        assert "\n" not in result
    assert [t.content.strip() for t in tokens(code(text)) if t.type == "code_inline"] == [visible(text).strip()]
    shown = "".join(t.content for t in tokens(f"x{plain(text)}") if t.type in ("text", "text_special"))
    assert shown.replace("\u200b", "").removeprefix("x").strip() == visible(text).strip()


@TEXTS
def test_a_table_has_its_cells(text):
    result = table([["field", "b"], [code(text), plain(text)], ["c", "d"]])
    is_safe(result)
    kinds = [t.type for t in tokens(result)]
    assert (kinds.count("th_open"), kinds.count("td_open"), kinds.count("table_open")) == (2, 4, 1)


@TEXTS
def test_a_block_ends_where_it_ends(text):
    result = fenced([text, "last"]) + "\n\nafter"
    blocks = [t for t in GFM.parse(result) if t.type == "fence"]
    assert [b.content for b in blocks] == [f"{visible(text)}\nlast\n"]
    assert GFM.parse(result)[-2].content == "after"


@TEXTS
def test_the_report_of_a_run(text):
    entry = LedgerEntry(0, text, "renamed", text, "value", text)
    report = RunReport(
        text,
        Window((Range(text, 0, 0, 1),)),
        ledger=[LedgerLine(entry, 1)],
        stages=[StageCounts(text, text, 1)],
        warnings=[Problem("SMT303", text, text, text)],
    )
    changes = [FieldChange(text, "removed", text, text)]
    result = report_markdown(report, DeltaSink("/lake/" + text), changes, changes, 1, 2, {text: [f"value.{text}"]})
    is_safe(result)
    kinds = [t.type for t in tokens(result)]
    assert (kinds.count("fence"), kinds.count("table_open"), kinds.count("bullet_list_open")) == (1, 4, 1)


@TEXTS
def test_the_chain_in_markdown_in_html_and_as_text(text):
    options = {"regex": "a", "replacement": text.replace("$", "").replace("\\", "")}
    try:
        chain = parse_chain([{"alias": text, "type": "RegexRouter", "options": options}])
    except ConfigError:  # no commas, no blanks around
        chain = parse_chain([{"alias": "a", "type": "RegexRouter", "options": options}])
    is_safe(chain_markdown(chain))
    schema = Schema(Type.STRUCT, fields=((text, optional(STRING)),))
    plan = plan_chain(chain, None, schema, topics=(text,), typed=True)
    result = explain(plan)
    assert result == "\n".join(map(visible, result.split("\n")))
    assert len(result.split("\n")) == len(explain(plan_of_plain_names()).split("\n"))
    seen = Tags()
    seen.feed(page(plan, text))
    assert seen.tags <= {*PAGE.split()}
    assert visible(text) in "".join(seen.texts) or len(text) > 1000
    page(plan, text).encode()


def plan_of_plain_names():
    chain = parse_chain([{"alias": "a", "type": "RegexRouter", "options": {"regex": "a", "replacement": "b"}}])
    return plan_chain(chain, None, Schema(Type.STRUCT, fields=(("a", optional(STRING)),)), topics=("t",), typed=True)


PAGE = "html head meta title style body h1 h2 p table tr th td ul li pre svg text path br"


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.texts = set(), []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        assert not [name for name, _ in attributes if name.startswith("on") or name in ("src", "href")]

    def handle_data(self, data):
        self.texts.append(data)


@TEXTS
def test_what_a_terminal_gets(text, capsys):
    verdicts = [TransformVerdict(text, text, "differs", text)]
    options = [OptionVerdict(text, "not done", text)]
    written = ConnectorComponent("t", {}, "", verdicts, options=options, proposals=[text])
    print_report(Connector(text, {}, text), written)
    assert len(capsys.readouterr().out.split("\n")) == 6
    print_report(Connector(text, {}, text), written, as_json=True)
    out = capsys.readouterr().out
    assert {json.loads(line)["connector"] for line in out.splitlines()} == {text}, "escapes are those of JSON"
    say(grid([[text, text]], left=2))
    say(str(Problem("SMT501", text, text, text)))
    out += capsys.readouterr().out
    snapshot = RecordSnapshot(text, text, text, ((text, text),))
    lines = list(lines_of(Sample(text), [StageResult(text, snapshot, text), StageResult(text, None, text)]))
    out += "\n".join(line.plain for line in lines)
    assert out == "\n".join(map(visible, out.split("\n")))
    out.encode()


@TEXTS
def test_what_is_visible_is_one_line_and_keeps_its_text(text):
    shown = visible(text)
    assert len(shown.splitlines()) == 1 and visible(shown) == shown
    assert shown.encode().decode() == shown
    if text.isprintable():
        assert shown == text


# -- a new place is noticed -------------------------------------------------------------------------------------------


def test_the_command_line_prints_in_one_place_only():
    printing = {module for module, name, _ in calls() if name in ("print", "sys.stdout.write", "sys.stderr.write")}
    assert printing == {"cli/terminal.py", "tools/reference.py", "testing/broker.py"}
    rich = {module for module, name, _ in calls() if name in ("Text", "Console") or name.endswith("console.print")}
    assert rich == {"cli/preview_command.py"}


def test_log_lines_hold_names_that_are_visible():
    """What is logged is a constant, a problem (which is visible as text), or goes through ``visible``."""
    wrong = []
    for module, name, node in calls():
        method = name.rsplit(".", 1)
        if (
            len(method) == 2
            and method[1] in ("debug", "info", "warning", "error", "critical", "log")
            and "log" in method[0]
        ):
            wrong += [f"{module}: {ast.unparse(part)[:50]}" for part in node.args if not _is_visible(part)]
    assert sorted(set(wrong)) == sorted(
        [
            "model/reports/causes.py: text",
            "orchestration/definitions/ops.py: summary(report)",
            'orchestration/resources.py: f"a Spark session was running already and keeps it',
            "orchestration/automation/sensors.py: f'{len(new)} new topics, but {len(known)} partitio",
            "orchestration/runs/failures.py: f'{name}: {error}'",
            "orchestration/runs/dagster_events.py: f'and so on for {more} more partitions: their mate",
            "orchestration/runs/step_bodies.py: summary(run.report)",
            "spark/avro_limits.py: JAVA_OPTIONS",
            "tables/sinks/iceberg.py: branch",
            "tables/sinks/iceberg.py: name",
        ]
    ), "either it goes through visible, or it is known to hold names of ours only"


def _is_visible(node):
    if isinstance(node, ast.Constant):
        return True
    text = ast.unparse(node)
    return text.startswith(("visible(", "str(", "type("))


def test_markdown_is_made_in_known_places_only():
    """A new place that makes Markdown uses ``code``, ``plain``, ``fenced`` and ``table``, and comes to this list."""
    making = {module for module, name, _ in calls() if name.endswith("MetadataValue.md")}
    assert making == {
        "orchestration/definitions/erasure_asset.py",
        "orchestration/metadata/definition_metadata.py",
        "orchestration/metadata/run_metadata.py",
    }
    writing = {
        module
        for module, name, _ in calls()
        if name in ("code", "plain", "fenced") and not module.startswith(("values/", "effects/"))  # have their own
    }
    assert writing == {
        "cli/certificate_text.py",
        "tools/gallery.py",
        "connect/report.py",
        "connect/takeover/audit_record.py",
        "connect/takeover/shadow.py",
        "interpret/examples.py",
        "model/reports/erasure_report.py",
        "orchestration/metadata/report_page.py",
        "orchestration/metadata/schema_metadata.py",
        "orchestration/automation/sensors.py",
        "orchestration/definitions/topic_assets.py",
        "orchestration/definitions/translator.py",
        "tools/reference.py",
    }
    assert quoting_strings(ROOT / "orchestration") == [], "backticks do not hold what has backticks: code()"


def test_html_is_made_in_one_place_only():
    assert {module for module, name, _ in calls() if name in ("escaped_markup", "escape", "html.escape")} == {
        "cli/certificate_page.py",
        "cli/explain_page.py",
        "cli/shadow_page.py",
    }


def test_problems_are_lines_that_cannot_be_forged():
    problem = Problem("SMT501", "a\nSMT999 b", "c\r\nd", "e\x1b[31mf")
    assert str(problem).split("\n") == ["SMT501 a\\nSMT999 b: c\\r\\nd", "  hint: e\\u001b[31mf"]


def test_dagster_takes_what_is_made():
    """Metadata of hostile names can be stored: it is UTF-8."""
    result = dg.MetadataValue.md(table([["a"], *([code(text)] for text in HOSTILE.values())]))
    dg.serialize_value(result).encode()
    assert io.StringIO(cell("a|b")).read() == "a\\|b" and Chain
