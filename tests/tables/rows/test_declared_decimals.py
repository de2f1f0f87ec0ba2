"""The digits that columns declare of decimals: half of one is rounded up, and more than them are a dead letter."""

from dataclasses import replace
from decimal import Decimal

import pytest
from pyspark.sql.types import DecimalType, StringType, StructField, StructType

from dagster_smt import FileTopics, TopicTable
from dagster_smt.chain.schema_merge import merge
from dagster_smt.errors import DataError, TableError
from dagster_smt.formats.sides import side_codec
from dagster_smt.model.schema import Schema, Type, decimal
from dagster_smt.model.topics.format import Format
from dagster_smt.run.batch import run
from dagster_smt.run.contract import contract_problems
from dagster_smt.spark.types import spark_type
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.schemas import evolved_schema
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.sources.file_writer import NewRecord
from tests.run.world import World

TABLE = "CREATE TABLE t (a DECIMAL(10, 2), b DECIMAL(38, 38), c DECIMAL(5)) WITH ('topic' = 't', 'format' = '%s')"
AROUND = {
    "json": '{"a":%s}',
    "canal-json": '{"data":[{"a":"%s"}],"type":"INSERT"}',
    "debezium-json": '{"before":null,"after":{"a":%s},"op":"c"}',
    "csv": "%s,0,0",
}
NUMBERS = {
    "1": "1.00", "1.5": "1.50", "1.25": "1.25", "1.255": "1.26", "-1.255": "-1.26", "1.2549999": "1.25",
    "0.004": "0.00", "-0.004": "0.00", "99999999.99": "99999999.99", "99999999.994": "99999999.99",
    "1e2": "100.00", "1e-400": "0.00", "1e7": "10000000.00",
    "99999999.995": None, "-99999999.995": None, "100000000": None, "123456789.99": None, "1e8": None, "1e999999": None,
}  # fmt: skip
"""What Flink makes of a number in DECIMAL(10, 2); None: it makes a null of it, here it is a dead letter."""


@pytest.mark.parametrize("kind", AROUND)
@pytest.mark.parametrize(("number", "expected"), NUMBERS.items())
def test_numbers_get_the_digits_of_their_column(kind, number, expected):
    codec = side_codec(TopicTable.create(TABLE % kind, FileTopics("topics")).value)
    data = (AROUND[kind] % number).encode()
    if expected is None:
        with pytest.raises(DataError, match=r"SMT414.*more digits than DECIMAL\(10, 2\)") as error:
            codec.read(data)
        assert number not in str(error.value)
        return
    _, value = codec.read(data)
    assert str(value.get("row", value)["a"]) == expected


def test_an_avro_sink_takes_what_json_has():
    table = TopicTable.create(TABLE % "json", FileTopics("topics"))
    avro = side_codec(Format("avro", table.value.schema))
    for number in ("1", "1.5", "1.25", "1.255"):
        schema, value = side_codec(table.value).read(b'{"a":%s}' % number.encode())
        assert avro.read(avro.write(schema, value))[1]["a"] == Decimal(NUMBERS[number])


COLUMNS = {"DECIMAL(10, 2)": "decimal(10,2)", "DECIMAL": "decimal(10,0)", "DECIMAL(38, 38)": "decimal(38,38)"}


@pytest.mark.parametrize(("declared", "column"), COLUMNS.items())
def test_columns_of_a_table_have_the_digits(declared, column):
    schema = parse_ddl(f"a {declared}, b ARRAY<{declared}>, c STRUCT<d: {declared}>")
    assert spark_type(schema).simpleString() == f"struct<a:{column},b:array<{column}>,c:struct<d:{column}>>"


ODD = {"10": 10, "2": 2, "38": 38, "1": None, "39": None, "64": None, "0": None, "-5": None, "²": None, "": None}


@pytest.mark.parametrize(("text", "digits"), ODD.items())
def test_digits_that_a_source_tells_in_the_schemas_parameters(text, digits):
    """Debezium's ``connect.decimal.precision``, or what somebody else has put there."""
    schema = decimal(2).with_(parameters=(("connect.decimal.precision", text), ("scale", "2")))
    assert schema.precision == digits
    assert spark_type(schema).simpleString() == f"decimal({digits or 38},2)"


def test_two_decimals_become_the_one_with_more_digits():
    narrow, wide, any_ = decimal(2, 5), decimal(2, 9), decimal(2)
    for one, other, expected in [(narrow, wide, wide), (wide, narrow, wide), (narrow, any_, any_), (any_, wide, any_)]:
        problems = []
        merged = merge(one, other.with_(optional=True), "", problems)
        assert (merged, problems) == (expected.with_(optional=True), [])
    inner = [Schema(Type.STRUCT, fields=(("l", Schema(Type.ARRAY, values=kind)),)) for kind in (narrow, wide)]
    assert merge(*inner, "", []) == inner[1]


def _table(precision, scale=2):
    return StructType([StructField("a", DecimalType(precision, scale)), StructField("s", StringType())])


@pytest.mark.parametrize(("there", "new", "after"), [
    (_table(38), _table(10), _table(38)), (_table(10), _table(10), _table(10)),
    (_table(10), _table(12), None), (_table(38), _table(10, 3), None),
])  # fmt: skip
def test_a_table_with_more_digits_stays_as_it_is(there, new, after):
    sink = DeltaSink("t", "columns")
    if after is None:
        with pytest.raises(TableError, match="SMT521 a"):
            evolved_schema(sink, there, new, case_sensitive=False)
        return
    assert evolved_schema(sink, there, new, case_sensitive=False) == after


def test_a_table_with_more_digits_keeps_its_contract():
    promised = parse_ddl("a DECIMAL(10, 2), s STRING")
    assert contract_problems(promised, _table(38)) == {}
    assert list(contract_problems(promised, _table(38, 3))) == ["a"]


@pytest.mark.long
@pytest.mark.spark
def test_a_table_of_declared_decimals_and_one_that_has_more_digits(spark, tmp_path):
    world = World(tmp_path, spark)
    numbers = ["1.255", "123456789.99", "-7", "null"]

    def runs(digits, place):
        world.add(*(NewRecord(b"k", b'{"a":%s}' % text.encode()) for text in numbers))
        columns = f"CREATE TABLE t (a DECIMAL({digits}, 2)) WITH ('topic' = 'orders', 'format' = 'json')"
        table, sink = TopicTable.create(columns, world.topics), DeltaSink(tmp_path / place, "columns")
        spec = world.spec({"transforms": ""}, errors_tolerance="all")
        report = run(replace(spec, table=table, sink=sink), spark)
        rows = spark.read.format("delta").load(str(tmp_path / place))
        results = sorted("null" if row.a is None else str(row.a) for row in rows.collect())
        return report.failed, dict(rows.dtypes)["a"], results

    assert runs(38, "wide") == (0, "decimal(38,2)", ["-7.00", "1.26", "123456789.99", "null"])
    assert runs(10, "wide") == (1, "decimal(38,2)", sorted(["-7.00", "1.26", "null"] * 2 + ["123456789.99"]))
    assert runs(10, "narrow") == (3, "decimal(10,2)", sorted(["-7.00", "1.26", "null"] * 3))
