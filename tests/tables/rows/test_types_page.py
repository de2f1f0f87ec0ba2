"""The page of types per format (docs/types.md): its tables are what the code does, cell by cell.

``TYPES_PAGE=write`` writes them anew.
"""

import json
import os
import re
from decimal import Decimal
from pathlib import Path

import pytest

from dagster_smt import FileTopics, TopicTable
from dagster_smt.errors import ConfigError, DataError
from dagster_smt.formats.avro.write import avro_out
from dagster_smt.formats.sides import side_codec
from dagster_smt.model.schema import JavaDate
from dagster_smt.spark.types import spark_type

PAGE = Path(__file__).parents[3] / "docs" / "types.md"
DAY, MOMENT = 18292 * 86_400_000, 1_580_472_000_123
SAMPLES = {
    "BOOLEAN": True,
    "TINYINT": 5,
    "SMALLINT": 5,
    "INT": 5,
    "BIGINT": 5,
    "FLOAT": 0.5,
    "DOUBLE": 0.5,
    "STRING": "text",
    "BYTES": b"abc",
    "DECIMAL(10,2)": Decimal("1.25"),
    "DATE": JavaDate(DAY),
    "TIME(3)": JavaDate(43_200_123),
    "TIMESTAMP(3)": JavaDate(MOMENT),
    "TIMESTAMP_LTZ(3)": JavaDate(MOMENT),
    "ARRAY<INT>": [1, 2],
    "MAP<STRING, INT>": {"k": 1},
    "ROW<x INT>": {"x": 1},
}
TEXTS = {
    "json": ("'format' = 'json'", b'{"a":(.*)}'),
    "json as ISO-8601": ("'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601'", b'{"a":(.*)}'),
    "json as CONNECT": ("'format' = 'json', 'json.timestamp-format.standard' = 'CONNECT'", b'{"a":(.*)}'),
    "csv": ("'format' = 'csv'", b"(.*)"),
    "debezium-json": ("'format' = 'debezium-json'", b'{"before":null,"after":{"a":(.*)},"op":"c"}'),
    "canal-json": ("'format' = 'canal-json'", b'{"data":.{"a":(.*)}.,"type":"INSERT"}'),
}
"""Formats of texts, and where the value stands in what is written."""
READ = {
    "BOOLEAN": {"json": ["false"], "csv": ["TRUE", "1", "0"], "canal-json": ['"1"', '"true"']},
    "INT": {"csv": ["+5", " 5 "], "canal-json": ['"5"']},
    "DOUBLE": {"json": ["1", "1e3", '"NaN"', '"-Infinity"'], "csv": ["1e3", "NaN"], "canal-json": ['"0.5"']},
    "DECIMAL(10,2)": {"json": ["1", "1.255", '"1.25"'], "json as CONNECT": ["1.25"], "debezium-json": ["1.25"],
                      "csv": ["1", "1.255"], "canal-json": ['"1.25"']},
    "DATE": {"json": ["18292"], "canal-json": ["18292"]},
    "TIME(3)": {"json": ['"12:00"', "43200123"], "csv": ["12:00"]},
    "TIMESTAMP(3)": {"json": ['"2020-01-31T12:00:00.123Z"', '"2020-01-31"', "1580472000123"],
                     "csv": ["2020-01-31T12:00:00", "2020-01-31"],
                     "canal-json": ['"2020-01-31"', "1580472000123"]},
}  # fmt: skip
"""What is read beside what is written."""
FAILS = {
    "BOOLEAN": {"json": ["1", '"true"'], "csv": ["yes"]},
    "TINYINT": {"json": ["128", "1.0", '"5"'], "csv": ["128", "1_0"]},
    "DOUBLE": {"json": ["1e400", '"0.5"']},
    "STRING": {"json": ["5", "true"]},
    "DECIMAL(10,2)": {"json": ["123456789.99", '"fQ=="'], "csv": ["1_0"]},
    "DATE": {"json": ['"2020-02-30"', '"20200131"'], "json as CONNECT": ['"2020-01-31"'], "csv": ["20200131"]},
    "TIMESTAMP(3)": {"json": ['"2020-01-31 12:00:00.123456"'], "json as CONNECT": ['"2020-01-31 12:00:00"']},
}
"""Dead letters."""
RAW = "'format' = 'raw'"


def create(kind, options):
    statement = f"CREATE TABLE t (a {kind}) WITH ('topic' = 't', {options})"
    return TopicTable.create(statement, FileTopics("topics")).value


def around(name, pattern, text):
    """The message with a text in place of the value."""
    before, _, after = pattern.decode().partition("(.*)")
    return f"{before}{text}{after}".replace(":.{", ":[{").replace("}.,", "}],").encode()


def inside(value):
    """The column of a value; of a message that of its row."""
    return value["row"]["a"] if "row" in value else value["a"]


def written(kind, name):
    """What is written of the sample, read again; a dash where the format does not have the type."""
    options, pattern = TEXTS[name]
    try:
        form = create(kind, options)
    except ConfigError as error:
        assert error.problems[0].code == "SMT269"
        return "–"
    codec, value = side_codec(form), {"a": SAMPLES[kind]}
    schema = form.schema.by_name.get("row", form.schema)
    data = codec.write(schema, value)
    assert inside(codec.read(data)[1]) == SAMPLES[kind]
    return f"`{re.fullmatch(pattern, data)[1].decode()}`"


def avro(kind):
    """The Avro type, without null and Connect's metadata."""
    field = json.loads(avro_out(create(kind, "'format' = 'avro'").schema).text)[1]["fields"][0]["type"][1]
    if isinstance(field, str):
        return f"`{field}`"
    words = [field["type"], field.get("connect.type") or field.get("logicalType") or ""]
    digits = f"({field['precision']}, {field['scale']})" if "precision" in field else ""
    return f"`{' '.join(filter(None, words))}{digits}`"


def single(kind):
    """What ``raw`` and ksqlDB's ``kafka`` read the type as."""
    try:
        return f"`{create(kind, RAW).kind}`"
    except ConfigError as error:
        assert error.problems[0].code == "SMT269"
        return "–"


def column(kind):
    from dagster_smt.tables.ddl import parse_ddl

    return f"`{spark_type(parse_ddl(f'a {kind}').by_name['a']).simpleString()}`"


def tables():
    """The tables of the page."""
    lines = ["| SQL type | type in Delta or Iceberg | " + " | ".join(TEXTS) + " |"]
    lines += ["|---|---|" + "---|" * len(TEXTS)]
    lines += [f"| `{k}` | {column(k)} | " + " | ".join(written(k, name) for name in TEXTS) + " |" for k in SAMPLES]
    lines += ["", "| SQL type | avro, avro-confluent | raw, kafka |", "|---|---|---|"]
    lines += [f"| `{kind}` | {avro(kind)} | {single(kind)} |" for kind in SAMPLES]
    lines += [
        "",
        "| SQL type | format | other accepted values | values that become dead letters |",
        "|---|---|---|---|",
    ]
    for kind in SAMPLES:
        for name in TEXTS:
            texts = [", ".join(f"`{t}`" for t in group.get(kind, {}).get(name, [])) for group in (READ, FAILS)]
            lines += [f"| `{kind}` | {name} | {texts[0]} | {texts[1]} |"] if any(texts) else []
    return "\n".join(lines)


def test_the_page_says_what_the_code_does():
    text = PAGE.read_text()
    before, rest = text.split("<!-- tables -->\n")
    _, after = rest.split("<!-- end -->")
    expected = f"{before}<!-- tables -->\n{tables()}\n<!-- end -->{after}"
    if os.environ.get("TYPES_PAGE") == "write":
        PAGE.write_text(expected)
    assert PAGE.read_text() == expected, "run it with TYPES_PAGE=write"


ALSO = [(kind, name, text) for kind, names in READ.items() for name, texts in names.items() for text in texts]
NEVER = [(kind, name, text) for kind, names in FAILS.items() for name, texts in names.items() for text in texts]


@pytest.mark.parametrize(("kind", "name", "text"), ALSO)
def test_what_is_read_as_well(kind, name, text):
    options, pattern = TEXTS[name]
    assert inside(side_codec(create(kind, options)).read(around(name, pattern, text))[1]) is not None


@pytest.mark.parametrize(("kind", "name", "text"), NEVER)
def test_what_is_a_dead_letter(kind, name, text):
    options, pattern = TEXTS[name]
    with pytest.raises(DataError, match="SMT41"):
        side_codec(create(kind, options)).read(around(name, pattern, text))
