"""Connectors as people have them: read, surveyed, written as components that load, and reported on the command line."""

import json
import shutil
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import yaml

from dagster_smt.chain import parse_chain
from dagster_smt.cli import main
from dagster_smt.connect import Connector, read_connectors, survey, written_component
from dagster_smt.errors import ConfigError

KAFKA = "org.apache.kafka.connect.transforms."
JSON = "org.apache.kafka.connect.json.JsonConverter"
ORDERS = {
    "connector.class": "FileStreamSink",
    "topics": "orders, returns",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": JSON,
    "value.converter.schemas.enable": "false",
    "transforms": "hide,drop,cdc",
    "transforms.hide.type": f"{KAFKA}MaskField$Value",
    "transforms.hide.fields": "email",
    "transforms.drop.type": f"{KAFKA}ReplaceField$Value",
    "transforms.drop.blacklist": "note",
    "transforms.drop.colour": "red",
    "transforms.cdc.type": "io.debezium.transforms.ContentBasedRouter",
}
SOURCE = {"kafka": {"bootstrap_servers": "localhost:9092"}}


def connector(**changes):
    config = {**ORDERS, **{k.replace("__", "."): v for k, v in changes.items()}}
    return Connector("orders", {k: v for k, v in config.items() if v is not None})


def only(transform, **options):
    chain = {"transforms": "s", "transforms.s.type": f"{KAFKA}{transform}"}
    return Connector(
        "c", {"topics": "t", **chain, **{f"transforms.s.{k.replace('_', '.')}": v for k, v in options.items()}}
    )


BILLS = {"connector.class": "FileStreamSink", "topics": "bills", "fiel": "/x"}
EXPANDED = {
    "orders": {"info": {"name": "orders", "config": ORDERS}, "status": {"connector": {"state": "PAUSED"}}},
    "bills": {
        "info": {"name": "bills", "config": {"connector.class": "FileStreamSink", "topics": "bills", "fiel": "/x"}}
    },
}


@pytest.mark.parametrize(
    ("data", "names"),
    [
        ({"name": "orders", "config": ORDERS}, ["orders"]),
        ({"name": "orders", **ORDERS}, ["orders"]),
        (ORDERS, ["file"]),
        ([{"name": "a", "config": ORDERS}, {"name": "b", "config": ORDERS}], ["a", "b"]),
        (EXPANDED, ["orders", "bills"]),
    ],
)
def test_every_form_that_connectors_come_in(data, names):
    assert [c.name for c in read_connectors(data, "file")] == names


@pytest.mark.parametrize("data", [{}, [], {"orders": {"status": {}}}, "text", None, {"name": "x"}])
def test_what_holds_no_connector_is_refused(data):
    with pytest.raises(ConfigError, match=r"SMT018 file: the file or answer has no connector"):
        read_connectors(data, "file")


def test_a_verdict_for_each_transform():
    hide, drop, cdc = survey(connector())
    assert (hide.part, hide.verdict, hide.text) == ("hide", "exact", "")
    assert drop.verdict == "differs"
    assert "called 'exclude' today" in drop.text
    assert "unknown option 'colour'" in drop.text
    assert cdc.verdict == "not supported"
    assert "it is Debezium's" in cdc.text


@pytest.mark.parametrize(
    ("source", "verdict", "what"),
    [
        (only("Cast$Value", spec="a:int32"), "exact", ""),
        (
            only("MaskField$Value", fields="a.b", field_syntax_version="V2"),
            "differs",
            "ignores it on this transform (D1)",
        ),
        (only("ExtractField$Value", field="a.b", field_syntax_version="V2"), "exact", ""),
        (only("ReplaceField$Value", exclude="a", renames="b:a"), "differs", "(D2)"),
        (only("ReplaceField$Value", renames="b:a"), "exact", ""),
        (only("Cast$Value", spec="a:decimal"), "not supported", "'decimal' is not a target type"),
        (only("MaskFeld$Value", fields="a"), "not supported", "did you mean 'MaskField'"),
    ],
)
def test_verdicts(source, verdict, what):
    (result,) = survey(source)
    assert result.verdict == verdict
    assert what in result.text


def test_predicates_go_with_their_transform():
    with_predicate = connector(
        transforms="hide",
        transforms__hide__predicate="dead",
        transforms__hide__negate="true",
        predicates="dead",
        predicates__dead__type=f"{KAFKA}predicates.RecordIsTombstone",
    )
    hide, *ignored = survey(with_predicate)
    assert hide.verdict == "exact"
    assert {(v.part, v.verdict) for v in ignored} == {("drop", "differs"), ("cdc", "differs")}
    missing = connector(transforms="hide", transforms__hide__predicate="dead")
    assert survey(missing)[0].verdict == "not supported"


def test_a_connector_without_transforms_is_a_chain_without_stages():
    plain = Connector("plain", {"topics": "t"})
    assert survey(plain) == []
    assert parse_chain(plain.chain).stages == ()


def test_the_component_says_what_the_connector_said(tmp_path):
    sink = connector(
        transforms="hide,drop",
        errors__tolerance="all",
        **{"errors.deadletterqueue.topic.name": "dlq"},
    )
    written = written_component(sink, SOURCE)
    folder = written.save(tmp_path)
    attributes = yaml.safe_load((folder / "defs.yaml").read_text())["attributes"]
    assert attributes["asset_key"] == "lake/orders"
    assert attributes["table"] == {
        "source": SOURCE,
        "topics": ["orders", "returns"],
        "key": {"kind": "string"},
        "value": {"kind": "json"},
    }
    assert attributes["sink"] == {"delta": {"path": "lake/orders", "kind": "records"}}
    assert (attributes["errors_tolerance"], attributes["dead_letter_topic"]) == ("all", "dlq")
    assert written.notes == []
    chain = parse_chain(folder / "chain.properties")  # strictly: what Kafka ignores is a comment
    assert [s.transform.configured() for s in chain.stages] == [{"fields": ["email"]}, {"exclude": ["note"]}]
    assert "# Kafka ignores it: transforms.cdc.type=" in (folder / "chain.properties").read_text()
    assert "# Kafka ignores it: transforms.drop.colour=red" in (folder / "chain.properties").read_text()
    with pytest.raises(FileExistsError):
        written.save(tmp_path)


@pytest.mark.parametrize(
    ("changes", "table", "notes"),
    [
        ({"value.converter.schemas.enable": None}, {"value": {"kind": "envelope"}}, []),
        ({"key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter"}, {"key": {"kind": "bytes"}}, []),
        ({"key.converter": None, "value.converter": None}, {"value": {"kind": "json"}}, ["differs", "differs"]),
        (
            {"value.converter": "io.confluent.connect.avro.AvroConverter"},
            {"value": {"kind": "avro-confluent", "options": {"url": "${env:SCHEMA_REGISTRY_URL}"}}},
            ["differs"],
        ),
        ({"value.converter": "com.example.Converter"}, {"value": {"kind": "bytes"}}, ["not supported"]),
        ({"topics": None, "topics.regex": "o.*"}, {"pattern": "o.*"}, []),
        ({"topics": None, "topic.prefix": "shop.db"}, {"pattern": r"shop\.db.*"}, ["differs"]),
    ],
)
def test_converters_and_topics(changes, table, notes):
    written = written_component(connector(**changes), SOURCE)
    assert {name: written.attributes["table"][name] for name in table} == table
    assert [n.verdict for n in written.notes] == notes


def test_properties_are_read_back_as_they_were(tmp_path):
    odd = {"transforms": "r", "transforms.r.type": f"{KAFKA}RegexRouter"}
    odd |= {"transforms.r.regex": r"(\w+)\.#!x = y", "transforms.r.replacement": " $1\tü"}
    folder = written_component(Connector("odd name/1", {"topics": "t", **odd}), SOURCE).save(tmp_path)
    assert folder.name == "odd_name_1"
    (stage,) = parse_chain(folder / "chain.properties").stages
    (same,) = parse_chain(odd).stages
    assert stage.transform == same.transform


# -- the command ------------------------------------------------------------------------------------------------------


def run(capsys, *arguments):
    code = main(["import", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_report_and_the_components(capsys, tmp_path):
    file = tmp_path / "connectors.json"
    file.write_text(json.dumps(EXPANDED))
    code, out, _ = run(capsys, file, "--to", tmp_path / "defs")
    assert code == 1  # a transform is not supported
    assert "orders, paused: 1 exact, 1 differs, 1 not supported" in out
    assert "it is Debezium's" in out
    assert "bills: 0 exact, 2 differs" in out
    files = ["bills", "import.json", "import.md", "orders", "spark.py"]
    assert sorted(p.name for p in (tmp_path / "defs").iterdir()) == files
    shutil.rmtree(tmp_path / "defs" / "bills")
    code, _, err = run(capsys, file, "--to", tmp_path / "defs")
    assert (code, "SMT019" in err) == (1, True)
    assert (tmp_path / "defs" / "bills" / "defs.yaml").exists(), "what is there already does not stop the others"


def test_a_folder_of_connectors_and_lines_of_json(capsys, tmp_path):
    config = {k: v for k, v in ORDERS.items() if not k.startswith(("transforms.drop", "transforms.cdc"))}
    (tmp_path / "a.json").write_text(json.dumps({"name": "a", "config": {**config, "transforms": "hide"}}))
    (tmp_path / "b.properties").write_text("name=b\ntopics=t\ntransforms=\nkey.converter=x.StringConverter\n")
    code, out, _ = run(capsys, tmp_path, "--json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 1
    assert {(x["connector"], x["part"], x["verdict"]) for x in lines if "part" in x} == {
        ("a", "hide", "exact"),
        ("b", "key.converter", "not supported"),
        ("b", "value.converter", "differs"),
    }


class Connect(BaseHTTPRequestHandler):
    def do_GET(self):
        known = self.path == "/connectors?expand=info&expand=status"
        allowed = self.headers.get("Authorization") in (None, "Basic YW5uOnNlY3JldA==")
        self.send_response(200 if known and allowed else 404)
        self.end_headers()
        self.wfile.write(json.dumps({"bills": EXPANDED["bills"]}).encode())

    def log_message(self, *arguments):
        pass


@pytest.fixture
def rest():
    server = HTTPServer(("127.0.0.1", 0), Connect)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("address", ["http://{}", "http://{}/connectors", "http://ann:secret@{}/"])
def test_the_rest_api_of_a_worker(capsys, rest, address):
    code, out, _ = run(capsys, address.format(rest))
    assert (code, out.startswith("bills: 0 exact, 2 differs; options: 1 used, 1 changed, 1 not done")) == (1, True)


@pytest.mark.parametrize("address", ["http://ann:hidden@{}/nothing", "http://ann:hidden@127.0.0.1:1"])
def test_an_address_that_does_not_answer_is_named_without_its_password(capsys, rest, address):
    code, _, err = run(capsys, address.format(rest))
    assert (code, "SMT020" in err, "hidden" in err) == (1, True, False)


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"{", "SMT003"), (b"\xff", "SMT002"), (b"{}", "SMT018")],
)
def test_files_that_are_no_connectors(capsys, tmp_path, content, problem):
    (tmp_path / "c.json").write_bytes(content)
    code, _, err = run(capsys, tmp_path / "c.json")
    assert (code, problem in err) == (1, True)


def test_a_file_or_folder_without_connectors(capsys, tmp_path):
    assert "No such file" in run(capsys, tmp_path / "none.json")[2]
    assert "SMT018" in run(capsys, tmp_path)[2]
