"""Paths, SQL, expressions, subprocesses and HTTP: hostile texts do no harm, and a new place of a kind is noticed."""

import ast
import re
from pathlib import Path

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.cli.schema_arguments import read_schema
from dagster_smt.errors import ConfigError, SmtError
from dagster_smt.formats.protobuf import text as protobuf_text
from dagster_smt.model.topics.topic_names import takes_records
from dagster_smt.orchestration.definitions.op_names import op_name
from dagster_smt.orchestration.definitions.translator import topic_keys
from dagster_smt.orchestration.resources import SESSION_CONF
from dagster_smt.spark.sql import quoted, text
from dagster_smt.tables.sql import literal
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from dagster_smt.values.java.regex import compile_java
from tests.hostile.texts import HOSTILE
from tests.package_code import ROOT, calls, quoting_strings

_SUBSTITUTE = "spark.sql.variable.substitute"
TEXTS = pytest.mark.parametrize("text_", HOSTILE.values(), ids=HOSTILE.keys())


@TEXTS
def test_a_topic_of_files_stays_below_its_folder(text_, tmp_path):
    if takes_records(text_, "kafka"):
        assert (tmp_path / text_).resolve().parent == tmp_path.resolve()
        assert len(text_) < 250 and text_.isascii()


@TEXTS
def test_names_in_dagster(text_):
    """Keys of topics, and names of ops that are made of them."""
    for table in (TopicTable(FileTopics(Path("x")), topics=(text_,)), TopicTable(FileTopics(Path("x")), pattern=text_)):
        for key in topic_keys(table):
            assert re.fullmatch(r"[A-Za-z0-9_]+", op_name(key))


@TEXTS
def test_a_file_that_a_registry_names_stays_in_its_folder(text_, tmp_path):
    """``protoc`` gets the whole path, so no name is one of its options."""
    if protobuf_text._NAME.fullmatch(text_):
        assert "\x00" not in text_ and ".." not in Path(text_).parts
        assert (tmp_path / text_).is_relative_to(tmp_path)


@TEXTS
def test_an_expression_of_others_is_one_or_is_refused(text_):
    try:
        compile_java(text_)
    except ConfigError as error:
        assert [p.code for p in error.problems] == ["SMT021"]


@pytest.mark.parametrize("name", ["chain.json", "chain.yaml"])
def test_a_file_that_is_nested_too_deeply(tmp_path, name):
    depth = 20_000 if name == "chain.json" else 1_200  # a scanner of YAML takes the square of it
    (tmp_path / name).write_text("[" * depth)
    with pytest.raises(SmtError, match="SMT003"):
        parse_chain(tmp_path / name)
    with pytest.raises(SmtError, match="SMT003"):
        read_schema(str(tmp_path / "chain.json")) if name == "chain.json" else parse_chain(tmp_path / name)


def test_texts_and_names_in_spark_sql(spark):
    """All in one statement, with and without backslashes as escapes; half of a character is none in Spark either."""
    texts = [t for t in HOSTILE.values() if "\ud800" not in t]
    columns = [f"{text(t)} AS {quoted(f'{n} {t[:100]}')}" for n, t in enumerate(texts)]
    for escaped in ("false", "true"):
        spark.conf.set("spark.sql.parser.escapedStringLiterals", escaped)
        spark.conf.set(
            _SUBSTITUTE, SESSION_CONF[_SUBSTITUTE]
        )  # nothing within backticks keeps ${…} from being replaced
        try:
            row = spark.sql(f"SELECT {', '.join(columns)}").first()
        finally:
            spark.conf.unset("spark.sql.parser.escapedStringLiterals")
            spark.conf.unset(_SUBSTITUTE)
        assert list(row) == texts
        assert row.__fields__ == [f"{n} {t[:100]}" for n, t in enumerate(texts)]
    assert list(spark.sql(f"SELECT {', '.join(map(literal, texts))}").first()) == texts


# -- a new place is noticed -------------------------------------------------------------------------------------------


def of_no_constant(node):
    return bool(node.args) and not isinstance(node.args[0], ast.Constant)


PLACES = {
    "statements of SQL that hold names": (
        lambda name, node: name.endswith(".sql") and of_no_constant(node),
        "connect/takeover/connector_table.py connect/takeover/shadow.py "
        "tables/locations.py tables/maintenance/delta.py tables/maintenance/iceberg.py tables/sinks/delta.py "
        "tables/sinks/iceberg.py tables/sinks/iceberg_history.py tables/sinks/iceberg_layout.py "
        "tables/sinks/iceberg_states.py tables/sinks/merge.py "
        "tables/sources/table.py tables/erasure/past.py tables/erasure/row_erasure.py tables/erasure/stored_files.py",
    ),
    "expressions of SQL": (
        lambda name, node: name in ("F.expr", "expr") or name.endswith("selectExpr"),
        "certify/spark_ways.py run/counts.py run/output_rows.py run/time_parts.py run/topic_demands.py "
        "spark/reading/avro_columns.py tables/sinks/kafka.py tables/sinks/records.py "
        "spark/reading/window_forms.py spark/sql.py tables/keyed/key_events.py tables/sinks/append_once.py "
        "tables/sources/table.py tables/erasure/row_erasure.py tables/sinks/merge.py "
        "tables/erasure/subjects.py",  # of quoted names and columns
    ),
    "processes": (
        lambda name, node: name.startswith(("subprocess.", "os.system", "os.popen", "os.exec", "os.spawn")),
        "foreign/host.py foreign/maven.py formats/protobuf/text.py jvm/build.py spark/environment.py testing/broker.py",
    ),
    "YAML": (
        lambda name, node: name.startswith("yaml."),
        "connect/takeover/definition.py "
        "chain/parse.py connect/catalog.py connect/component.py connect/connector_sources.py privacy/field_scan.py "
        "privacy/tags.py tools/gallery.py",
    ),
    "HTTP": (
        lambda name, node: name.startswith(("urllib.request", "http.", "requests.")),
        "connect/connector_sources.py",
    ),
    "options of reads and writes": (
        lambda name, node: name.endswith((".write.format('kafka').options", ".read.format('kafka').options")),
        "tables/sources/kafka.py tables/sinks/kafka_topics.py",
    ),
}


@pytest.mark.parametrize("kind", PLACES)
def test_what_crosses_a_border_does_so_in_known_places(kind):
    """A new place uses the function for its target (docs/architecture.md has the table), and comes to the list."""
    is_one, known = PLACES[kind]
    assert {module for module, name, node in calls() if is_one(name, node)} == {*known.split()}


def test_secret_options_are_judged_before_spark_gets_them():
    for module in PLACES["options of reads and writes"][1].split():
        source = (ROOT / module).read_text(encoding="utf-8")
        assert source.index("refuse_shown_secrets(self.session, options)") < source.index(".options(**options)")


def test_no_process_is_a_shell_and_no_yaml_makes_objects():
    names = {name for _, name, _ in calls() if name.startswith("yaml.")}
    assert names == {"yaml.safe_load", "yaml.safe_load_all", "yaml.safe_dump"}
    keywords = [k.arg for _, name, node in calls() if name.startswith("subprocess.") for k in node.keywords]
    assert "shell" not in keywords


def test_names_of_columns_are_quoted_by_one_function():
    """Backticks around a name do not hold a name with backticks."""
    own = (
        "model/paths/connect.py",
        "tools/problem_codes.py",
        "tools/reference.py",
        "spark/sql.py",
        "tables/ddl_text.py",
    )
    assert quoting_strings(besides=own) == []


def test_expressions_of_names_are_escaped():
    """An f-string in a regular expression holds names through ``re.escape`` only, or patterns of ours."""
    ours = {
        "model/topics/layout.py",
        "values/java/dates.py",
        "values/numbers.py",
        "values/times/zones.py",
        "spark/packages.py",
    }
    wrong = []
    for module, name, node in calls():
        if name.startswith("re.") and name != "re.escape" and node.args and isinstance(node.args[0], ast.JoinedStr):
            parts = [p for p in node.args[0].values if isinstance(p, ast.FormattedValue)]
            if module not in ours and not all("re.escape" in ast.unparse(p) for p in parts):
                wrong.append(f"{module}: {ast.unparse(node)}")
    assert wrong == []
