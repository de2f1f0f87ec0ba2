"""Compares the column types that Spark's evaluator produces with the schemas of Connect's results."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from pyspark.sql import SparkSession
from pyspark.sql import types as T

from dagster_smt.certify.certificate import Finding
from dagster_smt.certify.difference_places import DifferencePlace
from dagster_smt.certify.judging import ChainComparison
from dagster_smt.certify.stepwise import Result
from dagster_smt.chain.plan import plan_chain
from dagster_smt.errors import PlanError, UnsupportedError
from dagster_smt.model.schema import Schema, Type
from dagster_smt.model.topics.format import Format, Formats
from dagster_smt.model.windows.window import topics_of
from dagster_smt.spark.evaluate import evaluate
from dagster_smt.spark.outcome_columns import RECORD_DDL
from dagster_smt.spark.types import spark_type, types_by_name

PART = "type of a column"


@dataclass
class _Group:
    """Records with the same input schemas.

    Attributes:
        numbers: The positions of these records in the list of all compared records.
        results: The schemas that the values have after Connect's chain.
    """

    numbers: list[int] = field(default_factory=list)
    results: dict[Schema, None] = field(default_factory=dict)


def type_findings(session: SparkSession, comparison: ChainComparison, way: str) -> Iterator[Finding]:
    """Compares the column types of Spark with the schemas of Connect's results. Yields a finding for each group of
    records whose types differ.

    Records with the same input schemas form a group. A group is compared only if its values have an input schema, and
    if Connect gives all of them the same output schema. With several output schemas, Spark would merge the columns,
    which Connect does not do.

    Args:
        session: The Spark session.
        comparison: The records with Connect's results.
        way: The name of the execution path in the findings.
    """
    for (key, value), group in _groups(comparison).items():
        if len(group.results) != 1:
            continue
        (after,) = group.results
        try:
            columns = _columns(session, comparison, key, value)
            of_connect = spark_type(after)
        except (PlanError, UnsupportedError):
            continue  # the ways for columns report that there are no columns
        for path, connect, here in _differences("", of_connect, columns):
            record = comparison.readings.samples[group.numbers[0]].place
            place = DifferencePlace(record, PART, path, connect, here)
            yield Finding(way, len(comparison.connect) - 1, "", len(group.numbers), frozenset(group.numbers), place)
            break


def _groups(comparison: ChainComparison) -> dict[tuple[Schema | None, Schema], _Group]:
    groups: dict[tuple[Schema | None, Schema], _Group] = {}
    read = comparison.reader.converter.read
    for number, (case, result) in enumerate(zip(comparison.readings.cases, comparison.connect[-1], strict=True)):
        value = read(case["value"])[0] if "envelope" in (case["value"] or {}) else None
        after = _schema_after(comparison, result)
        if value is None or after is None:
            continue
        key = read(case["key"])[0] if "envelope" in (case["key"] or {}) else None
        group = groups.setdefault((key, value), _Group())
        group.numbers.append(number)
        group.results[after] = None
    return groups


def _schema_after(comparison: ChainComparison, result: Result) -> Schema | None:
    """Returns the schema of the record's value in ``result``, Connect's result. Returns None if the value has no schema
    or is not a struct.
    """
    datum = result["record"]["value"] if "record" in result else None
    if "envelope" not in (datum or {}):
        return None
    schema = comparison.reader.converter.read(datum)[0]
    if schema is None or schema.type is not Type.STRUCT:
        return None
    return schema


def _columns(session: SparkSession, comparison: ChainComparison, key: Schema | None, value: Schema) -> T.StructType:
    """Returns the type of the rows that the chain produces on Spark, given the schemas ``key`` and ``value``."""
    topics = tuple(topics_of(comparison.readings.samples))
    plan = plan_chain(comparison.pair.ours, key, value, topics=topics, typed=True)
    # no records: the types of the result follow from the plan alone
    frame = session.createDataFrame([], RECORD_DDL)
    form = Format("string") if key is None else Format("json_schema", key)
    evaluated = evaluate(frame, plan, Formats(form, Format("json_schema", value)), "columns")
    out = evaluated.schema["__out"].dataType
    assert isinstance(out, T.StructType)
    return out


def _differences(path: str, want: T.DataType, got: T.DataType) -> Iterator[tuple[str, str, str]]:
    """Yields each difference between two types as a triple of path, Connect's type and Spark's type, such as
    ``("a.b", "int", "bigint")``. Nullability and columns that only Spark has are ignored.

    Args:
        path: The path of the compared value; empty for the whole row.
        want: Connect's type.
        got: Spark's type.
    """
    if isinstance(want, T.StructType) and isinstance(got, T.StructType):
        types = types_by_name(got)
        for one in want.fields:
            below = f"{path}.{one.name}".lstrip(".")
            if one.name not in types:
                yield below, one.dataType.simpleString(), "no column"
            else:
                yield from _differences(below, one.dataType, types[one.name])
    elif isinstance(want, T.ArrayType) and isinstance(got, T.ArrayType):
        yield from _differences(f"{path}[]", want.elementType, got.elementType)
    elif isinstance(want, T.MapType) and isinstance(got, T.MapType):
        yield from _differences(f"{path}[key]", want.keyType, got.keyType)
        yield from _differences(f"{path}[*]", want.valueType, got.valueType)
    elif want != got:
        yield path, want.simpleString(), got.simpleString()
