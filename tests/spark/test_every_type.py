"""Every transform on a field of every type, on edge values and nulls: both evaluators give the same results.

A record has one field with a value, the others are null: so what one type fails with hides nothing of the others.
"""

import json

import pytest

from dagster_smt.chain import parse_chain, plan_chain
from dagster_smt.errors import PlanError, UnsupportedError
from dagster_smt.model.schema import STRING, Schema, Type, date, decimal, optional, time, timestamp
from dagster_smt.model.topics.format import Format
from dagster_smt.spark.evaluate import evaluate
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from tests.quick import quick
from tests.spark.made_up import Example
from tests.spark.test_evaluators_agree import compare, frame_of

_DAY = 86_400_000
# type: (schema, a default as JSON has it, JSON values)
TYPES = {
    "i8": (Schema(Type.INT8), 7, ["-128", "-1", "0", "127"]),
    "i16": (Schema(Type.INT16), 7, ["-32768", "300", "32767"]),
    "i32": (Schema(Type.INT32), 7, ["-2147483648", "70000", "2147483647"]),
    "i64": (Schema(Type.INT64), 7, ["-9223372036854775808", "1556204536123", "9223372036854775807"]),
    "f32": (Schema(Type.FLOAT32), 0.5, ["-1.5", "0.1", "3e9", "3.4028235e38", "-1e-400"]),
    "f64": (Schema(Type.FLOAT64), -1.5, ["-1.5", "0.1", "300.9", "1e19", "-1e300", "5e-324", "-1e-400"]),
    "truth": (Schema(Type.BOOLEAN), True, ["true", "false"]),
    "text": (Schema(Type.STRING), "none", ['""', '"7"', '" 7"', '"-1.5e3"', '"NaN"', '"true"', '"2020-02-29"', '"é"']),
    "bytes": (Schema(Type.BYTES), b"x", ['""', '"AQI="', f'"{"QUJD" * 40}"']),
    "money": (decimal(2), None, ['"AA=="', '"AJw="', '"nA=="', '"AJX/////////////"']),
    "day": (date(), None, ["0", "-1", "18000", "-719163"]),
    "clock": (time(), None, ["0", str(_DAY - 1)]),
    "moment": (timestamp(), None, ["0", "-1", "1556204536123", "-62135596800000"]),
}
NAMES = ",".join(TYPES)
CASTS = ("int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string")
TARGETS = ("unix", "string", "Date", "Time", "Timestamp")
FORMAT = {"format": "yyyy-MM-dd"}
SCHEMAS = {
    "optional": Schema(Type.STRUCT, fields=tuple((name, optional(of)) for name, (of, _, _) in TYPES.items())),
    "default": Schema(
        Type.STRUCT, fields=tuple((name, optional(of).with_(default=value)) for name, (of, value, _) in TYPES.items())
    ),
}
ROWS = [(f'{{"{name}":{text}}}'.encode(), "orders", ()) for name, (_, _, texts) in TYPES.items() for text in texts]
ROWS += [(json.dumps(dict.fromkeys(TYPES)).encode(), "orders", ()), (b"{}", "orders", ()), (None, "orders", ())]


def stage(kind, **options):
    return {"alias": kind.split("$")[0].lower(), "type": kind, "options": options}


def accepted(make, schema):
    """The stages that a transform makes of each field, without those that the plan refuses."""
    results = []
    for number, name in enumerate(TYPES):
        one = {**make(name), "alias": f"s{number}"}
        try:
            plan_chain(parse_chain([one]), None, schema, topics=("orders",), typed=True)
        except (PlanError, UnsupportedError):
            continue
        results.append(one)
    return results


def run(spark, schema, stages):
    compare(spark, Example(SCHEMAS[schema], stages, ROWS))


def with_schemas(values, *with_defaults):
    """(schema, value) of all; CI takes every value with optional fields, and fields with defaults for a few of them."""
    pairs = [("optional", value) for value in values]
    return quick([*pairs, *(("default", value) for value in values)], *pairs, *(("default", v) for v in with_defaults))


@pytest.mark.parametrize("pair", with_schemas(CASTS, "int8", "string"), ids=" ".join)
def test_cast(spark, pair):
    schema, target = pair
    stages = accepted(lambda name: stage("Cast$Value", spec=[f"{name}:{target}"]), SCHEMAS[schema])
    specs = [spec for one in stages for spec in one["options"]["spec"]]
    assert len(specs) >= 8
    run(spark, schema, [stage("Cast$Value", spec=specs)])


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("target", quick(["int32", "string"], "string"))
def test_cast_of_a_whole_value(spark, name, target):
    stages = [stage("ExtractField$Value", field=name), stage("Cast$Value", spec=target)]
    run(spark, "optional", stages)


@pytest.mark.parametrize("pair", with_schemas(TARGETS, "string"), ids=" ".join)
def test_timestamp_converter(spark, pair):
    schema, target = pair
    options = {"target.type": target, **FORMAT}
    stages = accepted(lambda name: stage("TimestampConverter$Value", field=name, **options), SCHEMAS[schema])
    assert len(stages) >= 5
    run(spark, schema, stages)


REPLACEMENTS = [{}, {"replacement": "7"}, {"replacement": "1e400"}, {"replacement": "-1.5"}]


@pytest.mark.parametrize("schema", quick(SCHEMAS, "default"))
@pytest.mark.parametrize("replacement", quick(REPLACEMENTS, REPLACEMENTS[0]))
def test_mask(spark, schema, replacement):
    stages = accepted(lambda name: stage("MaskField$Value", fields=[name], **replacement), SCHEMAS[schema])
    assert len(stages) >= 7
    if replacement == {"replacement": "1e400"}:  # SMT903: more digits than Spark's decimals have
        stages = [one for one in stages if one["options"]["fields"] != ["money"]]
    run(spark, schema, stages)


@pytest.mark.parametrize("replacement", ["1e400", "1e999999999"])
def test_a_mask_that_no_column_of_decimals_holds_is_refused_before_anything_runs(spark, replacement):
    stages = [stage("MaskField$Value", fields=["money"], replacement=replacement)]
    with pytest.raises(UnsupportedError) as caught:
        run(spark, "optional", stages)
    assert [problem.code for problem in caught.value.problems] == ["SMT903"]


SAME = [
    stage("ReplaceField$Value", exclude="i8,f64,text", renames="i16:a,money:b,day:c"),
    stage("ReplaceField$Value", include="i8,f64,text,moment"),
    stage("HeaderFrom$Value", fields=NAMES, headers=NAMES, operation="move"),
    stage("HeaderFrom$Value", fields=NAMES, headers=NAMES, operation="copy"),
    stage("ValueToKey", fields=NAMES),
    stage("HoistField$Value", field="w"),
    stage("Flatten$Value"),
    stage("SetSchemaMetadata$Value", **{"schema.name": "n", "schema.version": "2"}),
    stage("InsertField$Value", **{"topic.field": "t!", "offset.field": "o", "static.field": "s", "static.value": "v"}),
]


@pytest.mark.parametrize("schema", quick(SCHEMAS, "default"))
@pytest.mark.parametrize("source", SAME, ids=lambda one: one["type"])
def test_transforms_that_keep_the_values(spark, schema, source):
    run(spark, schema, [source])


@pytest.mark.parametrize("name", TYPES)
def test_extract_field(spark, name):
    run(spark, "default", [stage("ExtractField$Value", field=name)])


def planned(spark, stages):
    """The length of Spark's optimized plan of a chain that converts as many timestamps."""
    names = [f"f{n}" for n in range(stages)]
    schema = Schema(Type.STRUCT, fields=tuple((name, optional(Schema(Type.INT64)).with_(default=7)) for name in names))
    options = {"target.type": "string", **FORMAT}
    chain = [{**stage("TimestampConverter$Value", field=name, **options), "alias": name} for name in names]
    plan = plan_chain(parse_chain(chain), optional(STRING), schema, topics=("orders",), typed=True)
    table = TopicTable(FileTopics("unused"), ("orders",), value=Format("json_schema", schema))
    rows = evaluate(frame_of(spark, [(b"{}", "orders", ())]), plan, table, "columns")
    return len(rows._jdf.queryExecution().optimizedPlan().toString())


def test_the_plan_of_many_stages_grows_with_their_number(spark):
    """Not with a power of two: a column that an expression holds twice is doubled by every stage."""
    few, many = planned(spark, 4), planned(spark, 8)
    assert many < 3.5 * few
