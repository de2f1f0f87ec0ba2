"""Masks, drops and renames that can touch nothing are refused before anything is read."""

from dataclasses import replace
from pathlib import Path

import pytest

from dagster_smt.authoring.stage import Chain, Stage
from dagster_smt.authoring.transform import Transform
from dagster_smt.chain import parse_chain
from dagster_smt.chain.dead_paths import dead_paths, refuse_dead_paths
from dagster_smt.chain.plan import plan_chain
from dagster_smt.chain.plugins import own
from dagster_smt.effects.code import Code, CodePredicate
from dagster_smt.effects.python_field_rules import FieldRules
from dagster_smt.errors import ConfigError, PlanError
from dagster_smt.model.paths.connect import seems_pattern
from dagster_smt.model.reports.run_report import SILENT
from dagster_smt.model.topics.format import Format
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.planning import plan_sink
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from dagster_smt.transforms.kafka.mask_field import MaskField
from dagster_smt.transforms.kafka.replace_field import ReplaceField

ROW = parse_ddl("id BIGINT, email STRING, user STRUCT<name: STRING>, attrs MAP<STRING, STRING>, `a.b` STRING, `*` INT")
VALUE = Format("json_schema", ROW)
V2, EXTENDED = {"field.syntax.version": "V2"}, {"field.syntax.version": "extended"}


def stage(kind, /, alias="", predicate=None, **options):
    results = {"alias": alias or kind.lower(), "type": kind if "$" in kind else f"{kind}$Value"}
    results["options"] = {key.replace("_", "."): value for key, value in options.items()}
    return {**results, "predicate": predicate} if predicate else results


def mask(fields, version=None, **more):
    return stage("MaskField", fields=fields, **({"field_syntax_version": version} if version else {}), **more)


def codes(*stages, value=ROW, topics=("orders",)):
    plan = plan_chain(parse_chain(list(stages)), None, value, topics=topics, typed=value is not None)
    return [problem.code for problem in dead_paths(plan)]


ORDERS = {"name": "orders", "type": "TopicNameMatches", "options": {"pattern": "orders"}}
HAS_TRACE = {"name": "traced", "type": "HasHeaderKey", "options": {"name": "trace"}}
RENAME = stage("ReplaceField", "names", renames="email:mail")
DROP = stage("ReplaceField", "gone", exclude="email")
MOVE = stage("HeaderFrom", fields="email", headers="h", operation="move")
DEAD = [
    ("a misspelt field", [mask("emial")], ["SMT303"]),
    ("one of two", [mask("email,emial")], ["SMT303"]),
    ("a path under V1", [mask("user.name")], ["SMT303"]),
    ("a drop", [stage("ReplaceField", exclude="emial")], ["SMT303"]),
    ("a rename", [stage("ReplaceField", renames="emial:mail")], ["SMT303"]),
    ("a pattern that matches nothing", [mask("user./^emial$/", "extended")], ["SMT303"]),
    ("a pattern read as a name", [mask("**.email", "V2")], ["SMT303"]),
    ("what was renamed before", [RENAME, mask("email")], ["SMT303"]),
    ("what was moved into a header", [MOVE, mask("email")], ["SMT303"]),
    ("under a predicate that may hold", [mask("emial", predicate=HAS_TRACE)], ["SMT303"]),
    ("a header that looks like a pattern", [stage("DropHeaders$", headers="trace-*")], ["SMT305"]),
]
ALIVE = [
    ("a field", [mask("email")]),
    ("a key of a map", [mask("attrs.phone", "V2")]),
    ("a pattern", [mask("**./mail/", "extended")]),
    ("a name with a dot", [mask("a.b")]),
    ("a field whose name looks like a pattern", [mask("*")]),
    ("what was dropped before", [DROP, mask("email")]),
    ("a field that some records have under that name", [{**RENAME, "predicate": HAS_TRACE}, mask("email,mail")]),
    ("under a predicate that never holds here", [mask("emial", predicate={**ORDERS, "options": {"pattern": "other"}})]),
    ("fields to keep", [stage("ReplaceField", include="id,emial")]),
    ("a cast, which hides nothing", [stage("Cast", spec="emial:string")]),
    ("what is inserted before", [stage("InsertField", topic_field="t"), mask("t")]),
    ("a header", [stage("DropHeaders$", headers="trace")]),
]


def clean(stages):
    return [{**s, "type": s["type"].rstrip("$")} for s in stages]


@pytest.mark.parametrize(("stages", "expected"), [d[1:] for d in DEAD], ids=[d[0] for d in DEAD])
def test_what_can_touch_nothing_under_a_schema_is_refused(stages, expected):
    assert codes(*clean(stages)) == expected
    table = TopicTable(FileTopics(Path("t")), topics=("orders",), value=VALUE)
    chain = parse_chain(clean(stages))
    with pytest.raises(PlanError, match=r"(?s)SMT30[35].*set dead_paths to warn"):
        plan_sink(chain, table, DeltaSink("lake", "records"))
    allowed = plan_sink(replace(chain, dead_paths="warn"), table, DeltaSink("lake", "records"))
    assert set(expected) <= {w.code for w in allowed.warnings}


@pytest.mark.parametrize("stages", [a[1] for a in ALIVE], ids=[a[0] for a in ALIVE])
def test_what_can_touch_something_is_let_be(stages):
    assert codes(*clean(stages)) == []


def test_hints_name_the_field_the_syntax_or_the_stage_before():
    def hint(*stages):
        plan = plan_chain(parse_chain(list(stages)), None, ROW, typed=True)
        return dead_paths(plan)[0].hint

    assert hint(mask("emial")) == "did you mean 'email'?"
    assert hint(mask("user.name")).startswith("set field.syntax.version=V2")
    assert hint(mask("**.email", "V2")).startswith("set field.syntax.version=extended")
    assert hint(RENAME, mask("email")).startswith("an earlier stage renames or moves the field")


PATTERNS = [
    ("**.email", "V1", True),
    ("*", "V2", True),
    ("a[*].b", "V2", True),
    ("a[0]", "V1", True),
    ("a['b']", "V2", True),
    ("$..email", "V1", True),
    ("$.email", "V2", True),
    ("user.*mail*", "V1", True),
    ("/^mail/i", "V1", True),
    ("user./mail/.x", "V2", True),
    ("type(string)", "V1", True),
    ("user.logical(Date)", "V2", True),
    ("user.name", "V1", False),
    ("$ref", "V1", False),
    ("a[b]", "V2", False),
    ("type", "V1", False),
    ("a/b/c", "V1", False),
    ("`**`.email", "V2", False),
    ("a.`[0]`", "V2", False),
    ("**.email", "extended", False),
]


@pytest.mark.parametrize(("path", "version", "seems"), PATTERNS)
def test_a_pattern_that_is_read_as_a_plain_name_is_refused_without_a_schema_too(path, version, seems):
    assert seems_pattern(path, version) is seems
    expected = ["SMT305"] if seems else []
    assert codes(mask(path, version), value=None) == expected
    assert codes(stage("ReplaceField", exclude=path, field_syntax_version=version), value=None) == expected
    renames = stage("ReplaceField", renames=f"{path}:x", field_syntax_version=version)
    assert codes(renames, value=None) == expected


def test_values_are_looked_at_though_keys_have_no_schema():
    table = TopicTable(FileTopics(Path("t")), topics=("orders",), key=Format("json"), value=VALUE)
    key = {"alias": "key", "type": "MaskField$Key", "options": {"fields": "$.id"}}
    with pytest.raises(PlanError) as error:
        plan_sink(parse_chain([key, mask("emial")]), table, DeltaSink("lake", "records"))
    assert [p.code for p in error.value.problems] == ["SMT303", "SMT305"]
    plan_sink(parse_chain([{**key, "options": {"fields": "id"}}, mask("email")]), table, DeltaSink("lake", "records"))


class KeyIsLong(CodePredicate):
    """True if the key is long."""

    connect_class = "com.example.KeyIsLong"

    def condition(self):
        return Code(reads=frozenset({"key"}))


def test_what_a_predicate_on_the_key_lets_a_stage_rename_may_be_masked():
    """The key has no schema, so nobody knows which records have the new name."""
    renames = Stage("names", ReplaceField.model_validate({"renames": "email:mail"}), "value", KeyIsLong(), "long")
    chain = Chain((renames, Stage("mask", MaskField.model_validate({"fields": "mail"}), "value")))
    plan = plan_chain(chain, None, None, topics=("orders",), typed=False)
    assert dead_paths(plan, ROW) == ()


def test_the_chain_says_whether_it_is_an_error():
    properties = {"transforms": "m", "transforms.m.type": "MaskField$Value", "transforms.m.fields": "emial"}
    stages = {"stages": [mask("emial")], "dead.paths": "warn"}
    assert parse_chain(properties).dead_paths == "error"
    assert parse_chain({**properties, "dead.paths": "warn"}).dead_paths == parse_chain(stages).dead_paths == "warn"
    assert parse_chain({**properties, "dead.paths": "warn"}).hash == parse_chain(properties).hash
    with pytest.raises(ConfigError, match="SMT309"):
        parse_chain({**properties, "dead.paths": "ignore"})


def test_a_path_that_one_of_several_topics_needs_is_not_dead_in_a_window_of_the_others():
    """A stage for one topic makes the field that a later stage masks in all."""
    renames = stage("ReplaceField", "names", {**ORDERS, "options": {"pattern": "a"}}, renames="email:mail")
    chain = parse_chain([renames, mask("email,mail")])
    table = TopicTable(FileTopics(Path("t")), topics=("a", "b"), value=VALUE)
    assert plan_sink(chain, table, DeltaSink("lake", "columns"))
    assert plan_sink(chain, table, DeltaSink("lake", "columns"), ("b",))


def effects(cls):
    return [effect for example in cls.examples for effect in cls.model_validate(example.options).ledger()]


RELIED_ON = [cls for cls in own(Transform) if any(effect.relied_on for effect in effects(cls))]
RING = {"fields": "emial", "key.ring": "${env:EXAMPLE_KEY}"}
MISSPELT = {
    "Coarsen": {"fields": "emial", "kind": "ip"},
    "Decrypt": RING,
    "Detokenize": RING,
    "Encrypt": RING,
    "MaskPart": {"fields": "emial"},
    "Pseudonymize": RING,
    "Tokenize": RING,
    "Redact": {"fields": "emial"},
    "MaskField": {"fields": "emial"},
    "ReplaceField": {"exclude": "emial", "renames": "nmae:x"},
    "Hash": {"field.name": "emial", "function": "md5", "skip.missing.or.null": "true"},
}
OTHERWISE = {
    "HeaderFrom": "a field that is not there is refused by Connect, too (SMT102)",
    "DropHeaders": "no schema knows headers",
    "HeaderToValue": "no schema knows headers",
    "HoistField": "it renames whatever is there",
    "Drop": "it drops the whole key or value",
}


@pytest.mark.parametrize("cls", RELIED_ON, ids=lambda cls: cls.__name__)
def test_every_transform_that_masks_drops_or_renames_is_refused_a_misspelt_field(cls):
    if cls.__name__ in OTHERWISE:
        return
    one = {"alias": "t", "type": f"{cls.connect_class}$Value", "options": MISSPELT[cls.__name__]}
    plan = plan_chain(parse_chain([one]), None, ROW, topics=("orders",), typed=True)
    entries = [entry for entry in plan.entries if entry.relied_on]
    with pytest.raises(PlanError) as error:
        refuse_dead_paths(plan)
    assert len(error.value.problems) == len(entries) and {p.code for p in error.value.problems} == {"SMT303"}


def test_the_sweep_knows_every_such_transform():
    assert {cls.__name__ for cls in RELIED_ON} == {*MISSPELT, *OTHERWISE}


def test_a_transform_of_ones_own_that_leaves_a_field_alone_is_told():
    class Scramble(FieldRules):
        """Scramble texts."""

        connect_class = "com.example.Scramble"
        purpose = "scramble"
        action = "masked"

        def rule(self, kind):
            return None

    chain = Chain((Stage("s", Scramble(fields=("id",)), "value"),))
    (problem,) = dead_paths(plan_chain(chain, None, ROW, typed=True))
    assert problem.code == "SMT308" and "masked" in SILENT
