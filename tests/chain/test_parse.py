"""Parsing chains: the four ways to write one, everything that is wrong at once, and the way back."""

import os
import re
from pathlib import Path

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.errors import CONFIG_EXCEPTION, ConfigError
from dagster_smt.transforms.kafka.mask_field import MaskField

HERE = Path(__file__)
GOLDEN = HERE.parents[1] / "golden" / "problems"
CHAIN = HERE.parents[2] / "dagster_smt" / "chain"
APACHE = "org.apache.kafka.connect.transforms."

PROPERTIES = {
    "name": "orders",
    "connector.class": "com.example.Sink",
    "transforms": "hide, gone",
    "transforms.hide.type": f"{APACHE}MaskField$Value",
    "transforms.hide.fields": "name , mail",
    "transforms.hide.replacement": " *** ",
    "transforms.hide.predicate": "tombstone",
    "transforms.hide.negate": "TRUE",
    "transforms.gone.type": f"{APACHE}Filter",
    "transforms.gone.predicate": "tombstone",
    "predicates": "tombstone",
    "predicates.tombstone.type": f"{APACHE}predicates.RecordIsTombstone",
}
STAGES = [
    {
        "alias": "hide",
        "type": "MaskField$Value",
        "options": {"fields": ["name", "mail"], "replacement": "***"},
        "predicate": {"name": "tombstone", "type": "RecordIsTombstone"},
        "negate": True,
    },
    {"alias": "gone", "type": "Filter", "predicate": {"name": "tombstone", "type": "RecordIsTombstone"}},
]
CANONICAL = {
    "transforms": "hide,gone",
    "transforms.hide.type": f"{APACHE}MaskField$Value",
    "transforms.hide.fields": "name,mail",
    "transforms.hide.replacement": "***",
    "transforms.hide.predicate": "tombstone",
    "transforms.hide.negate": "true",
    "transforms.gone.type": f"{APACHE}Filter",
    "transforms.gone.predicate": "tombstone",
    "predicates": "tombstone",
    "predicates.tombstone.type": f"{APACHE}predicates.RecordIsTombstone",
}
YAML = """
- alias: hide
  type: MaskField$Value
  options: {fields: [name, mail], replacement: '***'}
  predicate: {name: tombstone, type: RecordIsTombstone}
  negate: true
- alias: gone
  type: Filter
  predicate: {name: tombstone, type: RecordIsTombstone}
"""
FILES = {
    "chain.properties": "\n".join(f"{k} = {v}" for k, v in PROPERTIES.items()),
    "chain.yaml": YAML,
    "chain.yml": "stages:" + YAML.replace("\n", "\n  "),
    "flat.yaml": "\n".join(f"{k}: '{v}'" for k, v in PROPERTIES.items()),
    "export.json": '{"name": "orders", "config": {' + ", ".join(f'"{k}": "{v}"' for k, v in PROPERTIES.items()) + "}}",
    "flat.json": "{" + ", ".join(f'"{k}": "{v}"' for k, v in PROPERTIES.items()) + "}",
}


@pytest.fixture(params=FILES)
def file(request, tmp_path):
    path = tmp_path / request.param
    path.write_text(FILES[request.param], encoding="utf-8")
    return path


def test_every_way_to_write_a_chain_gives_the_same_chain(file):
    chain = parse_chain(file)
    assert chain == parse_chain(PROPERTIES) == parse_chain(STAGES)
    assert (chain.properties, chain.warnings) == (CANONICAL, ())
    assert chain.hash == parse_chain(STAGES).hash == "c2dd0139e302b411"


def test_stages():
    hide, gone = parse_chain(PROPERTIES).stages
    assert (hide.alias, hide.label, hide.side, hide.negate) == ("hide", "MaskField$Value", "value", True)
    assert hide.connect_class == f"{APACHE}MaskField$Value"
    assert (hide.transform.fields, hide.transform.replacement) == (("name", "mail"), "***")
    assert (hide.predicate_name, type(hide.predicate).__name__) == ("tombstone", "RecordIsTombstone")
    assert (gone.place, gone.side, gone.negate) == ("transforms.gone (Filter)", "", False)


MANY = [
    {
        "alias": "s1",
        "type": "Cast$Key",
        "options": {"spec": {"a": "int8", "": "STRING"}, "replace.null.with.default": False},
    },
    {"alias": "s2", "type": "Cast$Value", "options": {"spec": "float64"}},
    {
        "alias": "s3",
        "type": "ReplaceField$Value",
        "options": {"renames": {"a": "b", "b": "a"}, "include": ["a", "b"], "exclude": []},
    },
    {"alias": "s4", "type": "ReplaceField$Value", "options": {"renames": ["a:b", ["c", "d"], {"e": "f"}]}},
    {
        "alias": "s5",
        "type": "InsertField$Value",
        "options": {"static.field": "n!", "static.value": 7, "topic.field": "t"},
    },
    {"alias": "s6", "type": "ExtractField$Value", "options": {"field": "a.`b.c`", "field.syntax.version": "v2"}},
    {"alias": "s7", "type": "SetSchemaMetadata$Value", "options": {"schema.version": 3, "schema.name": ""}},
    {"alias": "s8", "type": "RegexRouter", "options": {"regex": "(a),b", "replacement": "$1"}},
    {"alias": "s8.x", "type": "Filter", "predicate": {"type": "TopicNameMatches", "options": {"pattern": "a"}}},
    {
        "alias": "s9",
        "type": "Filter",
        "predicate": {"type": "TopicNameMatches", "options": {"pattern": "b"}},
        "negate": True,
    },
    {"alias": "s10", "type": "Filter", "predicate": {"type": "TopicNameMatches", "options": {"pattern": "a"}}},
    {
        "alias": "s11",
        "type": "HeaderFrom$Value",
        "options": {"fields": ["a", "a"], "headers": ["x", ""], "operation": "copy"},
    },
    {"alias": "s12", "type": "InsertHeader", "options": {"header": "h", "value.literal": "true"}},
    {"type": "Flatten$Value", "options": {"delimiter": "_"}},
]


@pytest.mark.parametrize(
    "source", [PROPERTIES, STAGES, MANY, {"transforms": ""}], ids=["flat", "list", "many", "empty"]
)
def test_the_canonical_properties_and_the_list_mean_the_same_chain(source):
    chain = parse_chain(source)
    for again in (parse_chain(chain.properties), parse_chain(chain.to_stages())):
        assert again == chain
        assert (again.properties, again.hash) == (chain.properties, chain.hash)
    assert all(isinstance(v, str) for v in chain.properties.values())


def test_options_of_every_form():
    stages = {s.alias: s.transform for s in parse_chain(MANY).stages}
    assert [(n, t.name) for n, t in stages["s1"].spec] == [("a", "INT8"), ("", "STRING")]
    assert [(n, t.name) for n, t in stages["s2"].spec] == [(None, "FLOAT64")]
    assert stages["s3"].renames == (("a", "b"), ("b", "a"))
    assert stages["s4"].renames == (("a", "b"), ("c", "d"), ("e", "f"))
    assert (stages["s5"].static_value, stages["s6"].field_syntax_version, stages["s7"].schema_version) == ("7", "V2", 3)
    assert stages["s8"].regex == "(a),b"
    assert "stage14" in stages


def test_predicates_without_a_name_get_one_each():
    names = {s.alias: s.predicate_name for s in parse_chain(MANY).stages if s.predicate}
    assert names == {"s8.x": "TopicNameMatches", "s9": "TopicNameMatches2", "s10": "TopicNameMatches"}
    results = {"alias": "n", "type": "Filter", "predicate": {"name": "TopicNameMatches", "type": "RecordIsTombstone"}}
    assert [s.predicate_name for s in parse_chain([MANY[8], results]).stages] == [
        "TopicNameMatches2",
        "TopicNameMatches",
    ]


def test_the_hash_hangs_on_what_the_chain_means_only():
    base = parse_chain(PROPERTIES).hash
    reordered = dict(reversed(PROPERTIES.items())) | {"name": "other", "tasks.max": "3"}
    spaced = PROPERTIES | {"transforms": "hide,gone", "transforms.hide.fields": "name,mail "}
    assert {parse_chain(p).hash for p in (reordered, spaced)} == {base}
    changed = [
        {"transforms": "gone,hide"},
        {"transforms.hide.negate": "false"},
        {"transforms.hide.fields": "mail,name"},
    ]
    assert len({parse_chain(PROPERTIES | change).hash for change in changed} | {base}) == 4


def test_aliases_that_begin_alike():
    filters = {f"transforms.{alias}.type": "RegexRouter" for alias in ("a", "a.b")}
    options = {
        f"transforms.{alias}.{k}": v for alias in ("a", "a.b") for k, v in {"regex": alias, "replacement": "x"}.items()
    }
    chain = parse_chain({"transforms": "a,a.b", **filters, **options})
    assert [s.transform.regex for s in chain.stages] == ["a", "a.b"]
    assert parse_chain(chain.properties) == chain


# -- problems --------------------------------------------------------------------------------------------------------


def problems_of(source, **options):
    with pytest.raises(ConfigError) as caught:
        parse_chain(source, **options)
    assert {p.connect_class for p in caught.value.problems} <= {CONFIG_EXCEPTION, ""}
    return caught.value


SOURCES = sorted(p for p in GOLDEN.iterdir() if p.suffix != ".txt")


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.name)
def test_every_problem_is_reported_at_once(path):
    """Run with ``UPDATE_GOLDEN=1`` to write the expected texts again."""
    text, golden = f"{problems_of(path)}\n", path.with_name(f"{path.name}.txt")
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_every_code_of_parsing_is_in_a_golden_text():
    codes = {c for p in CHAIN.glob("*.py") for c in re.findall(r"SMT[03]\d\d", p.read_text(encoding="utf-8"))}
    shown = {c for p in GOLDEN.glob("*.txt") for c in re.findall(r"SMT\d{3}", p.read_text(encoding="utf-8"))}
    warnings = {"SMT017"}  # see test_names
    vendors = {"SMT023"}  # a name that two of them have: see tests/extension
    assert codes - {"SMT002", "SMT303", "SMT305", "SMT308", "SMT309"} - warnings - vendors <= shown


def first_line(error):
    return str(error).splitlines()[0]


def test_a_file_that_is_not_there(tmp_path):
    error = problems_of(tmp_path / "none.properties")
    assert first_line(error) == "SMT002 none.properties: no such file or directory"
    (tmp_path / "latin.properties").write_bytes(b"a=\xe4")
    assert first_line(problems_of(tmp_path / "latin.properties")).startswith("SMT002 latin.properties: ")


@pytest.mark.parametrize(
    "source", [None, 7, "transforms=a", {"transforms": 5}, {"stages": "x", "transforms": None}, [7], [None]], ids=str
)
def test_nothing_crashes_the_parser(source):
    problems_of(source)


def test_the_place_is_named():
    assert first_line(problems_of({}, place="orders")) == "SMT004 orders: transforms: the list of transforms is missing"
    assert (
        first_line(problems_of(7, place="orders"))
        == "SMT001 orders: a chain is a mapping of properties or a list of stages"
    )
    assert first_line(problems_of({})) == "SMT004 transforms: the list of transforms is missing"


SUGGESTED = [
    ({"transforms.hide.replacment": "x"}, "unknown option 'replacment'", "did you mean 'replacement'?"),
    ({"transforms.hide.Fields": "x"}, "unknown option 'Fields'", "did you mean 'fields'?"),
    ({"transforms.hide.whitelist": "x"}, "unknown option 'whitelist'", "there are: " + ", ".join(MaskField.keys())),
    ({"transforms.gone.x": "x"}, "unknown option 'x'", "Filter has no options"),
    (
        {"transforms.hide.type": "org.apache.kafka.connect.transforms.MaskFeild$Value"},
        "unknown transform class 'org.apache.kafka.connect.transforms.MaskFeild$Value'",
        "did you mean 'MaskField'?",
    ),
    (
        {"transforms.hide.type": "MaskField"},
        "'MaskField' does not say whether it acts on key or value",
        "write MaskField$Key or MaskField$Value",
    ),
    (
        {"transforms.gone.type": "Filter$Key"},
        "unknown transform class 'Filter$Key'",
        "write Filter or io.confluent.connect.transforms.Filter$Key",
    ),
    ({"transforms.hide.predicate": "tombstones"}, "there is no predicate 'tombstones'", "did you mean 'tombstone'?"),
    ({"transforms.hid.type": "x"}, "the alias is not in 'transforms'", "did you mean 'hide'?"),
]


@pytest.mark.parametrize(("change", "statement", "hint"), SUGGESTED, ids=[s[1] for s in SUGGESTED])
def test_suggestions(change, statement, hint):
    results = [(p.statement, p.hint) for p in problems_of(PROPERTIES | change).problems]
    assert (statement, hint) in results


def test_unknown_options_can_be_warnings():
    change = {"transforms.hide.replacment": "x", "transforms.hid.type": "Filter", "predicates.tombstone.pattern": "x"}
    assert len(problems_of(PROPERTIES | change).problems) == 3
    chain = parse_chain(PROPERTIES | change, unknown_options="warn")
    assert [str(w).splitlines()[0] for w in chain.warnings] == [
        "SMT007 transforms.hid: the alias is not in 'transforms'",
        "SMT011 transforms.hide (MaskField$Value): unknown option 'replacment'",
        "SMT011 predicates.tombstone (RecordIsTombstone): unknown option 'pattern'",
    ]
    assert chain.properties == CANONICAL


def test_other_mistakes_stay_problems_with_warnings_on():
    error = problems_of(PROPERTIES | {"transforms.hide.fields": "", "transforms.hide.x": "y"}, unknown_options="warn")
    assert str(error) == "SMT013 transforms.hide (MaskField$Value) fields: the list is empty"
