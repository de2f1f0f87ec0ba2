"""Columns of topic tables: text, mappings and statements that mean the same, and what is refused."""

from pathlib import Path

import pytest

from dagster_smt.errors import ConfigError
from dagster_smt.model.topics.columns import (
    HEADER_LIST,
    RECORD_METADATA,
    Column,
    HeaderValue,
    Metadata,
    decoder,
    describe_columns,
)
from dagster_smt.model.topics.format import Format
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.rows.column_texts import parse_columns
from dagster_smt.tables.sink_of_statement import sink_of_statement
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink
from dagster_smt.tables.topic_table import FileTopics, TopicTable

FILES = FileTopics(Path("topics"))


def table(columns, **changes):
    return TopicTable(FILES, ("t",), columns=columns, **changes)


def problems(make, *args, **changes):
    with pytest.raises(ConfigError) as caught:
        make(*args, **changes)
    return [(p.code, p.place, p.statement) for p in caught.value.problems]


# -- three spellings that mean the same ------------------------------------------------------------------------------

TEXT = """
    id BIGINT NOT NULL,
    name STRING COMMENT 'who',
    at TIMESTAMP(3) WITH LOCAL TIME ZONE METADATA FROM 'timestamp',
    offset BIGINT METADATA VIRTUAL,
    headers ARRAY<STRUCT<key STRING, value BYTES>> HEADERS,
    trace BYTES HEADER('trace-id'),
    region STRING KEY
"""
MAPPING = {
    "id": "BIGINT NOT NULL",
    "name": "STRING COMMENT 'who'",
    "at": {"type": "TIMESTAMP_LTZ(3)", "metadata": "timestamp"},
    "offset": {"type": "BIGINT", "metadata": True, "virtual": True},
    "headers": {"type": HEADER_LIST, "headers": True},
    "trace": {"type": "VARBINARY(16)", "header": "trace-id"},
    "region": "VARCHAR(5) KEY",
}
STATEMENT = f"CREATE TABLE IF NOT EXISTS `shop`.orders ({TEXT}) COMMENT 'of a shop' WITH ('topic' = 't');"


def test_text_mapping_and_statement_mean_the_same():
    one, other, third = table(TEXT), table(MAPPING), TopicTable.create(STATEMENT, FILES)
    assert one == other == third
    assert [(c.name, c.origin, c.virtual) for c in one.columns] == [
        ("id", "", False),
        ("name", "", False),
        ("at", "timestamp", False),
        ("offset", "offset", True),
        ("headers", "headers", False),
        ("trace", "headers.trace-id", False),
        ("region", "", False),
    ]
    assert (one.key_fields, one.value_fields_include) == (("region",), "EXCEPT_KEY")
    assert table(one.columns, key_fields=("region",), value_fields_include="EXCEPT_KEY") == one
    value = one.value.schema
    assert one.value.kind == "json_schema" and value is not None and [n for n, _ in value.fields] == ["id", "name"]
    assert not value.by_name["id"].optional and value.by_name["name"].doc == "who"


NAMES = ("@ID", "MESSAGE.AMOUNT", "SELECT", "a b", 'say "hi"', "tick`", "Name", "name", "größe", "", "METADATA", "key")


def test_any_name():
    quoted = ", ".join(f'"{n}" BIGINT'.replace('say "hi"', 'say ""hi""') for n in NAMES)
    backticks = ", ".join(f"`{n.replace('`', '``')}` BIGINT" for n in NAMES)
    for text in (quoted, backticks):
        assert [c.name for c in parse_columns(text)[0]] == list(NAMES)
    assert [c.name for c in table(dict.fromkeys(NAMES, "BIGINT")).columns] == list(NAMES)


KEY_FIELDS = [
    ("a;b", ("a", "b")),
    (" a ; ;b; ", ("a", "b")),
    ("`a`", ("a",)),
    ("`a;b`;` c `; d ;``;`say ``hi```;e f", ("a;b", " c ", "d", "", "say `hi`", "e f")),
    ("tick`", ("tick`",)),
]


@pytest.mark.parametrize(("text", "names"), KEY_FIELDS, ids=[text for text, _ in KEY_FIELDS])
def test_key_fields_name_any_column(text, names):
    columns = ", ".join(f"`{name.replace('`', '``')}` BIGINT" for name in (*names, "other"))
    result = create(f"CREATE TABLE t ({columns}) WITH ('key.format' = 'json', 'key.fields' = '{text}')")
    assert result.key_fields == names


@pytest.mark.parametrize("text", ["`a", "a;`b;c", "`a`b", "`a``;b"])
def test_a_name_in_backticks_has_an_end(text):
    result = problems(
        create, f"CREATE TABLE t (a INT, b INT, c INT) WITH ('key.format'='json', 'key.fields' = '{text}')"
    )
    assert result == [("SMT270", "WITH 'key.fields'", "a name in backticks does not end")]


def test_a_header_may_have_no_name():
    one, other = table({"h": {"type": "BYTES", "header": ""}}), table("h BYTES HEADER('')")
    assert one == other and one.columns[0].source == HeaderValue("")
    assert [code for code, *_ in problems(table, {"h": {"type": "INT", "metadata": ""}})] == ["SMT263"]
    off = {"h": {"type": "INT", "header": None, "metadata": False, "headers": False}}
    assert table(off).columns[0].source is None


def test_words_of_clauses_are_names_too():
    names = ("watermark", "unique", "check", "metadata", "virtual", "headers", "header", "key", "comment", "from")
    columns, keys = parse_columns(", ".join(f"{name} INT" for name in names))
    assert [c.name for c in columns] == list(names) and keys == ()


# -- KLIP Kafka headers, "CREATE STREAM" ------------------------------------------------------------------------------


def create(statement):
    return TopicTable.create(statement, FILES)


def test_klip_headers_whole_list():
    result = create(f"CREATE STREAM A (my_headers {HEADER_LIST} HEADERS);")
    assert result.columns[0].source == Metadata("headers") and result.value == Format()


def test_klip_headers_type_must_be_exact():
    ((code, _, statement),) = problems(create, "CREATE STREAM B (my_headers ARRAY<BYTES> HEADERS);")
    assert code == "SMT264" and statement.endswith(f"must be typed as {HEADER_LIST}")


def test_klip_headers_single_keys():
    result = create("CREATE STREAM B (value BYTES HEADER('key'), value_2 BYTES HEADER('key_2'));")
    assert [c.source for c in result.columns] == [HeaderValue("key"), HeaderValue("key_2")]


def test_klip_headers_are_not_converted_by_themselves():
    """KLIP "Rejected alternatives": ``latest_version INT HEADER('version')``."""
    ((code, _, statement),) = problems(create, "CREATE STREAM FOO2 (latest_version INT HEADER('version'));")
    assert (code, statement) == ("SMT266", "a header's bytes become int32 only with a decoder")
    decoded = "CREATE STREAM FOO2 (v INT HEADER('version')) WITH ('header.v.decode' = 'INT_FROM_BYTES(LITTLE_ENDIAN)')"
    assert create(decoded).columns[0].source == HeaderValue("version", decode="INT_FROM_BYTES(LITTLE_ENDIAN)")


def test_klip_headers_mix_freely():
    """ksqlDB takes HEADERS or HEADER('…'), and each key once; here there is no reason to."""
    whole = f"a {HEADER_LIST} HEADERS, b MAP<STRING, BYTES> METADATA FROM 'headers'"
    assert len(table(f"{whole}, c BYTES HEADER('k'), d BYTES HEADER('k')").columns) == 4


def test_klip_quoted_identifiers():
    """KLIP quoted identifiers: the statement over its sample record."""
    result = create(
        'CREATE STREAM foo ("@ID" BIGINT, "@NAME" STRING, "MESSAGE.AMOUNT" DOUBLE, "SELECT" STRING) '
        "WITH (KAFKA_TOPIC='foo', VALUE_FORMAT = 'JSON');"
    )
    assert [c.name for c in result.columns] == ["@ID", "@NAME", "MESSAGE.AMOUNT", "SELECT"] and result.topics == (
        "foo",
    )


# -- what WITH says --------------------------------------------------------------------------------------------------

WITH = [
    ("'topic' = 'a; b'", {"topics": ("a", "b")}),
    ("'topic-pattern' = 'a.*'", {"pattern": "a.*"}),
    ("'connector' = 'kafka', 'format' = 'json'", {}),
    ("'key.format' = 'json', 'key.fields' = 'id', 'value.fields-include' = 'EXCEPT_KEY'", {"key_fields": ("id",)}),
    (
        "'key.fields' = 'id;name', 'key.format' = 'json', 'fields.verify-integrity' = 'true'",
        {"fields_verify_integrity": True},
    ),
    (
        "'key.fields' = 'id;name', 'key.format' = 'json', 'fields.verify-integrity' = 'check'",
        {"fields_verify_integrity": "check"},
    ),
    ("'scan.startup.mode' = 'latest-offset'", {"start": "latest"}),
    ("'scan.startup.mode' = 'timestamp', 'scan.startup.timestamp-millis' = '17'", {"start": "17"}),
    ("FORMAT = 'JSON'", {}),
]


@pytest.mark.parametrize(("options", "expected"), WITH)
def test_options_of_statements(options, expected):
    result = create(f"CREATE TABLE t (id BIGINT, name STRING) WITH ({options})")
    assert {name: getattr(result, name) for name in expected} == expected


def test_a_statement_can_name_the_cluster():
    text = (
        "CREATE TABLE t (id BIGINT) WITH ('connector' = 'kafka', 'topic' = 't', 'properties.group.id' = 'g', "
        "'properties.bootstrap.servers' = 'localhost:9092', 'properties.security.protocol' = 'SSL', "
        "'scan.startup.mode' = 'group-offsets', 'format' = 'json')"
    )
    result = TopicTable.create(text, on_data_loss="gap")
    assert result.source == KafkaTopics("localhost:9092", {"kafka.security.protocol": "SSL"})
    assert (result.start, result.on_data_loss) == ("group:g", "gap")


REFUSED_OPTIONS = [
    ("'connector' = 'upsert-kafka'", "'upsert-kafka' is not supported"),
    ("'format' = 'orc'", "'orc' is not supported"),
    ("'json.ignore-parse-errors' = 'true'", "is not supported"),  # of a format that is not chosen
    ("'format' = 'json', 'json.ignore-parse-errors' = 'true'", "is not supported"),
    ("'value.format' = 'json', 'value.json.fail-on-missing-field' = 'TRUE'", "is not supported"),
    ("'format' = 'csv', 'csv.ignore-parse-errors' = 'true'", "is not supported"),
    ("'sink.partitioner' = 'fixed'", "is not supported"),
    ("PARTITIONS = 3", "is not supported"),
    ("'scan.startup.mode' = 'specific-offsets'", "only a run config can set 'specific-offsets'"),
    ("'scan.startup.mode' = 'timestamp'", "needs scan.startup.timestamp-millis"),
    ("'scan.startup.mode' = 'whenever'", "'whenever' is not supported"),
    ("'header.nobody.decode' = 'utf8'", "there is no such column"),
    ("'header.id.decode' = 'utf8'", "is not an option of this column"),
    ("'what' = 'ever'", "is not supported"),
    ("'properties.bootstrap.servers' = 'x:1'", "repeats the place of the topics"),
]


@pytest.mark.parametrize(("option", "statement"), REFUSED_OPTIONS)
def test_options_that_mean_something_else_are_refused_by_name(option, statement):
    ((code, place, result),) = problems(create, f"CREATE TABLE t (id BIGINT) WITH ({option})")
    assert (code, result) == ("SMT270", statement) and place.startswith("WITH '")


@pytest.mark.parametrize("formats", ["", "'format' = 'json', ", "'value.format' = 'json', "])
def test_flinks_way_to_lose_records_has_a_hint_wherever_it_stands(formats):
    with pytest.raises(ConfigError) as caught:
        create(f"CREATE TABLE t (id BIGINT) WITH ({formats}'json.ignore-parse-errors' = 'true')")
    assert [(p.place, "dead_letter_topic" in p.hint) for p in caught.value.problems] == [
        ("WITH 'json.ignore-parse-errors'", True)
    ]


REFUSED = [
    ("CREATE TABLE t (id INT, PRIMARY KEY (id))", "SMT267", "PRIMARY KEY without NOT ENFORCED"),
    ("CREATE TABLE t (id INT PRIMARY KEY)", "SMT267", "PRIMARY KEY without NOT ENFORCED"),
    ("CREATE TABLE t (id INT, CONSTRAINT k UNIQUE (id) NOT ENFORCED)", "SMT267", "CONSTRAINT"),
    ("CREATE TABLE t (id INT, PRIMARY KEY (name) NOT ENFORCED)", "SMT267", "PRIMARY KEY (name)"),
    ("CREATE TABLE t (id INT PRIMARY KEY NOT ENFORCED, PRIMARY KEY (id) NOT ENFORCED)", "SMT267", "a second PRIMARY"),
    ("CREATE TABLE t (at TIMESTAMP(3), WATERMARK FOR at AS at - INTERVAL '5' SECOND)", "SMT267", "WATERMARK"),
    ("CREATE TABLE t (a INT, b AS a + 1)", "SMT267", "AS"),
    ("CREATE TABLE t (a INT) PARTITIONED BY (a", "SMT250", "PARTITIONED BY"),
    ("CREATE TABLE t (a INT) LIKE other", "SMT267", "LIKE"),
    ("CREATE STREAM t AS SELECT a FROM other", "SMT267", "AS"),
    ("CREATE OR REPLACE STREAM t (a INT)", "SMT267", "OR REPLACE"),
    ("CREATE VIEW v", "SMT250", "CREATE TABLE or CREATE STREAM is expected"),
    ("INSERT INTO t VALUES (1)", "SMT250", "CREATE is expected"),
    ("CREATE TABLE t (a INT) WITH ('topic' 't')", "SMT250", "= after topic"),
    ("CREATE TABLE t (a INT) WITH ('topic' = 't'); CREATE TABLE u (a INT)", "SMT250", "one statement"),
    ("CREATE TABLE t (a INT METADATA FROM offset)", "SMT250", "a text in single quotes"),
    ("CREATE TABLE t (a INTT)", "SMT251", "INTT"),
    ("CREATE TABLE t (a INT) WITH ('topic' = 't', 'topic' = 'u')", "SMT252", "'topic' appears twice"),
    ("CREATE TABLE t (a INT) WITH ('topic' = 't", "SMT250", "ends inside a quoted text"),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "code", "what"), REFUSED)
def test_clauses_that_mean_something_else_are_refused_by_name(statement, code, what):
    result = problems(create, statement)
    assert result[0][0] == code and what in result[0][2], result


HINTS = [
    ("CREATE TABLE t (h ARRAY<ROW<key STRING, value BYTES>> METADATA FROM 'header-list')", "SMT263",
     f"declare it {HEADER_LIST} METADATA FROM 'headers'"),
    ("CREATE TABLE t (id INT, name INT) WITH ('key.format' = 'json', 'key.fields' = 'id, name')", "SMT261",
     "a semicolon separates names: 'id;name'"),
    ("CREATE TABLE t (id INT, name INT) WITH ('key.format' = 'json', 'key.fields' = 'id, what')", "SMT261",
     "physical columns are: id, name"),
    ("CREATE STREAM s (ROWTIME BIGINT, v INT)", "SMT267", "declare it METADATA FROM 'timestamp'"),
    ("CREATE STREAM s (v INT, RowPartition INT)", "SMT267", "declare it METADATA FROM 'partition'"),
    ("CREATE SOURCE STREAM s (rowoffset BIGINT, v INT)", "SMT267", "declare it METADATA FROM 'offset'"),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "code", "hint"), HINTS)
def test_what_other_dialects_write_is_refused_with_what_to_write_here(statement, code, hint):
    with pytest.raises(ConfigError) as caught:
        create(statement)
    ((result, shown),) = [(p.code, p.hint) for p in caught.value.problems]
    assert result == code and shown.startswith(hint)


def test_names_of_pseudo_columns_can_be_meant():
    """In backticks they are fields, as metadata they are columns; Flink's tables may have fields of these names."""
    result = create("CREATE STREAM s (`ROWTIME` BIGINT, ROWOFFSET BIGINT METADATA FROM 'offset', v INT)")
    assert [c.origin for c in result.columns] == ["", "offset", ""]
    assert create("CREATE TABLE t (rowtime BIGINT)").columns[0].source is None
    assert table("ROWTIME BIGINT").columns[0].source is None


@pytest.mark.parametrize("type_", ["MAP<STRING NOT NULL, BYTES>", "MAP<STRING NOT NULL, BYTES> NOT NULL"])
def test_headers_typed_as_flink_shows_them(type_):
    assert create(f"CREATE TABLE t (h {type_} METADATA FROM 'headers')").columns[0].source == Metadata("headers")


def test_all_problems_of_a_statement_at_once():
    text = "CREATE TABLE t (a INTT, PRIMARY KEY (a), h ARRAY<BYTES> HEADERS, b AS 1)"
    assert [code for code, *_ in problems(create, text)] == ["SMT251", "SMT267", "SMT264", "SMT267"]


# -- what a row refuses ----------------------------------------------------------------------------------------------

WRONG = [
    ({"columns": "a INT, a BIGINT"}, "SMT260"),
    ({"columns": "a INT", "key_fields": ("b",)}, "SMT261"),
    ({"columns": "a INT METADATA FROM 'offset'", "key_fields": ("a",)}, "SMT261"),
    ({"columns": "a INT, k_b INT", "key_fields": ("a",), "key_fields_prefix": "k_",
      "value_fields_include": "EXCEPT_KEY"}, "SMT261"),
    ({"columns": "k_b STRING", "key_fields": ("k_b",), "key_fields_prefix": "k_"}, "SMT261"),
    ({"columns": "a INT", "fields_verify_integrity": True}, "SMT261"),
    ({"columns": "a INT", "key_fields": ("a",), "fields_verify_integrity": "yes"}, "SMT261"),
    ({"columns": "a INT", "value_fields_include": "SOME"}, "SMT261"),
    ({"columns": "", "key_fields": ("a",)}, "SMT261"),
    ({"columns": "a INT VIRTUAL"}, "SMT262"),
    ({"columns": "a INT METADATA"}, "SMT263"),
    ({"columns": "e STRING METADATA FROM 'leader-epoch'"}, "SMT264"),
    ({"columns": "a STRING METADATA FROM 'timestamp'"}, "SMT264"),
    ({"columns": "a DECIMAL(20, 0) METADATA FROM 'offset'"}, "SMT264"),
    ({"columns": "a INT METADATA FROM 'timestamp-type'"}, "SMT264"),
    ({"columns": "a MAP<STRING, STRING> METADATA FROM 'headers'"}, "SMT264"),
    ({"columns": {"a": {"type": "MAP<STRING, BYTES>", "headers": True, "duplicates": "all"}}}, "SMT264"),
    ({"columns": {"a": {"type": "MAP<STRING, BYTES>", "headers": True, "duplicates": "some"}}}, "SMT265"),
    ({"columns": {"a": {"type": "BYTES", "header": "k", "match": "some"}}}, "SMT265"),
    ({"columns": {"a": {"type": "BYTES", "header": "k", "match": "all"}}}, "SMT265"),
    ({"columns": {"a": {"type": "BYTES", "header": "k", "match": 0}}}, "SMT265"),
    ({"columns": {"a": {"type": "BYTES", "header": "k", "match": -1}}}, "SMT265"),
    ({"columns": {"a": {"type": "BYTES", "header": "k", "match": True}}}, "SMT265"),
    ({"columns": {"a": {"type": "BYTES", "header": "k", "match": 2**31}}}, "SMT265"),
    ({"columns": {"a": {"type": "MAP<STRING, BYTES>", "headers": True, "duplicates": "2"}}}, "SMT265"),
    ({"columns": {"a": {"type": "BYTES", "header": "k", "decode": "gzip"}}}, "SMT266"),
    ({"columns": {"a": {"type": "BIGINT", "header": "k", "decode": "int_from_bytes"}}}, "SMT266"),
    ({"columns": {"a": {"type": "INT", "header": "k", "metadata": "offset"}}}, "SMT268"),
    ({"columns": {"a": {"type": "INT", "decode": "utf8"}}}, "SMT268"),
    ({"columns": {"a": {"header": "k"}}}, "SMT268"),
    ({"columns": {"a": 5}}, "SMT268"),
    ({"columns": "a INT", "value": Format("string")}, "SMT269"),
    ({"columns": "a INT, b INT", "value": Format("string")}, "SMT269"),
    ({"columns": "a STRING, b INT KEY, c INT KEY", "key": Format("string")}, "SMT269"),
    ({"columns": "a DATE", "value": Format("bytes")}, "SMT269"),
    ({"columns": "a BIGINT", "value": Format("integer")}, "SMT269"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "code"), WRONG)
def test_rows_that_cannot_be(source, code):
    assert [c for c, *_ in problems(TopicTable, FILES, ("t",), **source)] == [code]


def test_every_metadata_type_is_taken():
    names = {"Timestamp": "TIMESTAMP", "int64": "BIGINT", "int32": "INT", "string": "STRING"}
    for key, known in RECORD_METADATA.items():
        for kind in known.types:
            policy = {"duplicates": "all"} if "ARRAY<BYTES>" in kind else {}
            assert table({"c": {"type": names.get(kind, kind), "metadata": key, **policy}}).columns[0].origin == key


def test_one_of_several_headers_by_its_number():
    one, other = (table({"h": {"type": "BYTES", "header": "k", "match": match}}) for match in (2, "2"))
    assert one == other == create("CREATE STREAM t (h BYTES HEADER('k')) WITH ('topic' = 't', 'header.h.match' = '2')")
    assert describe_columns(one.row)[0][2] == "number 2 of header 'k', bytes"


@pytest.mark.parametrize("text", ["", "nothing", "utf8(BIG_ENDIAN)", "int_from_bytes(MIDDLE)", "int_from_bytes()"])
def test_what_is_no_decoder(text):
    assert decoder(text) is None


def test_a_column_made_in_python():
    schema = table("a BIGINT").columns[0].schema
    assert table((Column("a", schema, Metadata("offset"), virtual=True),)).row.columns[0].origin == "offset"


KEYS = [
    ("id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED", ("id",)),
    ("id INT PRIMARY KEY NOT ENFORCED, name STRING", ("id",)),
    ("region STRING, id INT NOT NULL, CONSTRAINT k PRIMARY KEY (region, `id`) NOT ENFORCED", ("region", "id")),
    ("id INT, `PRIMARY KEY` STRING", ()),
]


@pytest.mark.parametrize(("columns", "key"), KEYS)
def test_a_statement_may_name_the_key_of_the_sink(columns, key):
    table = create(f"CREATE TABLE t ({columns}) WITH ('topic' = 't', 'format' = 'json')")
    assert (table.primary_key, len(table.columns)) == (key, 2)
    if key:
        assert sink_of_statement(DeltaSink("x", "columns", mode="upsert"), table).keys == key
        assert sink_of_statement(DeltaSink("x", "columns", mode="scd2", keys=key), table).keys == key


def test_a_statement_may_name_the_partitions_of_the_sink():
    table = create(
        "CREATE TABLE t (id INT, at TIMESTAMP(3)) COMMENT 'c' PARTITIONED BY (bucket(16, id), day(at)) "
        "WITH ('topic' = 't', 'format' = 'json')"
    )
    assert table.partitioned_by == ("bucket(16, id)", "day(at)")
    sink = sink_of_statement(IcebergSink("x", "columns"), table)
    assert sink.partition_by == table.partitioned_by and sink_of_statement(sink, table) == sink


@pytest.mark.parametrize(
    ("sink", "statement"),
    [
        (DeltaSink("x", "columns"), "the sink has no keys"),
        (DeltaSink("x", "columns", mode="upsert", keys=["name"]), "the sink names other keys"),
        (DeltaSink("x", "columns", mode="upsert", partition_by=["name"]), "the sink names other partitions"),
        (FileTopics(Path("x")), "the sink has no partitions"),
    ],
)
def test_a_sink_that_contradicts_its_statement_is_an_error(sink, statement):
    columns = "(id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED) PARTITIONED BY (id)"
    table = create(f"CREATE TABLE t {columns} WITH ('topic' = 't', 'format' = 'json')")
    with pytest.raises(ConfigError, match=statement) as caught:
        sink_of_statement(sink, table)
    assert {problem.code for problem in caught.value.problems} == {"SMT267"}
