"""Plans: schema, lineage, variants, warnings and refusals, all before anything runs."""

import pytest

from dagster_smt.errors import DATA_EXCEPTION, SCHEMA_BUILDER_EXCEPTION, PlanError, UnsupportedError
from dagster_smt.model.reports.run_report import LedgerEntry, leaf_labels
from dagster_smt.tables.ddl import parse_ddl
from tests.chain.helpers import EUROPEAN, ORDERS, TOMBSTONE, TRACED, plan_of, stage

SAME = {"id": "int32", "name": "string?", "a.b": "int32?", "a.c": "string?", "amount": "float64?"}
UNTOUCHED = {path: (f"value.{path}",) for path in SAME}
V2 = {"field_syntax_version": "V2"}

# (name, stages, labels of the value after the chain, lineage of its columns)
EFFECTS = [
    ("nothing", [], SAME, UNTOUCHED),
    ("mask", [stage("MaskField$Value", fields="name,a.b", **V2)], SAME, UNTOUCHED),
    ("cast", [stage("Cast$Value", spec="id:string")], SAME | {"id": "string"}, UNTOUCHED),
    (
        "drop and rename",
        [stage("ReplaceField$Value", exclude="a", renames="id:key")],
        {"key": "int32", "name": "string?", "amount": "float64?"},
        {"key": ("value.id",), "name": ("value.name",), "amount": ("value.amount",)},
    ),
    (
        "insert",
        [stage("InsertField$Value", topic_field="t!", timestamp_field="at", static_field="s", static_value="x")],
        SAME | {"t": "string", "at": "Timestamp?", "s": "string?"},
        UNTOUCHED | {"t": ("topic",), "at": ("timestamp",), "s": ()},
    ),
    (
        "flatten",
        [stage("Flatten$Value", delimiter="_")],
        {"id": "int32", "name": "string?", "a_b": "int32?", "a_c": "string?", "amount": "float64?"},
        {p.replace(".", "_"): s for p, s in UNTOUCHED.items()},
    ),
    (
        "extract a struct",
        [stage("ExtractField$Value", field="a")],
        {"b": "int32?", "c": "string?"},
        {"b": ("value.a.b",), "c": ("value.a.c",)},
    ),
    (
        "extract, hoist",
        [stage("ExtractField$Value", field="a.b", **V2), stage("HoistField$Value", field="v")],
        {"v": "int32?"},
        {"v": ("value.a.b",)},
    ),
    (
        "through several stages",
        [
            stage("ReplaceField$Value", renames="name:who"),
            stage("HoistField$Value", field="row"),
            stage("Cast$Value", spec="row:string") | {"alias": "none", "predicate": EUROPEAN},
            stage("Flatten$Value"),
        ],
        {"`row.id`": "int32", "`row.who`": "string?", "`row.a.b`": "int32?", "`row.a.c`": "string?",
         "`row.amount`": "float64?"},
        {f"`row.{p.replace('name', 'who')}`": s for p, s in UNTOUCHED.items()},
    ),
    (
        "where a predicate decides, sources of both",
        [stage("ReplaceField$Value", include="a", renames="a:x"), stage("ExtractField$Value", field="x"),
         stage("Cast$Value", spec="b:string"), stage("ReplaceField$Value", when=TRACED, renames="b:c,c:b")],
        {"b": "string?", "c": "string?"},
        {"b": ("value.a.b", "value.a.c"), "c": ("value.a.b", "value.a.c")},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("stages", "labels", "lineage"), [e[1:] for e in EFFECTS], ids=[e[0] for e in EFFECTS])
def test_schema_and_lineage(stages, labels, lineage):
    plan = plan_of(*stages, topics=("orders",))
    assert leaf_labels(plan.after) == labels
    assert plan.lineage == lineage
    assert (plan.before, plan.warnings) == (ORDERS, ())


def test_sources_of_both_also_where_no_stage_took_the_struct_apart():
    value = parse_ddl("x INT, y INT")
    plan = plan_of(stage("ReplaceField$Value", when=TRACED, renames="x:y,y:x"), value=value)
    assert len(plan.results) == 2  # the order of the fields differs
    assert plan.lineage == {"x": ("value.x", "value.y"), "y": ("value.x", "value.y")}
    assert leaf_labels(plan.after) == {"x": "int32?", "y": "int32?"}


AIVEN = "io.aiven.kafka.connect.transforms."
NAME_AS_TOPIC = AIVEN + "ExtractTopic$Value"
FIELD_AS_TIME = AIVEN + "ExtractTimestamp$Value"


@pytest.mark.parametrize(
    ("first", "option", "sources"),
    [
        (stage(NAME_AS_TOPIC, when=TRACED, field_name="name"), "topic.field", ("topic", "value.name")),
        (stage(NAME_AS_TOPIC, field_name="name"), "topic.field", ("value.name",)),
        (stage("RegexRouter", when=TRACED, regex="x", replacement="y"), "topic.field", ("topic",)),
        (stage(FIELD_AS_TIME, when=TRACED, field_name="at"), "timestamp.field", ("timestamp", "value.at")),
    ],
)
def test_metadata_that_a_stage_sets_in_some_records_has_the_sources_of_both(first, option, sources):
    after = stage("InsertField$Value") | {"options": {option: "new"}}
    plan = plan_of(first, after, value=parse_ddl("name STRING, at BIGINT NOT NULL"), topics=("orders", "x"))
    assert plan.lineage["new"] == sources


def test_masks_stay_with_a_topic_that_some_records_get_from_a_field():
    mask, route = stage("MaskField$Value", fields="name"), stage(NAME_AS_TOPIC, when=TRACED, field_name="name")
    assert "new" in plan_of(mask, route, stage("InsertField$Value", topic_field="new"), topics=("a", "b")).masked


def test_masked_columns_go_by_their_names_after_the_chain():
    plan = plan_of(stage("MaskField$Value", fields="a.b,name", **V2), stage("Flatten$Value", delimiter="_"))
    assert plan.masked == {"a_b", "name"}
    assert plan_of(stage("MaskField$Value", fields="name"), stage("ReplaceField$Value", exclude="name")).masked == set()
    assert plan_of(stage("MaskField$Value", when=TRACED, fields="name")).masked == {"name"}


def test_the_ledger_is_numbered_over_all_stages():
    plan = plan_of(
        stage("MaskField$Key", fields="k"),
        stage("ReplaceField$Value", exclude="a", renames="id:key", include="id"),
        stage("Filter", when=TOMBSTONE),
        stage("RegexRouter", regex="a(.*)", replacement="$1"),
        key=parse_ddl("k STRING"),
    )
    assert plan.entries == (
        LedgerEntry(0, "maskfield", "masked", "k", "key"),
        LedgerEntry(1, "replacefield", "dropped", "a"),
        LedgerEntry(1, "replacefield", "renamed", "id", "value", "key"),
        LedgerEntry(1, "replacefield", "dropped", "all but id", explicit=False),
        LedgerEntry(3, "regexrouter", "routed", "a(.*)", "topic", "$1"),
    )


def test_the_schema_after_each_stage():
    plan = plan_of(
        stage("ReplaceField$Value", include="id,a"), stage("Flatten$Value"), stage("Cast$Value", spec="id:string")
    )
    after = [leaf_labels(step.plan.after.value.schema) for step in plan.steps]
    assert after == [
        {"id": "int32", "a.b": "int32?", "a.c": "string?"},
        {"id": "int32", "`a.b`": "int32?", "`a.c`": "string?"},
        {"id": "string", "`a.b`": "int32?", "`a.c`": "string?"},
    ]


def test_without_a_schema_there_is_only_the_ledger():
    plan = plan_of(stage("MaskField$Value", fields="x"), value=None, typed=False, topics=("orders",))
    assert (plan.before, plan.after, plan.lineage, plan.masked, plan.steps) == (None, None, {}, set(), ())
    assert [e.path for e in plan.entries] == ["x"]


def test_a_side_without_schema_is_left_alone():
    plan = plan_of(stage("Flatten$Key"), stage("ReplaceField$Value", include="id"))
    assert leaf_labels(plan.after) == {"id": "int32"}
    assert plan.results[0].key is None


# -- variants --------------------------------------------------------------------------------------------------------


def steps(plan):
    return [(s.variant, s.taken, s.skipped) for s in plan.steps]


VARIANTS = [
    (
        "settled by the topic: acts",
        [stage("Cast$Value", when=EUROPEAN, spec="id:string")],
        ("orders-eu",),
        [(0, 0, None)],
        "string",
    ),
    (
        "settled by the topic: does not",
        [stage("Cast$Value", when=EUROPEAN, spec="id:string")],
        ("orders-us",),
        [(0, None, 0)],
        "int32",
    ),
    ("negated", [stage("Cast$Value", unless=EUROPEAN, spec="id:string")], ("orders-us",), [(0, 0, None)], "string"),
    ("the schema stays", [stage("MaskField$Value", when=TRACED, fields="name")], (), [(0, 0, 0)], "int32"),
    ("the schema changes", [stage("InsertField$Value", when=TRACED, topic_field="t")], (), [(0, 1, 0)], "int32"),
    ("a tombstone guard", [stage("Cast$Value", unless=TOMBSTONE, spec="id:string")], (), [(0, 0, 0)], "string"),
    ("a filter", [stage("Filter", when=TRACED)], (), [(0, None, 0)], "int32"),
    (
        "two filters",
        [stage("Filter", when=TOMBSTONE), stage("Filter", unless=TRACED)],
        (),
        [(0, None, 0), (0, None, 0)],
        "int32",
    ),
    ("a router", [stage("RegexRouter", when=TRACED, regex=".*", replacement="x")], (), [(0, 0, 0)], "int32"),
    (
        "each form goes on by itself",
        [stage("InsertField$Value", when=TRACED, topic_field="t"), stage("Cast$Value", spec="id:string")],
        (),
        [(0, 1, 0), (0, 0, None), (1, 1, None)],
        "string",
    ),
]


@pytest.mark.parametrize(
    ("stages", "topics", "expected", "label"), [v[1:] for v in VARIANTS], ids=[v[0] for v in VARIANTS]
)
def test_variants(stages, topics, expected, label):
    plan = plan_of(*stages, topics=topics)
    assert steps(plan) == expected
    assert leaf_labels(plan.after)["id"] == label


def test_the_topic_after_a_router_settles_a_predicate():
    router = stage("RegexRouter", regex="(.*)", replacement="$1-eu")
    plan = plan_of(router, stage("Cast$Value", when=EUROPEAN, spec="id:string"), topics=("orders",))
    assert steps(plan) == [(0, 0, None), (0, 0, None)]


def test_variants_are_merged_by_name_and_clashes_are_refused_there_only():
    inserted = plan_of(stage("InsertField$Value", when=TRACED, static_field="x!", static_value=""))
    assert leaf_labels(inserted.after) == SAME | {"x": "string?"}
    cast = plan_of(stage("Cast$Value", when=TRACED, spec="id:string,amount:int8"))
    assert len(cast.results) == 2
    with pytest.raises(PlanError) as caught:
        _ = cast.after
    assert [str(p).splitlines()[0] for p in caught.value.problems] == [
        "SMT203 id: the field is int32 in some records and string in others",
        "SMT203 amount: the field is float64 in some records and int8 in others",
    ]


def test_more_than_eight_variants_are_not_supported():
    few = [stage("InsertField$Value", when=TRACED, topic_field=f"t{n}") for n in range(3)]
    assert len(plan_of(*few).results) == 8
    with pytest.raises(UnsupportedError) as caught:
        plan_of(*few, stage("InsertField$Value", when=TRACED, topic_field="t9"))
    assert str(caught.value).splitlines()[0] == (
        "SMT901 transforms.insertfield4 (InsertField$Value): predicates make more than 8 variants of the record"
    )


def test_dropping_everything_leaves_nothing():
    plan = plan_of(stage("Filter"), stage("Cast$Value", spec="id:string"))
    assert (plan.after, plan.lineage, len(plan.steps)) == (None, {}, 1)


# -- refusals and warnings -------------------------------------------------------------------------------------------

AT = "{} transforms.{}: {}"
REFUSED = [
    (
        [stage("ExtractField$Value", field="nope")],
        [AT.format("SMT102", "extractfield (ExtractField$Value)", "there is no field 'nope' for 'nope'")],
        "java.lang.IllegalArgumentException",
    ),
    (
        [stage("InsertField$Value", topic_field="id")],
        [AT.format("SMT110", "insertfield (InsertField$Value)", "field 'id' exists already")],
        SCHEMA_BUILDER_EXCEPTION,
    ),
    (
        [stage("RegexRouter", regex="(o).*", replacement="$2")],
        [AT.format("SMT406", "regexrouter (RegexRouter)", "the replacement cannot be used: there is no group 2")],
        DATA_EXCEPTION,
    ),
    (
        [stage("ReplaceField$Value", renames="id:name")],
        [AT.format("SMT111", "replacefield (ReplaceField$Value)", "two fields would be named 'name'")],
        SCHEMA_BUILDER_EXCEPTION,
    ),
    # every stage that no record passes, on the forms of records that reach it
    (
        [stage("InsertField$Value", when=TRACED, topic_field="id"), stage("InsertField$Value", topic_field="name")],
        [
            AT.format("SMT110", "insertfield (InsertField$Value)", "field 'id' exists already"),
            AT.format("SMT110", "insertfield2 (InsertField$Value)", "field 'name' exists already"),
        ],
        SCHEMA_BUILDER_EXCEPTION,
    ),
    # said once, though both forms fail
    (
        [stage("InsertField$Value", when=TRACED, topic_field="t"), stage("ReplaceField$Value", renames="id:name")],
        [AT.format("SMT111", "replacefield (ReplaceField$Value)", "two fields would be named 'name'")],
        SCHEMA_BUILDER_EXCEPTION,
    ),
]


@pytest.mark.parametrize(("stages", "problems", "connect_class"), REFUSED, ids=[r[1][-1][:40] for r in REFUSED])
def test_a_chain_that_no_record_can_pass_is_refused(stages, problems, connect_class):
    with pytest.raises(PlanError) as caught:
        plan_of(*stages, topics=("orders",))
    assert [str(p).splitlines()[0] for p in caught.value.problems] == problems
    assert caught.value.problems[-1].connect_class == connect_class


def test_a_stage_that_some_records_cannot_pass_is_a_warning():
    plan = plan_of(stage("InsertField$Value", when=TRACED, topic_field="id"), stage("Cast$Value", spec="id:string"))
    assert leaf_labels(plan.after)["id"] == "string"
    assert [str(w).splitlines()[0] for w in plan.warnings] == [
        "SMT110 transforms.insertfield (InsertField$Value): field 'id' exists already"
    ]


def test_what_some_records_cannot_pass_and_the_rest_is_dropped_is_no_error():
    plan = plan_of(stage("InsertField$Value", when=TRACED, topic_field="id"), stage("Filter"))
    assert (plan.results, len(plan.warnings)) == ({}, 1)


MISSING = [
    (stage("MaskField$Value", fields="nam,name"), [("no record can have the field 'nam'", "did you mean 'name'?")]),
    (stage("MaskField$Value", fields="a.x", **V2), ["no record can have the field 'a.x'"]),
    (stage("MaskField$Value", fields="a.b"), ["no record can have the field 'a.b'"]),
    (stage("Cast$Value", spec="ids:string"), [("no record can have the field 'ids'", "did you mean 'id'?")]),
    (
        stage("ReplaceField$Value", exclude="zz", include="zz,id", renames="zz:y,y:z"),
        ["no record can have the field 'zz'", "no record can have the field 'y'"],
    ),
]


@pytest.mark.parametrize(("source", "expected"), MISSING, ids=[str(m[1]) for m in MISSING])
def test_fields_that_no_record_can_have_are_warned_of(source, expected):
    warnings = plan_of(source).warnings
    assert {w.code for w in warnings} == {"SMT303"}
    results = [(w.statement, w.hint) for w in warnings]
    assert [f if isinstance(w, tuple) else f[0] for f, w in zip(results, expected, strict=True)] == expected


def test_a_field_that_one_form_of_record_has_is_not_missing():
    insert = stage("InsertField$Value", when=TRACED, topic_field="t")
    assert plan_of(insert, stage("MaskField$Value", fields="t")).warnings == ()
    assert [w.statement for w in plan_of(insert, stage("MaskField$Value", fields="u")).warnings] == [
        "no record can have the field 'u'"
    ]


def test_warnings_of_parsing_stay_with_the_plan():
    from dagster_smt.chain import parse_chain, plan_chain

    chain = parse_chain([stage("Filter", x="y")], unknown_options="warn")
    for typed in (True, False):
        assert [w.code for w in plan_chain(chain, None, ORDERS, typed=typed).warnings] == ["SMT011"]


# -- limits of columns -------------------------------------------------------------------------------------------------

PRICES = parse_ddl("price DECIMAL(38,2), n INT, rows ARRAY<STRUCT<price: DECIMAL(38,2)>>")
EXTENDED = {"field_syntax_version": "extended"}
# (stages, paths that the plan of a table of columns warns of)
PRINTED = [
    ([stage("Cast$Value", spec="price:string")], ["price"]),
    ([stage("Cast$Value", spec="n:string")], []),
    ([stage("Cast$Value", spec="price:int32")], []),
    ([stage("MaskField$Value", fields="price"), stage("Cast$Value", spec="price:string")], ["price"]),
    ([stage("Cast$Value", spec="rows[*].price:string", **EXTENDED)], ["rows"]),
]


@pytest.mark.parametrize(("stages", "paths"), PRINTED)
def test_texts_of_decimals_are_warned_of(stages, paths):
    results = [w for w in plan_of(*stages, value=PRICES).warnings if w.code == "SMT227"]
    assert [w.statement.split("'")[1] for w in results] == paths
    assert all(w.place.startswith("transforms.cast") and "write records" in w.hint for w in results)
    assert all(w.code != "SMT227" for w in plan_of(*stages, value=PRICES, typed=False).warnings)


def test_a_side_that_is_always_null_is_not_hoisted():
    with pytest.raises(UnsupportedError) as caught:
        plan_of(stage("HoistField$Key", field="w"), key=None)
    assert [problem.code for problem in caught.value.problems] == ["SMT904"]
