"""The command line: what it prints, and its exit codes."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dagster_smt.cli import main
from dagster_smt.cli.schema_arguments import read_schema
from dagster_smt.errors import ConfigError
from dagster_smt.version import __version__

HERE = Path(__file__).parent
CHAIN = """
transforms=hide,gone
transforms.hide.type=MaskField$Value
transforms.hide.fields=name
transforms.hide.predicate=tombstone
transforms.hide.negate=true
transforms.gone.type=Filter
transforms.gone.predicate=tombstone
predicates=tombstone
predicates.tombstone.type=RecordIsTombstone
"""
SCHEMA = {
    "type": "struct",
    "fields": [{"type": "int32", "field": "id"}, {"type": "string", "optional": True, "field": "name", "default": "?"}],
}
EXPLAINED = """\
input from orders
  value id: int32
  value name: string?
1. hide: MaskField$Value if not tombstone
  masked name
  topic: orders
  value id: int32  <- value.id
  value name: string?  <- value.name
2. gone: Filter if tombstone
  the record is dropped
way into a sink of records: records in Python
way into a table of columns: columns parsed in the JVM, or columns parsed in Python
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A folder with a chain, a schema and records, as the working directory."""
    monkeypatch.chdir(tmp_path)
    texts = {
        "chain.properties": CHAIN,
        "bad.properties": "transforms=a\ntransforms.a.type=MaskFeild$Value\n",
        "spare.properties": CHAIN + "transforms.gone.x=y\n",
        "schema.json": json.dumps(SCHEMA),
        "schema.sql": "id INT NOT NULL,\nname STRING\n",
        "records.jsonl": '{"id":1,"name":"Ann"}\n\n{"id":2,"name":null}\nnull\n{"id":3}\n',
        "broken.json": "{",
        "case.jsonl": (HERE / "parity" / "filter.jsonl").read_text(encoding="utf-8").split("\n")[0] + "\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(files, capsys):
    def call(*arguments):
        code = main(arguments)
        return code, *capsys.readouterr()

    return call


def test_the_version(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"dagster-smt {__version__}\n"


def test_lint(run):
    assert run("lint", "chain.properties") == (0, "chain.properties: 2 stages, no problems\n", "")
    code, out, err = run("lint", "bad.properties", "chain.properties", "none.yaml")
    assert (code, err) == (1, "")
    assert [line.split(":")[0] for line in out.splitlines() if "hint" not in line] == [
        "SMT010 bad.properties", "chain.properties", "SMT002 none.yaml",
    ]  # fmt: skip
    assert "  hint: did you mean 'MaskField'?" in out


def test_lint_with_options_that_kafka_would_ignore(run):
    code, out, _ = run("lint", "spare.properties")
    assert (code, out.splitlines()[0]) == (1, "SMT011 spare.properties: transforms.gone (Filter): unknown option 'x'")
    code, out, _ = run("lint", "spare.properties", "--unknown-options", "warn")
    assert (code, out.splitlines()[:2]) == (
        0, ["spare.properties: 2 stages, no problems", "warning SMT011 transforms.gone (Filter): unknown option 'x'"],
    )  # fmt: skip


@pytest.mark.parametrize("schema", ["id INT NOT NULL, name STRING", "schema.json", "schema.sql"])
def test_explain(run, schema):
    explained = ["explain", "chain.properties", "--schema", schema, "--topic", "orders"]
    assert run(*explained, "--full") == (0, EXPLAINED, "")
    short = EXPLAINED.replace(
        "  topic: orders\n  value id: int32  <- value.id\n  value name: string?  <- value.name\n",
        "  the schema stays as it is\n",
    )
    assert run(*explained) == (0, short, "")


def test_explain_shows_what_changes_and_names_fields_that_no_record_has(run, files):
    (files / "change.properties").write_text(
        "transforms=a,b\ntransforms.a.type=Cast$Value\ntransforms.a.spec=id:int64\n"
        "transforms.b.type=ReplaceField$Value\ntransforms.b.exclude=name,emial\n"
    )
    _, out, _ = run("explain", "change.properties", "--schema", "id INT, name STRING, rest STRING")
    assert "  value id: int64?  <- value.id\n2. b" in out
    assert "  dropped emial  (no record has that field)\n  value name: gone\n" in out
    assert "value rest" not in out.partition("1. a")[2]


def test_lint_with_a_schema_checks_what_the_chain_would_do_to_it(run, files):
    misspelt = ("lint", "chain.properties", "--schema", "id INT, nmae STRING", "--topic", "orders")
    code, out, _ = run(*misspelt)
    assert code == 1 and out.startswith("SMT303 chain.properties: transforms.hide") and "set dead_paths to warn" in out
    code, out, _ = run(*misspelt, "--dead-paths", "warn")
    assert (code, out.split("\n")[0]) == (0, "chain.properties: 2 stages, no problems")
    assert "warning SMT303 transforms.hide (MaskField$Value): no record can have the field 'name'" in out
    assert "warning" not in run("lint", "chain.properties", "--schema", "id INT, name STRING")[1]
    (files / "never.properties").write_text(
        "transforms=a\ntransforms.a.type=ExtractField$Value\ntransforms.a.field=nmae\n"
    )
    code, out, _ = run("lint", "never.properties", "--schema", "name STRING")
    assert code == 1 and "nmae" in out
    assert run("lint", "never.properties")[0] == 0


def test_explain_writes_one_page(run, files):
    text = run("explain", "chain.properties", "--schema", "id INT, `<b>&` STRING, name STRING", "--html", "x.html")
    assert text == (0, "written: x.html\n", "")
    result = (files / "x.html").read_text()
    tree = ElementTree.fromstring(result[result.index("<svg") : result.index("</svg>") + 6])  # well-formed, escaped
    assert [(t.text, t.get("class")) for t in tree.iter("text")] == [
        ("id", ""), ("<b>&", ""), ("name", ""), ("id", ""), ("<b>&", ""), ("name", "masked"),
    ]  # fmt: skip
    assert [t.text for t in tree.iter("title")] == ["id → id", "<b>& → <b>&", "name → name"]
    assert "<b>&" not in result and "unless" in result and "http" not in result
    assert run("explain", "chain.properties", "--html", "y.html")[0] == 0  # without a schema: no picture
    run("explain", "chain.properties", "--schema", "id INT, name STRING", "--html", "short.html")
    run("explain", "chain.properties", "--schema", "id INT, name STRING", "--html", "full.html", "--full")
    short, full = (Path(f"{name}.html").read_text() for name in ("short", "full"))
    assert (short.count("value id: "), full.count("value id: ")) == (1, 2)
    assert "<svg" not in (files / "y.html").read_text()


def test_explain_without_a_schema(run):
    code, out, _ = run("explain", "chain.properties")
    assert (code, out.splitlines()[:2]) == (0, ["input", "  value: JSON without schema; unknown fields pass untouched"])
    assert out.splitlines()[-1] == "way into a sink of records: records in the JVM"
    _, out, _ = run("explain", "chain.properties", "--schema", "id INT, name STRING")
    assert out.splitlines()[-2:] == [
        "way into a sink of records: records in Python",
        "way into a table of columns: columns parsed in the JVM, or columns parsed in Python",
    ]


def test_explain_says_which_stage_keeps_records_out_of_the_jvm(run, files):
    options = "type=io.debezium.transforms.HeaderToValue headers=a fields=b operation=copy"
    lines = ["transforms=mine", *(f"transforms.mine.{option}" for option in options.split())]
    (files / "flat.properties").write_text("\n".join(lines))
    _, out, _ = run("explain", "flat.properties")
    slower = "records run in Python, which takes several times as long"
    assert out.splitlines()[-2] == "way into a sink of records: records in Python"
    assert out.splitlines()[-1] == f"{slower}: transforms.mine (HeaderToValue) has Python code"


TABLES = {
    "one topic": (["--topic", "shop.a"], "lake.{topic}", ["records of topic shop.a go to lake.shop_2ea"]),
    "a path": (["--topic", "shop.a"], "s3a://lake/{topic}", ["records of topic shop.a go to s3a://lake/shop.a"]),
    "any topic": ([], "lake/{topic}", ["the records choose the topic, and each topic has a table: lake/{topic}"]),
    "a table": (["--topic", "shop.a"], "lake/orders", ["all records go to lake/orders"]),
}


@pytest.mark.parametrize(("arguments", "sink", "expected"), TABLES.values(), ids=TABLES)
def test_explain_names_the_tables_of_a_sink(run, arguments, sink, expected):
    code, out, _ = run("explain", "chain.properties", "--schema", "schema.sql", "--sink", sink, *arguments)
    assert (code, [line for line in out.splitlines() if line in expected]) == (0, expected)


def test_explain_names_the_tables_after_a_router(run, files):
    router = "transforms=r\ntransforms.r.type=RegexRouter\ntransforms.r.regex=shop.(.*)\ntransforms.r.replacement=$1\n"
    (files / "route.properties").write_text(router)
    tables = ["--sink", "lake.{topic}", "--topic", "shop.a"]
    assert "records of topic a go to lake.a" in run("explain", "route.properties", "--schema", "id INT", *tables)[1]
    assert "the records choose the topic" in run("explain", "route.properties", *tables)[1]  # no plan without a schema
    field = "transforms=r\ntransforms.r.type=io.confluent.connect.transforms.ExtractTopic$Value\ntransforms.r.field=k\n"
    (files / "field.properties").write_text(field)
    out = run("explain", "field.properties", "--schema", "k STRING", *tables)[1]
    assert "at most 1000 tables (max_tables), and 250 new ones of a run (max_new_tables)" in out


def test_explain_refuses_a_topic_without_a_table(run):
    arguments = ("explain", "chain.properties", "--schema", "schema.sql", "--topic", "_smt_progress")
    assert run(*arguments, "--sink", "lake/{topic}")[2].startswith("SMT731")
    assert run(*arguments, "--sink", "{topic}/{topic}")[2].startswith("SMT730")


def test_preview(run):
    code, out, _ = run("preview", "chain.properties", "records.jsonl", "--topic", "t")
    assert (code, out.splitlines()) == (0, [
        "t-0@0",
        "  input                topic   t",
        '                       value   {"id":1,"name":"Ann"}',
        '  hide                 ~ value.name  "Ann" → ""',
        "  gone                 (predicate: skipped)",
        "  output               topic   t",
        '                       value   {"id":1,"name":""}',
        "t-0@1",
        "  input                topic   t",
        '                       value   {"id":2,"name":null}',
        "  hide                 (no change)",
        "  gone                 (predicate: skipped)",
        "  output               topic   t",
        '                       value   {"id":2,"name":null}',
        "t-0@2",
        "  input                topic   t",
        "                       value   null",
        "  hide                 (predicate: skipped)",
        "  gone                 (dropped)",
    ])  # fmt: skip
    code, out, _ = run("preview", "chain.properties", "records.jsonl", "--limit", "2", "--schema", "schema.json")
    assert out.splitlines()[-1].strip() == 'value   {"id":2,"name":""}'


def test_preview_of_whole_records_shows_key_headers_and_topic(run, files):
    (files / "odd.properties").write_text(
        "transforms=route,note,drop\n"
        "transforms.route.type=RegexRouter\ntransforms.route.regex=(.*)\ntransforms.route.replacement=clean.$1\n"
        "transforms.note.type=InsertHeader\ntransforms.note.header=by\ntransforms.note.value.literal=us\n"
        "transforms.drop.type=ReplaceField$Value\ntransforms.drop.exclude=b\n"
    )
    record = {"key": "k", "value": {"a": 1, "b": [2, {"c": 3}]}, "headers": [{"key": "h", "value": "x"}]}
    (files / "whole.jsonl").write_text(json.dumps(record))
    code, out, _ = run("preview", "odd.properties", "whole.jsonl", "--records", "--topic", "orders")
    assert (code, out.splitlines()) == (0, [
        "orders-0@0",
        "  input                topic   orders",
        "                       key     k",
        "                       header  h = x",
        '                       value   {"a":1,"b":[2,{"c":3}]}',
        "  route                ~ topic  orders → clean.orders",
        "  note                 + header[1] by  us",
        "  drop                 - value.b[0]  2",
        "                       - value.b[1].c  3",
        "  output               topic   clean.orders",
        "                       key     k",
        "                       header  h = x",
        "                       header  by = us",
        '                       value   {"a":1}',
    ])  # fmt: skip


CHANGES = [
    {"key": "1", "value": {"id": 1, "name": "Ann"}},
    {"key": "2", "value": {"id": 2, "name": "Bob"}},
    {"key": "1", "value": {"id": 1, "name": "Anna"}},
    {"key": "2", "value": None},
    {"key": None, "value": {"id": None, "name": "Eve"}},
]


def test_preview_of_a_table_with_keys_says_what_each_record_does_to_its_row(run, files):
    (files / "nothing.properties").write_text("transforms=\n")
    (files / "changes.jsonl").write_text("".join(json.dumps(change) + "\n" for change in CHANGES))

    def effects(*arguments):
        code, out, _ = run("preview", "nothing.properties", "changes.jsonl", "--records", "--limit", "9", *arguments)
        lines = out.splitlines()
        return code, [line.split("table ", 1)[1].strip() for line in lines if line.startswith("  table ")], lines[-2:]

    refused = "dead letter: SMT720 a column of the record's key is null, so the table has no row for the record"
    assert effects("--mode", "upsert", "--keys", "id") == (
        1,
        ["insert", "insert", "update: name", "delete", refused],
        [
            "one run over these records, one change for each key: "
            "1 rows inserted, 0 updated, 0 deleted, 2 events superseded, 1 deletions of keys without a row",
            "as if the table were empty: preview does not look at its rows",
        ],
    )
    assert effects("--mode", "upsert", "--keys", "id", "--deletes", "ignore")[1][3:] == [
        "ignored: the table ignores deletions",
        refused,
    ]
    assert effects("--mode", "scd2", "--keys", "id")[1][2:4] == [
        "close the version, begin another: name",
        "delete: close the version",
    ]
    assert effects()[1] == []


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--keys", "id"], "SMT700 keys"),
        (["--mode", "scd2", "--sequence-by", "id"], "SMT700 sequence_by"),
        (["--mode", "upsert", "--keys", "no", "--schema", "id INT"], "SMT702 keys: no"),
        (["--mode", "upsert", "--key", "json"], "SMT701 keys"),
        (["--mode", "upsert", "--schema", "id INT"], "SMT701 keys"),
    ],
)
def test_preview_of_a_table_with_keys_refuses_what_a_run_refuses(run, arguments, code):
    result, _, error = run("preview", "chain.properties", "records.jsonl", *arguments)
    assert (result, error.startswith(code)) == (1, True), error


def test_preview_of_a_table_with_keys_reads_envelopes(run, files):
    (files / "nothing.properties").write_text("transforms=\n")
    key = {"schema": {"type": "struct", "fields": [{"field": "id", "type": "int32"}]}, "payload": {"id": 1}}
    record = {"key": key, "value": {**key, "payload": {"id": 1}}}
    (files / "changes.jsonl").write_text(f"{json.dumps(record)}\n{json.dumps({**record, 'value': None})}\n")
    kinds = ("--records", "--key", "envelope", "--value", "envelope", "--mode", "upsert")
    code, out, _ = run("preview", "nothing.properties", "changes.jsonl", *kinds)
    effects = [line.split()[1] for line in out.splitlines() if line.startswith("  table ")]
    assert (code, effects) == (0, ["insert", "delete"])


def test_preview_of_file_topics_shows_the_last_records_or_those_from_an_offset_on(run, files):
    (files / "new.jsonl").write_text("".join(f'{{"id":{n},"name":"x"}}\n' for n in range(5)))
    run("append", "topics", "orders", "new.jsonl", "--values")
    for arguments, places in (
        (("--limit", "2"), ["orders-0@3", "orders-0@4"]),
        (("--limit", "2", "--offset", "1"), ["orders-0@1", "orders-0@2"]),
    ):
        code, out, _ = run("preview", "chain.properties", "topics", "--topic", "orders", *arguments)
        assert (code, [line for line in out.splitlines() if not line.startswith(" ")]) == (0, places)
    assert "SMT538" in run("preview", "chain.properties", "topics", "--topic", "orders", "--offset", "9")[2]
    assert "SMT042" in run("preview", "chain.properties", "topics")[2]
    assert run("preview", "chain.properties", "topics", "--topic", "none")[0] == 1


def test_preview_fails_where_a_record_does_and_warns_of_what_the_plan_sees(run, files):
    (files / "bad.jsonl").write_text('{"name":{"no":"text"}}\n{')
    code, out, _ = run("preview", "chain.properties", "bad.jsonl")
    assert (code, "SMT411 value.converter" in out) == (1, True)
    code, out, _ = run("preview", "chain.properties", "records.jsonl", "--schema", "id BIGINT")
    assert "warning SMT303" in out


@pytest.mark.parametrize("limit", ["0", "-1", "x"])
def test_preview_of_no_records_is_wrong_usage(run, limit):
    with pytest.raises(SystemExit):
        run("preview", "chain.properties", "records.jsonl", "--limit", limit)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("chain:\n  - {alias: hide, type: MaskField$Value}", "move the contents of 'chain' to the top of the file"),
        ("chain: {transforms: hide}", "move the contents of 'chain' to the top of the file"),
        ("type: x\nattributes: {chain: chain.properties}", "use the file that its 'chain' names"),
        ("a: b", "list the aliases"),
    ],
)
def test_files_with_a_chain_somewhere_else(run, files, text, hint):
    (files / "x.yaml").write_text(text)
    code, out, _ = run("lint", "x.yaml")
    assert code == 1 and out.startswith("SMT004 x.yaml") and hint in out


def test_list(run):
    code, out, _ = run("list")
    assert code == 0 and "](" not in out + run("list", "MaskField")[1], "links lead nowhere on a terminal"
    assert re.search(r"^  MaskField +\$Key, \$Value Replace field values", out, re.MULTILINE)
    assert re.search(r"^    fields +Fields to mask\. \(required\)$", out, re.MULTILINE)
    assert re.search(r"^    field\.syntax\.version .*\(default: V1\)$", out, re.MULTILINE)
    heads = [line for line in re.findall(r"^\w.*", out, re.MULTILINE) if line.endswith(" of Apache Kafka")]
    assert heads == ["transforms of Apache Kafka", "predicates of Apache Kafka"]
    assert re.search(r"^  RecordIsTombstone +True if", out, re.MULTILINE)


@pytest.mark.parametrize("name", ["ReplaceField", "replacefield", "org.apache.kafka.connect.transforms.ReplaceField"])
def test_list_one(run, name):
    code, out, _ = run("list", name)
    assert code == 0
    assert "class: org.apache.kafka.connect.transforms.ReplaceField" in out
    assert "exclude" in out and "Before Kafka 4.0: blacklist." in out
    assert "MaskField" not in out


def test_list_of_a_name_that_is_not_there(run):
    code, _, err = run("list", "ReplaceFeld")
    assert (code, "did you mean 'ReplaceField'?" in err) == (1, True)


def test_parity(run, files):
    code, out, _ = run("parity", "case.jsonl")
    assert (code, out.splitlines()[0].split()) == (
        0,
        ["transform", "mode", "cases", "equal", "deliberate", "different", "unsupported"],
    )
    code, out, _ = run("parity", "case.jsonl", "--report", "json")
    report = json.loads(out)
    assert (code, set(report)) == (
        0,
        {"cases", "equal", "different", "deliberate", "unsupported", "by_transform", "details"},
    )
    assert (report["cases"], report["equal"], report["details"]) == (1, 1, [])
    case = json.loads((files / "case.jsonl").read_text())
    case["expect"] = {"results": [{"record": record} for record in case["records"]]}
    (files / "wrong.jsonl").write_text(json.dumps(case))
    code, out, _ = run("parity", "wrong.jsonl", "--report", "json")
    (detail,) = json.loads(out)["details"]
    assert (code, detail["verdict"], set(detail)) == (1, "different", {"id", "verdict", "transforms", "mode", "reason"})


LINES = [
    '{"key":"k","value":{"a":1.0,"b":"\u2028"},"timestamp":5,"headers":[{"key":"h","value":"x"},{"key":"n"}]}',
    '{"value":null}',
    "",
    '{"key":{"base64":"/w=="},"value":"text"}',
]


def test_append(run, files):
    (files / "new.jsonl").write_text("\n".join(LINES), encoding="utf-8")
    assert run("append", "topics", "orders", "new.jsonl", "--partition", "1") == (
        0,
        "orders-1: 3 records from offset 0\n",
        "",
    )
    assert (
        run("append", "topics", "orders", "new.jsonl", "--partition", "1")[1] == "orders-1: 3 records from offset 3\n"
    )
    (segment, _) = sorted((files / "topics" / "orders" / "1").glob("*.jsonl"))
    first, tombstone, binary = map(json.loads, segment.read_text(encoding="utf-8").rstrip("\n").split("\n"))
    assert (first["key"], first["value"], first["timestamp"], first["offset"]) == ("k", '{"a":1.0,"b":"\u2028"}', 5, 0)
    assert [h["key"] for h in first["headers"]] == ["h", "n"]
    assert (tombstone["value"], binary["value"], binary["key"]) == (None, "text", {"base64": "/w=="})


NO_RECORDS = [
    ("{", "the line is not JSON: "),
    ("[]", "the line is not a JSON object"),
    ("7", "the line is not a JSON object"),
    ('{"vlaue":1}', "a record has no field 'vlaue'; its fields are key, value, timestamp, headers"),
    ('{"timestamp":1}', "the record has neither key nor value"),
    ('{"value":1,"timestamp":"2024-01-01"}', "timestamp is not a whole number of milliseconds"),
    ('{"value":1,"timestamp":true}', "timestamp is not a whole number of milliseconds"),
    ('{"value":1,"headers":[1]}', "headers are not a list of {key, value}"),
    ('{"value":1,"headers":{"a":1}}', "headers are not a list of {key, value}"),
    ('{"value":1,"headers":[{}]}', "headers are not a list of {key, value}"),
    ('{"value":1,"headers":[{"key":"h","value":{"base64":"*"}}]}', "a header's value is not base64"),
    ('{"value":{"base64":"*"}}', "value is not base64"),
    ('{"key":{"base64":7}}', "key is not base64"),
]


@pytest.mark.parametrize(("line", "statement"), NO_RECORDS)
def test_append_names_a_line_that_is_no_record_before_anything_is_written(run, files, line, statement):
    (files / "new.jsonl").write_text('{"value":"secret"}\n' + line)
    code, out, err = run("append", "topics", "orders", "new.jsonl")
    assert (code, out) == (1, "")
    assert err.startswith(f"SMT540 new.jsonl line 2: {statement}")
    assert "secret" not in err
    assert not list((files / "topics").rglob("*.jsonl"))


def test_append_names_many_lines_at_once_but_not_thousands(run, files):
    (files / "new.jsonl").write_text('{"vlaue":1}\n' * 1000)
    err = run("append", "topics", "orders", "new.jsonl")[2]
    assert err.count("SMT540") == 10


def test_records_that_were_read_can_be_appended_again(run, files):
    (files / "new.jsonl").write_text('{"topic":"a","partition":3,"offset":9,"timestampType":0,"value":1,"key":null}')
    assert run("append", "topics", "orders", "new.jsonl")[0] == 0


def test_append_bare_values(run, files):
    (files / "new.jsonl").write_text('{"id": 1}\n"text"\n\n7\n')
    assert run("append", "topics", "orders", "new.jsonl", "--values")[1] == "orders-0: 3 records from offset 0\n"
    (segment,) = (files / "topics" / "orders" / "0").glob("*.jsonl")
    rows = [json.loads(line) for line in segment.read_text().splitlines()]
    assert [(r["key"], r["value"]) for r in rows] == [(None, '{"id": 1}'), (None, '"text"'), (None, "7")]
    (files / "new.jsonl").write_text("no json")
    assert "the line is not JSON" in run("append", "topics", "orders", "new.jsonl", "--values")[2]


WRONG = [
    (["explain", "bad.properties"], "SMT010 bad.properties: transforms.a: unknown transform class 'MaskFeild$Value'"),
    (
        ["explain", "chain.properties", "--schema", "broken.json"],
        "SMT003 broken.json: the file is not valid json: "
        "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
    ),
    (["explain", "chain.properties", "--schema", "none.json"], "none.json: No such file or directory"),
    (["preview", "chain.properties", "none.jsonl"], "none.jsonl: No such file or directory"),
    (["parity", "none.jsonl"], "none.jsonl: No such file or directory"),
    (["parity", "records.jsonl"], "SMT003 a line of the files is not a parity case: 'config'"),
    (["append", "topics", "orders", "none.jsonl"], "none.jsonl: No such file or directory"),
]


@pytest.mark.parametrize(("arguments", "problem"), WRONG, ids=[" ".join(w[0]) for w in WRONG])
def test_problems_go_to_standard_error_without_a_trace(run, arguments, problem):
    code, out, err = run(*arguments)
    assert (code, out, err.splitlines()[0]) == (1, "", problem)


BROKEN = {
    "not UTF-8": b"\xff\xfe\xff = {",
    "half of JSON": b"{",
    "half of YAML": b"a: [",
    "nested": b"[" * 1_500,  # deeper than Python's stack; ten times as many take PyYAML a hundred times as long
    "no mapping": b"[1]",
    "empty": b"",
}
FILES = [
    *(["lint", f"FILE.{end}"] for end in ("properties", "json", "yaml")),
    *(["explain", "chain.properties", "--schema", f"FILE.{end}"] for end in ("json", "sql")),
    ["explain", "chain.properties", "--table", "FILE.sql"],
    ["explain", "chain.properties", "--policy", "FILE.yaml"],
    ["preview", "chain.properties", "FILE.jsonl"],
    ["preview", "chain.properties", "FILE.jsonl", "--records"],
    ["scan", "records.jsonl", "--topic", "orders", "--table", "FILE.sql"],
    ["scan", "records.jsonl", "--topic", "orders", "--write", "FILE.yaml"],
    ["append", "topics", "orders", "FILE.jsonl"],
    ["topics", "127.0.0.1:1", "--command-config", "FILE.properties"],
    *(["import", f"FILE.{end}", "--sample", "0"] for end in ("json", "yaml")),
    ["import", "connector.json", "--sample", "0", "--worker", "FILE.properties"],
    *(["certify", f"FILE.{end}", "records.jsonl", "--no-spark"] for end in ("properties", "json", "yaml")),
    *(
        ["certify", "chain.properties", "records.jsonl", "--no-spark", "--connector", f"FILE.{end}"]
        for end in ("json", "yaml")
    ),
    ["certify", "chain.properties", "records.jsonl", "--no-spark", "--table", "FILE.sql"],
]


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("arguments", FILES, ids=[" ".join(words) for words in FILES])
def test_a_broken_file_is_a_problem_with_a_code(run, files, monkeypatch, arguments, text):
    monkeypatch.setattr("dagster_smt.tables.kafka.client.KafkaClient.names", lambda client: [])
    monkeypatch.setattr("dagster_smt.certify.certify", lambda *_, **__: pytest.skip("the file is not broken"))
    (files / "connector.json").write_text('{"name": "o", "config": {"connector.class": "FileStreamSink"}}')
    for word in arguments:
        if word.startswith("FILE."):
            (files / word).write_bytes(text)
    code, out, err = run(*arguments)
    assert code == 0 or re.search(r"SMT\d{3} ", out + err), out + err


def test_certify_names_the_problem_of_a_broken_connector(run):
    certified = run("certify", "chain.properties", "records.jsonl", "--no-spark", "--connector", "broken.json")
    assert certified[0] == 2 and certified[2].startswith("SMT003 broken.json: ")


@pytest.mark.parametrize(
    "arguments", [[], ["linte"], ["lint"], ["parity", "x", "--report", "xml"], ["preview", "x", "y", "--limit", "a"]]
)
def test_wrong_usage(run, arguments):
    with pytest.raises(SystemExit) as caught:
        run(*arguments)
    assert caught.value.code == 2


def test_schemas_are_read_from_ddl_or_a_file(files):
    assert read_schema(None) is read_schema("") is None
    schema = read_schema("schema.json")
    assert [(n, s.label, s.default) for n, s in schema.fields] == [("id", "int32", None), ("name", "string?", "?")]
    assert [(n, s.label) for n, s in read_schema("id INT NOT NULL, name STRING").fields] == [
        ("id", "int32"),
        ("name", "string?"),
    ]
    with pytest.raises(ConfigError):
        read_schema("id NOTYPE")


def test_it_is_explained_what_is_not_read(run, files):
    (files / "orders.sql").write_text(TABLE.replace("WITH (", "WITH ('scan.push-down' = 'no-tombstones', "))
    (files / "new.properties").write_text(
        "transforms=new\ntransforms.new.type=io.confluent.connect.transforms.Filter$Value\n"
        "transforms.new.filter.type=exclude\ntransforms.new.filter.condition=$[?(@.offset < 100)]\n"
    )
    code, out, _ = run("explain", "new.properties", "--table", "orders.sql")
    assert code == 0
    assert "push-down is no-tombstones\nstage 'new' keeps records by offset: only offsets from 100\n" in out


TABLE = """CREATE TABLE orders (
  id BIGINT, name STRING, `offset` BIGINT METADATA VIRTUAL, trace INT HEADER('trace-id')
) WITH ('topic' = 'orders', 'header.trace.decode' = 'int_from_bytes')"""


def test_a_topic_table_stands_for_the_schema(run, files):
    (files / "orders.sql").write_text(TABLE)
    code, out, _ = run("explain", "chain.properties", "--table", "orders.sql")
    assert code == 0 and [line.split() for line in out.splitlines()[:6]] == [
        ["columns", "of", "the", "topic", "table"],
        ["column", "type", "read", "from", "written", "to"],
        ["id", "int64?", "value", "field", "id", "value"],
        ["name", "string?", "value", "field", "name", "value"],
        ["offset", "int64?", "metadata", "'offset'"],
        ["trace", "int32?", "header", "'trace-id',", "int_from_bytes", "header", "'trace-id'"],
    ]
    assert "value trace: int32?  <- headers.trace-id" in out and "push-down" not in out
    assert run("lint", "chain.properties", "--table", "orders.sql")[:2] == (
        0, "chain.properties: 2 stages, no problems\n",
    )  # fmt: skip
    assert run("explain", "chain.properties", "--table", "orders.sql", "--html", "t.html")[0] == 0
    (files / "values.jsonl").write_text('{"id":1,"name":"ann","more":2}\n')
    code, out, _ = run("preview", "chain.properties", "values.jsonl", "--table", "orders.sql")
    assert code == 0 and "offset" in out and "more" not in out.split("columns")[1]
    assert "SMT270 --schema" in run("explain", "chain.properties", "--table", "orders.sql", "--schema", "a INT")[2]
    assert "row of each" not in run("explain", "chain.properties", "--table", "orders.sql")[1]
    (files / "wrong.sql").write_text("CREATE TABLE t (a INTT)")
    assert "wrong.sql at character" in run("explain", "chain.properties", "--table", "wrong.sql")[2]


def test_a_topic_table_may_make_rows_of_arrays(run, files):
    (files / "orders.sql").write_text(
        TABLE.replace("WITH (", "WITH ('format' = 'json', 'json.arrays-as-rows' = 'true',")
    )
    _, out, _ = run("explain", "chain.properties", "--table", "orders.sql")
    assert "\na value that is an array: a row of each of its elements\ninput" in out
    (files / "values.jsonl").write_text('[{"id":1,"name":"ann"},{"id":2,"name":"bob"}]\n[]\n')
    code, out, _ = run("preview", "chain.properties", "values.jsonl", "--table", "orders.sql")
    heads = [line for line in out.splitlines() if line.startswith("preview-0@")]
    assert (code, heads) == (0, ["preview-0@0", "preview-0@0", "preview-0@1"])
    assert '"id":2' in out and "(an array without elements: no row)" in out
