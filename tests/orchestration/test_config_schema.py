"""The run config: what its shape allows, what its meaning allows, what it decodes to."""

import dagster as dg
import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.chain.plugins import predicates, transforms
from dagster_smt.errors import ConfigError
from dagster_smt.model.windows.window import Range
from dagster_smt.orchestration.launch.config_schema import decode_config, smt_config_schema
from dagster_smt.orchestration.launch.stage_option_fields import option_fields
from dagster_smt.tables.window_request import MicroBatches

HIDE = {"alias": "hide", "type": "MaskField$Value", "options": {"fields": ["name"], "replacement": "*"}}
GUARDED = {
    **HIDE,
    "predicate": {"name": "p", "type": "TopicNameMatches", "options": {"pattern": "a.*"}},
    "negate": True,
}
PROPERTIES = {
    "transforms": "hide",
    "transforms.hide.type": "org.apache.kafka.connect.transforms.MaskField$Value",
    "transforms.hide.fields": "name",
}
PLACE = "ops.mask.config"


def full(config):
    """The config as an op gets it: validated, defaults filled in."""

    @dg.op(name="mask", config_schema=smt_config_schema(parse_chain([GUARDED])))
    def mask():
        pass

    @dg.job
    def job():
        mask()

    return dg.validate_run_config(job, {"ops": {"mask": {"config": config}}})["ops"]["mask"]["config"]


def test_without_config_the_definitions_chain_runs_on_what_is_new():
    settings = decode_config(full({}), PLACE)
    assert settings.chain.hash == parse_chain([GUARDED]).hash
    assert settings.window.explicit is None and settings.window.max_records is None
    assert (settings.rebuild, settings.errors_tolerance) == (False, "none")


def test_the_launchpad_shows_the_stages_in_order():
    default = smt_config_schema(parse_chain([HIDE, {**GUARDED, "alias": "two"}]))["chain"].default_value
    assert [s["alias"] for s in default["stages"]] == ["hide", "two"]
    assert default["stages"][1]["predicate"]["options"] == {"pattern": "a.*"}


@pytest.mark.parametrize(
    "stage",
    [
        {**HIDE, "type": "MaskFeild$Value"},
        {**HIDE, "type": "MaskField"},
        {**HIDE, "predicate": {"name": "p", "type": "TopicNameMatch"}},
    ],
)
def test_dagster_itself_refuses_a_misspelt_class(stage):
    with pytest.raises(dg.DagsterInvalidConfigError):
        full({"chain": {"stages": [stage]}})


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"fields": ["name"], "replacment": "*"}, '"replacment" at path root:ops:mask:config:chain:stages[0]:options'),
        ({"fields": {"name": "x"}}, "stages[0]:options:fields"),
        ({"fields": [1]}, "stages[0]:options:fields"),
        ({"fields": 5}, "stages[0]:options:fields"),
        ({"fields": ["name"], "replace.null.with.default": "yes"}, "stages[0]:options:replace.null.with.default"),
        ({"fields": ["name"], "strict_paths": "loose"}, "stages[0]:options:strict_paths"),
        ({"schema.version": "one"}, "stages[0]:options:schema.version"),
        ({"delimiter": ["_"]}, "stages[0]:options:delimiter"),
        ({"target.type": "date"}, "stages[0]:options:target.type"),
    ],
)
def test_dagster_itself_refuses_a_misspelt_option_and_one_of_another_type(options, place):
    with pytest.raises(dg.DagsterInvalidConfigError) as raised:
        full({"chain": {"stages": [{**HIDE, "options": options}]}})
    assert place in str(raised.value)


TAKEN = [
    {"replacement": 0}, {"replacement": None}, {"static.value": 5}, {"fields": "a,b"}, {"schema.version": None},
    {"renames": {"a": "b"}}, {"renames": ["a:b"]}, {"spec": "a:int8"}, {"field.syntax.version": "V2"},
    {"operation": "MOVE"}, {"field.format": ""}, {"field.format": "JSON_PATH"},
    {"delete.tombstone.handling.mode": "Drop"},
]  # fmt: skip


@pytest.mark.parametrize("options", TAKEN)
def test_dagster_takes_what_a_class_may_take(options):
    assert full({"chain": {"stages": [{**HIDE, "options": options}]}})


def test_every_option_has_a_description_and_nearly_every_one_a_type():
    """Of the others a text may be written as a number, or a list as a mapping."""
    for classes in (transforms(), predicates()):
        fields = option_fields(classes.values()).fields
        assert all(field.description for field in fields.values())
        loose = {name for name, field in fields.items() if field.config_type.given_name == "Any"}
        assert loose <= {"field.value", "renames", "replacement", "spec", "static.value", "value", "value.literal"}


def test_dagster_takes_the_options_of_every_documented_example():
    ran = 0
    for cls in transforms().values():
        for example in cls.examples:
            stage = {"alias": "s", "type": cls.__name__ + ("$Value" if cls.sided else ""), "options": example.options}
            ran += bool(full({"chain": {"stages": [stage]}}))
    assert ran > 50


def test_every_class_that_a_chain_can_name_is_offered():
    for type_ in ("Filter", "org.apache.kafka.connect.transforms.Filter", "Cast$Key", HIDE["type"]):
        assert full({"chain": {"stages": [{"alias": "s", "type": type_}]}})


def test_numbers_and_booleans_need_no_quotes_in_properties():
    cast = {"transforms": "s", "transforms.s.type": "SetSchemaMetadata$Value", "transforms.s.schema.version": 3}
    nulls = {"transforms": "s,n", "transforms.n.type": "Cast$Value", "transforms.n.spec": "a:int8"}
    nulls["transforms.n.replace.null.with.default"] = False
    settings = decode_config(full({"chain": {"properties": {**cast, **nulls}}}), PLACE)
    first, second = (s.transform for s in settings.chain.stages)
    assert (first.schema_version, second.replace_null_with_default) == (3, False)


def ranges(partitions):
    return {"window": {"explicit": {"t": partitions}}}


DECODED = [
    ("stages", {"chain": {"stages": [HIDE]}}, lambda s: s.chain.hash == parse_chain([HIDE]).hash),
    ("no predicate", {"chain": {"stages": [{**HIDE, "predicate": None}]}}, lambda s: not s.chain.stages[0].predicate),
    ("negate", {"chain": {"stages": [GUARDED]}}, lambda s: s.chain.stages[0].negate),
    ("properties", {"chain": {"properties": PROPERTIES}}, lambda s: s.chain.stages[0].alias == "hide"),
    ("tolerance", {"errors.tolerance": "all"}, lambda s: s.errors_tolerance == "all"),
    ("rebuild", {"window": {"rebuild": True}}, lambda s: s.rebuild),
    ("at most", {"window": {"max_records": 5}}, lambda s: s.window.max_records == 5),
    ("a range", ranges({"0": [2, 5]}), lambda s: s.window.explicit.ranges == (Range("t", 0, 2, 5),)),
    ("every partition", {"window": {"explicit": {"*": [2, 5]}}}, lambda s: s.window.everywhere == (2, 5)),
    ("since", {"window": {"since": "2026-01-31T12:00:00.500Z"}}, lambda s: s.window.since == 1769860800500),
    ("a zone", {"window": {"until": "2026-01-31T13:00:00+01:00"}}, lambda s: s.window.until == 1769860800000),
    ("no zone is UTC", {"window": {"until": "2026-01-31"}}, lambda s: s.window.until == 1769817600000),
    ("milliseconds", {"window": {"since": "5", "until": "7"}}, lambda s: (s.window.since, s.window.until) == (5, 7)),
    ("topics", {"window": {"topics": ["b", "a"]}}, lambda s: s.window.topics == ("a", "b")),
    ("a gap", {"window": {"accept_gap": True}}, lambda s: s.window.accept_gap),
    ("one window", {}, lambda s: s.micro_batch is None and not s.window.fixed),
    ("batches", {"micro_batch": {"max_records": 9}}, lambda s: s.micro_batch == MicroBatches(9)),
    (
        "limits",
        {"micro_batch": {"max_records": 9, "max_batches": 2, "max_seconds": 1.5}},
        lambda s: s.micro_batch == MicroBatches(9, 2, 1.5),
    ),
    ("YAML's numbers", ranges({1: [2, 5]}), lambda s: s.window.explicit.ranges == (Range("t", 1, 2, 5),)),
]


@pytest.mark.parametrize(("name", "config", "holds"), DECODED, ids=[c[0] for c in DECODED])
def test_decoded(name, config, holds):
    assert holds(decode_config(full(config), PLACE))


SHAPES = [
    ("unknown key", {"windows": {}}),
    ("both forms", {"chain": {"stages": [], "properties": {}}}),
    ("no alias", {"chain": {"stages": [{"type": "MaskField$Value"}]}}),
    ("another tolerance", {"errors.tolerance": "some"}),
    ("a text", {"window": {"max_records": "5"}}),
]


@pytest.mark.parametrize(("name", "config"), SHAPES, ids=[c[0] for c in SHAPES])
def test_dagster_refuses_another_shape(name, config):
    with pytest.raises(dg.DagsterInvalidConfigError):
        full(config)


REFUSED = [
    (
        "unknown option",
        {"chain": {"stages": [{**HIDE, "options": {"header": "name"}}]}},
        "SMT011 ops.mask.config.chain: stages[0] (hide) (MaskField$Value): unknown option 'header'",
    ),
    (
        "unknown class",
        {"chain": {"properties": {**PROPERTIES, "transforms.hide.type": "Masc$Value"}}},
        "SMT010 ops.mask.config.chain.properties: transforms.hide: unknown transform class",
    ),
    ("no range", {"window": {"explicit": {"t": {"0": [5]}}}}, "SMT032 ops.mask.config.window.explicit.t.0"),
    ("a flag", {"window": {"explicit": {"t": {"0": [False, 5]}}}}, "SMT032"),
    ("no partition", {"window": {"explicit": {"t": {"x": [1, 5]}}}}, "is not the number of a partition"),
    ("no partitions", {"window": {"explicit": {"t": [1, 5]}}}, "is not a mapping of partitions"),
    (
        "every and one",
        {"window": {"explicit": {"*": [0, 1], "t": {"0": [0, 1]}}}},
        "SMT032 ops.mask.config.window.explicit.*",
    ),
    ("no moment", {"window": {"since": "yesterday"}}, "SMT033 ops.mask.config.window.since"),
    ("no batch", {"micro_batch": {"max_records": 0}}, "SMT034 ops.mask.config.micro_batch.max_records"),
    (
        "batches of a range",
        {"micro_batch": {"max_records": 1}, "window": {"since": "5"}},
        "SMT034 ops.mask.config.micro_batch",
    ),
    ("none at all", {"window": {"max_records": 0}}, "SMT031 ops.mask.config.window.max_records"),
]


@pytest.mark.parametrize(("name", "config", "message"), REFUSED, ids=[c[0] for c in REFUSED])
def test_meaning_is_refused_with_code_and_place(name, config, message):
    with pytest.raises(ConfigError, match="hint: ") as caught:
        decode_config(full(config), PLACE)
    assert message in str(caught.value)


def test_all_problems_come_together():
    config = {"chain": {"stages": [{**HIDE, "options": {}}]}, "window": {"max_records": 0, "explicit": {"t": {"0": 1}}}}
    with pytest.raises(ConfigError) as caught:
        decode_config(full(config), PLACE)
    assert len(caught.value.problems) == 3


def test_a_run_for_one_topic_takes_no_range_of_another():
    config = full({"window": {"explicit": {"t": {"0": [0, 1]}}}})
    with pytest.raises(ConfigError, match="names topics that are not in the run"):
        decode_config(config, PLACE, ("u",))
