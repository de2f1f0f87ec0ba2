"""Fields with any name: each is one place in all that is said of a chain, however its name is written."""

import json
import re

import dagster as dg
import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.chain.explain import explain
from dagster_smt.chain.forms import Form, plan_forms
from dagster_smt.cli.preview_command import lines_of
from dagster_smt.errors import ConfigError, DataError, PlanError
from dagster_smt.formats.json import reader, writer
from dagster_smt.interpret.preview import Sample, preview
from dagster_smt.interpret.residue import residue
from dagster_smt.model.paths.connect import EXTENDED, V2, parse_path, split_paths
from dagster_smt.model.paths.extended import STEP, below
from dagster_smt.model.reports.markdown import cell, code
from dagster_smt.model.reports.run_report import (
    FieldChange,
    LedgerEntry,
    LedgerLine,
    RunReport,
    StageCounts,
    schema_diff,
)
from dagster_smt.model.schema import INT32, STRING, Schema, Type, optional
from dagster_smt.model.topics.format import Format
from dagster_smt.model.windows.window import Window
from dagster_smt.orchestration.metadata.report_page import report_markdown
from dagster_smt.orchestration.metadata.schema_metadata import (
    MASKED_TAG,
    column_lineage,
    column_schema,
    topic_columns,
)
from dagster_smt.run.report_json import report_from_json, report_to_json
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.planning import plan_table
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.topic_table import TopicTable
from dagster_smt.visible import visible
from tests.tables.rows.test_columns import NAMES
from tests.tables.rows.test_reading import FILES, Sent, in_python, on_spark, table

# name: how a path has it
QUOTED = {
    "": "``",
    ".": "`.`",
    "a.b": "`a.b`",
    "MESSAGE.AMOUNT": "`MESSAGE.AMOUNT`",
    "a`.b": r"`a\`.b`",
    "`": "```",
    "``": "````",
    "`x": "``x`",
    "`a.b`": "``a.b``",
    "(whole)": "`(whole)`",
    " a": "` a`",
    "a ": "`a `",
    "a,b": "`a,b`",
    "a[]": "`a[]`",
    "a[0]": "`a[0]`",
    "a[1]": "`a[1]`",
    "['a']": "`['a']`",
    "*": "`*`",
    "**": "`**`",
    "/a/": "`/a/`",
    "type(string)": "`type(string)`",
    "logical(Date)": "`logical(Date)`",
}
NOT_IN_V2 = {"a.b\\": "['a.b\\\\']", "a`[": r"`a\`[`", "it's.\\": r"['it\'s.\\']"}
PLAIN = (
    *(name for name in NAMES if name not in QUOTED),
    "a;b", "a:b", "a/b", "tick`s", "it's", '"', "@", "order", "from", "NAME", "GRÖSSE", "größE", "名前", "line\nbreak",
    "a\\", "A", "value", "topic", "(nested)", "<b>", "{x}",
)  # fmt: skip
ODD_NAMES = {**QUOTED, **NOT_IN_V2, **{name: name for name in PLAIN}}
COLUMNS = {
    **dict.fromkeys(ODD_NAMES, "STRING"),
    "a": "STRUCT<b STRING, `` STRING, `(whole)` STRING>",
    "x": "STRUCT<y STRING>",
    "x.y": "STRUCT<z STRING, `z.z` STRING>",
    "s": "ARRAY<STRUCT<`t.u` STRING>>",
}
NESTED = ["a.b", "a.``", "a.`(whole)`", "x.y", "`x.y`.z", "`x.y`.`z.z`"]
PLACES = [*ODD_NAMES.values(), *NESTED]
VALUE = {
    **dict.fromkeys(ODD_NAMES, "ann"),
    "a": {"b": "ann", "": "ann", "(whole)": "ann"},
    "x": {"y": "ann"},
    "x.y": {"z": "ann", "z.z": "ann"},
    "s": [{"t.u": "ann"}],
}
TEXT = json.dumps(VALUE).encode()
TABLE = table(COLUMNS)
each_place = pytest.mark.parametrize("place", PLACES)
each_name = pytest.mark.parametrize(("name", "place"), ODD_NAMES.items())


def stages(kind, **options):
    """A chain of one stage, each option a list of one path."""
    syntax = EXTENDED if set(options.values()) & set(NOT_IN_V2.values()) else V2
    results = {"field.syntax.version": syntax, **{key: [text] for key, text in options.items()}}
    return [{"alias": "m", "type": f"{kind}$Value", "options": results}]


def planned(kind, **options):
    return plan_table(parse_chain(stages(kind, **options)), TABLE)


def changed(value, steps, new=None):
    """The value with another one at a place; without it if ``new`` is None."""
    head, *rest = steps
    if rest or new is not None:
        return {**value, head: changed(value[head], rest, new) if rest else new}
    return {name: child for name, child in value.items() if name != head}


def steps_of(place):
    return parse_path(place, EXTENDED).steps


def of_value(place):
    """What a source says of a field of the value."""
    return f"value{place if place.startswith('[') else '.' + place}"


# -- how names are written -------------------------------------------------------------------------------------------


@each_name
def test_a_name_is_quoted_where_it_would_be_read_as_something_else(name, place):
    assert (below("", name), below("value", name)) == (place, of_value(place))
    assert re.fullmatch(STEP, below("value", name)[len("value") :])
    assert split_paths(f"{place} , b", ",", EXTENDED) == [place, "b"]
    for steps in ((name,), ("a", name), (name, "b"), ("a", "", name, "", "b")):
        path = ""
        for step in steps:
            path = below(path, step)
        assert parse_path(path, EXTENDED).steps == steps
        assert name in NOT_IN_V2 or parse_path(path, V2).steps == steps


def test_different_fields_have_different_paths_and_none_seems_to_be_inside_another():
    assert len(set(PLACES)) == len(PLACES)
    for one in ODD_NAMES.values():
        inside = [p for p in PLACES if p.startswith((f"{one}.", f"{one}["))]
        assert inside == (["`x.y`.z", "`x.y`.`z.z`"] if one == "`x.y`" else [])


# -- what is said of a chain -----------------------------------------------------------------------------------------


@each_place
def test_a_mask_is_told_of_one_field(place):
    plan = planned("MaskField", fields=place)
    assert (plan.warnings, plan.masked) == ((), {place})
    assert plan.lineage == {p: (of_value(p),) for p in PLACES} | {"s": ("value.s",)}
    assert [e.path for e in plan.entries] == [place]
    ((row, _, record),) = in_python(TABLE, [Sent(TEXT)], stages("MaskField", fields=place), "records")
    assert (row, record.touched) == (changed(VALUE, steps_of(place), ""), 1)


@each_place
def test_explain_shows_each_field_once(place):
    plan = planned("MaskField", fields=place)
    text = explain(plan) + "\n"
    for p in PLACES:
        line = visible(f"  value {p}: string?  <- {of_value(p)}")  # a name with a line feed stays on its line
        assert text.count(f"\n{line}\n") == len(plan.steps), p


@each_place
def test_preview_shows_what_a_mask_changed(place):
    chain = parse_chain(stages("MaskField", fields=place))
    ((sample, steps),) = preview(chain, [Sample("t", value=TEXT)], None, TABLE.value)
    results = [str(line).strip() for line in lines_of(sample, steps) if "→" in str(line)]
    assert results == [visible(f'{"m":20} ~ {of_value(place)}  "ann" → ""')]
    assert json.loads(steps[-1].record.value) == changed(VALUE, steps_of(place), "")


@each_place
def test_what_a_chain_drops_is_one_line_of_the_diff(place):
    plan = planned("ReplaceField", exclude=place)
    assert schema_diff(plan.before, plan.after, plan.lineage) == [FieldChange(place, "removed", "string?")]
    assert explain(plan, full=False).count(": gone") == 1
    assert "\n" + visible(f"  value {place}: gone") in explain(plan, full=False)
    ((row, *_),) = in_python(TABLE, [Sent(TEXT)], stages("ReplaceField", exclude=place), "records")
    assert row == changed(VALUE, steps_of(place))


@each_name
def test_a_masked_value_elsewhere_is_told_by_both_places(name, place):
    value = {name: "octocat", "x y": {name: "octocat"}, "list": [{name: "octocat"}, {name: "octocat"}]}
    sample = Sample("t", value=json.dumps(value).encode())
    result = residue(parse_chain(stages("MaskField", fields=place)), [sample], Format(), Format())
    masked = of_value(place)
    expected = {(masked, below("value.x y", name)): 1, (masked, below("value.list[]", name)): 1}
    assert result == expected


@each_name
def test_a_clash_of_types_names_the_field(name, place):
    for make, where in ((lambda s: s, place), (lambda s: Schema(Type.STRUCT, fields=(("in", s),)), below("in", name))):
        one, other = (make(Schema(Type.STRUCT, fields=((name, optional(t)),))) for t in (STRING, INT32))
        with pytest.raises(PlanError) as caught:
            _ = plan_forms(parse_chain({"transforms": ""}), [Form("t", None, one), Form("t", None, other)]).after
        assert [(p.code, p.place) for p in caught.value.problems] == [("SMT203", where)]


def sql(name):
    return "`" + name.replace("`", "``") + "`"


@each_name
def test_messages_name_the_field(name, place):
    with pytest.raises(ConfigError) as caught:
        table(f"{sql(name)} INT, {sql(name)} INT")
    assert [(p.code, p.place) for p in caught.value.problems] == [("SMT260", f"column {place}")]
    schema = parse_ddl(f"{sql(name)} INT NOT NULL, in_s STRUCT<{sql(name)} INT>")
    for value, where in (({name: "x"}, place), ({name: 1, "in_s": {name: "x"}}, below("in_s", name))):
        with pytest.raises(DataError) as refused:
            reader(schema, Format())(value)
        assert refused.value.problem.statement.startswith(f"{where} does not fit the declared type int32")
    with pytest.raises(DataError) as refused:
        writer(schema, Format())({})
    assert refused.value.problem.statement == f"null in the required field '{place}'"


# -- what the catalog says -------------------------------------------------------------------------------------------

SINK, TOPIC = DeltaSink("lake", "columns", source_columns=None), dg.AssetKey("t")


def codes_of(described):
    """Names of the columns, those that are masked as a whole, and what each comes from."""
    columns = column_schema(described, SINK).columns
    deps = column_lineage(described, SINK, [TOPIC]).deps_by_column
    names = [column.name for column in columns]
    assert len(set(names)) == len(names) and names == list(deps)
    masked = {column.name for column in columns if column.tags.get(MASKED_TAG) == ""}
    return names, masked, {name: [dep.column_name for dep in result] for name, result in deps.items()}


@each_place
def test_the_catalog_marks_one_column_and_leads_each_to_its_field(place):
    names, masked, sources = codes_of(planned("MaskField", fields=place))
    structs = {"a": ["a.b", "a.``", "a.`(whole)`"], "x": ["x.y"], "`x.y`": ["`x.y`.z", "`x.y`.`z.z`"]}
    assert {*PLACES, *structs, "s"} <= {*names}
    assert masked == ({place, "x"} if place == "x.y" else {place})
    assert {p: sources[p] for p in PLACES} == {p: [of_value(p)] for p in PLACES}
    for struct, inside in structs.items():
        assert sources[struct] == sorted(map(of_value, inside))
    assert sources["s"] == ["value.s"]
    assert {*map(of_value, PLACES)} <= {column.name for column in topic_columns(TABLE).columns}


def test_what_the_elements_of_an_array_come_from_is_what_the_array_comes_from():
    plan = plan_table(
        parse_chain(
            [
                {
                    "alias": "m",
                    "type": "MaskField$Value",
                    "options": {"fields": ["s[*].`t.u`"], "field.syntax.version": "extended"},
                }
            ]
        ),
        TABLE,
    )
    assert plan.masked == {"s[].`t.u`"}
    assert codes_of(plan)[2]["s"] == ["value.s[].`t.u`"]


def test_a_whole_value_is_no_field_of_that_name():
    whole = plan_table(parse_chain({"transforms": ""}), TopicTable(FILES, ("t",), value=Format("string")))
    assert whole.lineage == {"(whole)": ("value",)} and codes_of(whole)[2] == {"value": ["value"]}
    one = Schema(Type.STRUCT, fields=(("(whole)", optional(STRING)),))
    assert [c.change for c in schema_diff(optional(STRING), one)] == ["removed", "added"]


@each_name
def test_a_report_shows_names_with_their_backticks(name, place):
    line = LedgerLine(LedgerEntry(0, "m", "masked", place), 1)
    report = RunReport("r", Window(), ledger=[line], stages=[StageCounts("m", "MaskField", 1)])
    text = report_markdown(report, SINK, [FieldChange(place, "removed", "string")], (), 1, None, {})
    shown = cell(code(place))
    assert f"masked {shown} in 1 |" in text and f"\n| {shown} | removed |" in text
    ticks = re.match("`+", code(place))[0]
    inside = code(place)[len(ticks) : -len(ticks)]
    assert (inside[1:-1] if "`" in place else inside) == visible(place) and ticks not in re.findall("`+", inside)


# -- V1: a name is written as it is ----------------------------------------------------------------------------------

MASK = {"alias": "hide", "type": "MaskField$Value", "options": {"fields": ["a.b"]}}


def test_what_a_v1_name_leads_to_is_said():
    plan = plan_table(parse_chain([MASK]), TABLE)
    (entry,) = plan.entries
    assert (entry.path, entry.matched, plan.masked) == ("a.b", ("`a.b`",), {"`a.b`"})
    assert "\n  masked a.b\n    `a.b`\n" in explain(plan)
    report = RunReport("r", Window(), ledger=[LedgerLine(entry, 1)], before=plan.before, after=plan.after)
    drawn = report_markdown(report, SINK, (), (), 1, None, plan.lineage).splitlines()
    assert [line.split()[-1] for line in drawn if "hide: masked" in line] == ["`a.b`"]


def test_each_effect_has_its_own_fields():
    options = {"fields": ["a.b"], "headers": ["h"], "operation": "move"}
    results = {"include": ["a.b", "x.y"]}
    plan = plan_table(
        parse_chain(
            [
                {"alias": "keep", "type": "ReplaceField$Value", "options": results},
                {"alias": "move", "type": "HeaderFrom$Value", "options": options},
            ]
        ),
        TABLE,
    )
    assert [(e.action, e.matched) for e in plan.entries] == [
        ("dropped", ("`a.b`", "`x.y`")),
        ("added", ()),
        ("dropped", ("`a.b`",)),
    ]


def test_a_part_of_the_record_is_no_field_of_its_name():
    before, after = (Schema(Type.STRUCT, fields=((name, STRING),)) for name in ("topic", "from"))
    assert [c.change for c in schema_diff(before, after, {"from": ("topic",)})] == ["removed", "added"]
    assert [c.change for c in schema_diff(before, after, {"from": ("value.topic",)})] == ["renamed"]


# -- reports of earlier versions -------------------------------------------------------------------------------------


def test_reports_with_the_texts_of_earlier_versions_can_be_read():
    schema = parse_ddl("`a.b` STRING, `` STRING, a STRUCT<b STRING>, n STRING")
    lineage = {"a.b": ("value.a.b",), "(whole)": ("value.",), "n": ("value.n",), "`": ("value.`",)}
    old = report_to_json(
        RunReport("r", Window(), before=schema, after=schema, lineage=lineage, masked=("a.b", "(whole)"))
    )
    result = report_from_json(json.loads(json.dumps(old)))
    names, masked, sources = codes_of(result)
    assert names == ["`a.b`", "``", "a", "a.b", "n"]
    assert sources["n"] == ["value.n"] and sources["``"] == []
    assert "``" not in masked
    assert schema_diff(result.before, result.after, result.lineage) == []


# -- on Spark --------------------------------------------------------------------------------------------------------


FOLDED = {name.casefold(): name for name in reversed(COLUMNS)}
ON_SPARK = {name: kind for name, kind in COLUMNS.items() if FOLDED[name.casefold()] == name or name == "a"}
del ON_SPARK["A"]
"""The session of the tests refuses columns that differ only in case (SMT210)."""


@pytest.mark.spark
def test_spark_tells_the_names_apart_too(spark):
    names = [name for name in ODD_NAMES if name in ON_SPARK]
    fields = [*(ODD_NAMES[name] for name in names), "a.``", "`x.y`.`z.z`"]
    options = {"fields": fields, "field.syntax.version": EXTENDED, "replacement": "*"}
    chain, one = [{"alias": "m", "type": "MaskField$Value", "options": options}], table(ON_SPARK)
    ((row, *_),) = in_python(one, [Sent(TEXT)], chain)
    assert on_spark(spark, one, [Sent(TEXT)], chain) == [row]
    assert row["a"] == {"b": "ann", "": "*", "(whole)": "ann"}
    assert (row["x.y"], row["x"]) == ({"z": "ann", "z.z": "*"}, {"y": "ann"})
    assert {row[name] for name in names} == {"*"} and len(names) > 40
    _, masked, sources = codes_of(plan_table(parse_chain(chain), one))
    assert masked == {*fields}
    assert {p: sources[p] for p in (*fields, *NESTED)} == {p: [of_value(p)] for p in (*fields, *NESTED)}


@pytest.mark.spark
def test_only_fields_that_are_needed_are_read(spark):
    one = table(ON_SPARK)
    options = {"include": ["`a.b`", "``", "(whole)"], "field.syntax.version": "V2"}
    chain = [{"alias": "k", "type": "ReplaceField$Value", "options": options}]
    ((row, *_),) = in_python(one, [Sent(TEXT)], chain)
    assert row == {"a.b": "ann", "": "ann", "(whole)": "ann"}
    assert on_spark(spark, one, [Sent(TEXT)], chain) == [row]
