"""Connect schemas and Spark types, both ways."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types as T

from dagster_smt.errors import PlanError
from dagster_smt.model.schema import Schema, Type, decimal, optional
from dagster_smt.spark.types import connect_schema, internal_type, spark_type, struct_field
from tests.spark.made_up import SIMPLE, nest, structs


def as_spark_sees_it(schema):
    """A schema without what a bare Spark type cannot say: everything allows null, Time is a number, no names."""
    if schema.logical in ("Date", "Timestamp", "Decimal"):
        return optional(schema.with_(default=None))
    return Schema(
        schema.type,
        True,
        fields=tuple((name, as_spark_sees_it(child)) for name, child in schema.fields),
        keys=schema.keys and as_spark_sees_it(schema.keys).with_(optional=False),
        values=schema.values and as_spark_sees_it(schema.values),
    )


@given(structs(3))
def test_a_schema_comes_back_from_its_spark_type(schema):
    assert connect_schema(spark_type(schema)) == as_spark_sees_it(schema)


@given(structs(3))
def test_the_internal_type_differs_in_names_and_digits_only(schema):
    assert _kinds(internal_type(schema)) == _kinds(spark_type(schema))


def _kinds(data_type):
    if isinstance(data_type, T.StructType):
        return [_kinds(field.dataType) for field in data_type.fields]
    if isinstance(data_type, T.ArrayType):
        return ("array", _kinds(data_type.elementType))
    if isinstance(data_type, T.MapType):
        return ("map", _kinds(data_type.keyType), _kinds(data_type.valueType))
    return data_type.simpleString()


def test_names_that_differ_in_case_only_are_numbered_inside():
    schema = Schema(Type.STRUCT, fields=(("a", Schema(Type.INT32)), ("A", Schema(Type.STRING))))
    assert internal_type(schema).fieldNames() == ["f0", "f1"]
    assert spark_type(schema).fieldNames() == ["a", "A"]


@given(st.sampled_from(SIMPLE), st.booleans())
def test_what_a_type_cannot_say_is_in_the_metadata(schema, null):
    schema = schema.with_(doc="why", optional=null)
    field = struct_field("x", schema)
    assert field.metadata["comment"] == "why"
    assert field.metadata["connect"]["type"] == schema.type.value
    assert field.metadata["connect"].get("name") == schema.name
    assert field.metadata["connect"]["optional"] is null
    assert field.nullable


UNKNOWN_TO_SPARK = [
    decimal(-3),
    decimal(39),
    Schema(Type.ARRAY),
    Schema(Type.MAP, values=Schema(Type.INT32)),
    Schema(Type.STRUCT, fields=(("a", Schema(Type.ARRAY, values=decimal(39))),)),
]


@pytest.mark.parametrize("schema", UNKNOWN_TO_SPARK, ids=lambda s: s.label)
def test_a_schema_that_spark_cannot_hold_is_refused(schema):
    with pytest.raises(PlanError) as caught:
        spark_type(schema, "x")
    assert caught.value.problems[0].code == "SMT207"


UNKNOWN_TO_CONNECT = [T.NullType(), T.TimestampNTZType(), T.DayTimeIntervalType(), T.ArrayType(T.NullType())]
if hasattr(T, "VariantType"):  # since Spark 4
    UNKNOWN_TO_CONNECT.append(T.ArrayType(T.VariantType()))


@pytest.mark.parametrize("data_type", UNKNOWN_TO_CONNECT, ids=lambda t: t.simpleString())
def test_a_type_that_connect_does_not_have_is_refused(data_type):
    with pytest.raises(PlanError) as caught:
        connect_schema(data_type)
    assert caught.value.problems[0].code == "SMT208"


@pytest.mark.parametrize("inside", [False, True])
def test_what_a_table_requires_is_required(inside):
    items = T.ArrayType(T.LongType(), inside)
    schema = connect_schema(T.StructType([T.StructField("a", items, False)]), nullable=False)
    assert schema == Schema(
        Type.STRUCT, fields=(("a", Schema(Type.ARRAY, values=Schema(Type.INT64, optional=inside))),)
    )


@pytest.mark.parametrize(("kind", "most"), [("struct", 59), ("array", 59), ("map", 29)])
def test_columns_nest_only_as_deep_as_arrow(kind, most):
    assert spark_type(nest(kind, most))
    with pytest.raises(PlanError, match="nests 61 levels") as caught:
        spark_type(nest(kind, most + 1))
    assert caught.value.problems[0].code == "SMT207"
