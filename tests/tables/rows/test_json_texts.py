"""Days, moments and decimals in JSON that columns declare: as texts or as Connect's numbers, in both evaluators."""

import json
from decimal import Decimal

import pyarrow as pa
import pytest

from dagster_smt import FileTopics, Format, TopicTable
from dagster_smt.errors import ConfigError, DataError
from dagster_smt.formats.sides import side_codec
from dagster_smt.spark.reading.json_columns import ReadColumns, SideColumns

DAY, NOON = 18292, 1580472000000
MILLIS = NOON + 123
DATES = {
    '"2020-01-31"': (DAY, None), "18292": (DAY, DAY), "-1": (-1, -1), '"1969-12-31"': (-1, None),
    '"0001-01-01"': (-719162, None), '"9999-12-31"': (2932896, None), '"+12020-01-31"': (3670717, None),
    '"2020-02-30"': (None, None), '"2020-1-31"': (None, None), '"20200131"': (None, None), '""': (None, None),
    '"18292"': (None, None), '"2020-01-31 12:00:00"': (None, None), "1.5": (None, None), "true": (None, None),
    '"999999999-01-01"': (None, None), "2147483648": (None, None), '" 2020-01-31"': (None, None),
}  # fmt: skip
"""Of a text its day under SQL and ISO-8601, and under CONNECT; None: a dead letter."""
MOMENTS = {
    '"2020-01-31 12:00:00.123"': (MILLIS, None), '"2020-01-31T12:00:00.123"': (MILLIS, None),
    '"2020-01-31 12:00:00"': (NOON, None), '"2020-01-31T12:00:00Z"': (NOON, None),
    '"2020-01-31T13:00:00+01:00"': (NOON, None), '"2020-01-31T07:00-0500"': (NOON, None),
    '"2020-01-31 12:00:00.1"': (NOON + 100, None), '"2020-01-31 12:00:00.123000"': (MILLIS, None),
    "1580472000123": (MILLIS, MILLIS), '"2020-01-31"': (NOON - 43_200_000, None),
    '"2020-01-31 12:00:00.123456"': (None, None), '"2020-01-31 24:00:00"': (None, None),
    '"2020-01-31 12:60:00"': (None, None), '"noon"': (None, None), '"1580472000123"': (None, None),
    '"999999999-01-01 00:00:00"': (None, None), "1.5": (None, None), "{}": (None, None),
}  # fmt: skip
DECIMALS = {
    "1.25": ("1.25", "1.25"), "-3": ("-3.00", "-3.00"), "1e2": ("100.00", "100.00"), '"1.25"': ("1.25", None),
    '"1234"': ("1234.00", "-26588.24"), '"fQ=="': (None, "1.25"), '"1_0"': (None, None), '""': (None, None),
    "1.255": ("1.26", "1.26"), "-1.255": ("-1.26", "-1.26"), "1.2549": ("1.25", "1.25"), "-0.001": ("0.00", "0.00"),
    "99999999.994": ("99999999.99", "99999999.99"), '"1.255"': ("1.26", None), "1e-999999": ("0.00", "0.00"),
    '"NaN"': (None, None), "true": (None, None), "[]": (None, None),
}  # fmt: skip
CASES = [("DATE", *case) for case in DATES.items()]
CASES += [("TIMESTAMP(3)", *case) for case in MOMENTS.items()]
CASES += [("DECIMAL(10, 2)", *case) for case in DECIMALS.items()]


def form_of(columns, standard=None, kind="json", **options):
    option = "" if standard is None else f", '{kind}.timestamp-format.standard' = '{standard}'"
    option += "".join(f", '{kind}.{name}' = '{text}'" for name, text in options.items())
    statement = f"CREATE TABLE t ({columns}) WITH ('topic' = 't', 'format' = '{kind}'{option})"
    return TopicTable.create(statement, FileTopics("topics")).value


def number(kind, value):
    """A value of Python as the table of cases has it."""
    if value is None:
        return None
    if kind == "DATE":
        return int(value) // 86_400_000
    return str(value) if kind.startswith("DECIMAL") else int(value)


COLUMNS = {"a": "f0", "days": "f1", "r": "f2"}


def inside(place, value):
    """What an array or row of one value holds; else the value."""
    if place == "days":
        return value[0]
    return next(iter(value.values())) if place == "r" else value


def on_spark(form, texts):
    """What Spark's columns hold, without a session: the column, and why texts could not be read."""
    side = SideColumns("value", form, form.schema)
    batch = pa.record_batch({"value": pa.array(texts, pa.binary())})
    (result,) = ReadColumns((side,), ())([batch])
    return result.column(side.column).to_pylist(), result.column(side.bad).to_pylist()


@pytest.mark.parametrize("standard", [None, "SQL", "ISO-8601", "CONNECT", "connect"])
@pytest.mark.parametrize(("kind", "text", "expected"), CASES)
def test_each_text_is_read_as_the_option_says(kind, text, expected, standard):
    form = form_of(f"a {kind}, days ARRAY<{kind}>, r ROW<b {kind}>", standard)
    target = expected[(standard or "").upper() == "CONNECT"]
    read = side_codec(form).read
    for place, around in (("a", "%s"), ("days", "[%s]"), ("r", '{"b":%s}')):
        data = f'{{"{place}":{around % text}}}'.encode()
        rows, bad = on_spark(form, [data])
        if target is None:
            with pytest.raises(DataError) as error:
                read(data)
            assert "timestamp-format.standard" in error.value.problem.hint
            problem = error.value.problem
            assert (bad[0]["code"], bad[0]["hint"]) == (problem.code, problem.hint) == ("SMT414", problem.hint)
            continue
        assert number(kind, inside(place, read(data)[1][place])) == target
        assert bad == [None]
        plain = inside(place, rows[0][COLUMNS[place]])
        assert plain is not None
        if not kind.startswith("DECIMAL"):
            assert int(plain) == int(target)


def test_columns_in_python_mean_the_same():
    files = FileTopics("topics")
    declared = TopicTable(files, topics=("t",), columns="at TIMESTAMP")
    assert declared.value == form_of("at TIMESTAMP(3)", "SQL")
    other = TopicTable(
        files, topics=("t",), columns="at TIMESTAMP", value=Format(options={"timestamp-format.standard": "CONNECT"})
    )
    assert other.value.text_standard == ""


ROW = '{"d":"2020-01-31","t":"2020-01-31 12:00:00.123","n":1.25}'
WRITTEN = {
    "SQL": ROW,
    "ISO-8601": ROW.replace(" ", "T"),
    "CONNECT": '{"d":18292,"t":1580472000123,"n":"fQ=="}',
}


@pytest.mark.parametrize("kind", ["json", "canal-json", "debezium-json"])
@pytest.mark.parametrize(("standard", "written"), WRITTEN.items())
def test_what_is_written_is_read_again(kind, standard, written):
    form = form_of("d DATE, t TIMESTAMP(3), n DECIMAL(10, 2)", standard, kind)
    around = {"json": "%s", "canal-json": '{"data":[%s],"type":"INSERT"}'}
    around["debezium-json"] = '{"before":null,"after":%s,"op":"c"}'
    codec = side_codec(form)
    row = '{"d":18292,"t":1580472000123,"n":1.25}' if standard == "CONNECT" else ROW
    schema, value = codec.read((around[kind] % row).encode())
    inner = (schema, value) if kind == "json" else (schema.by_name["row"], value["row"])
    data = codec.write(*inner)
    assert data == (around[kind] % written).encode()
    if kind == "canal-json" and standard == "CONNECT":
        return  # Canal's texts are numbers: it has no base64
    assert codec.read(data)[1] == value


def test_decimals_are_written_with_an_exponent_or_without():
    def written(number, **options):
        codec = side_codec(form_of("n DECIMAL(38, 9)", **options))
        return codec.write(form_of("n DECIMAL(38, 9)").schema, {"n": Decimal(number)})

    plain = {"encode.decimal-as-plain-number": "true"}
    assert (written("1E+2"), written("1E-9")) == (b'{"n":1E+2}', b'{"n":1E-9}')
    assert (written("1E+2", **plain), written("1E-9", **plain)) == (b'{"n":100}', b'{"n":0.000000001}')
    with pytest.raises(DataError, match="SMT415"):
        written("1e999999", **plain)


def test_envelopes_and_declared_schemas_stay_connects():
    schema = form_of("d DATE, n DECIMAL(10, 2)").schema
    codec = side_codec(Format("json_schema", schema))
    assert codec.read(b'{"d":18292,"n":"fQ=="}')[1] == {"d": DAY * 86_400_000, "n": Decimal("1.25")}
    with pytest.raises(DataError) as error:
        codec.read(b'{"d":"2020-01-31"}')
    assert "json.timestamp-format.standard = SQL" in error.value.problem.hint
    field = {"type": "int32", "name": "org.apache.kafka.connect.data.Date", "version": 1}
    with pytest.raises(DataError) as error:
        side_codec(Format("envelope")).read(json.dumps({"schema": field, "payload": "2020-01-31"}).encode())
    assert error.value.problem.hint == ""


def test_other_words_are_refused_by_the_options_name():
    for option in ({"timestamp-format.standard": "RFC"}, {"encode.decimal-as-plain-number": "yes"}):
        for kind in ("json", "debezium-json", "canal-json"):
            with pytest.raises(ConfigError) as error:
                form_of("d DATE", kind=kind, **option)
            assert error.value.problems[0].place == f"{kind}.{next(iter(option))}"
