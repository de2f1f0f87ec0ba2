"""House rules that no linter checks: sizes, imports, names of targets, nothing of one machine in the files."""

import ast
import io
import os
import re
import subprocess
import sys
import tokenize
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import metadata, version
from pathlib import Path

import grimp
import pytest

import dagster_smt
from dagster_smt.errors import EXTRAS
from dagster_smt.spark.versions import VERSIONS

ROOT = Path(__file__).parents[1]
SOURCES = ("dagster_smt", "definitions", "benchmarks")
IGNORED = {
    ".git",
    ".hypothesis",
    ".venv",
    ".venv-3.5",
    ".venv-4.1",
    ".demo",
    ".kafka",
    ".bench",
    "build",
    "dist",
    "spark-warehouse",
    "__pycache__",
}
NOT_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules(*folders):
    return sorted(p for folder in folders for p in (ROOT / folder).rglob("*.py"))


def name(path):
    return path.relative_to(ROOT).as_posix()


def docstring_lines(tree):
    """The lines of the strings that describe a module, class or function, or the constant before them."""
    result = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | Function) and ast.get_docstring(node, clean=False) is not None:
            result |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            result |= set(range(node.lineno, node.end_lineno + 1))
    return result


@cache
def code_lines(text):
    """Numbers of the lines that hold code: not blank, not comment, not docstring."""
    result = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NOT_CODE and token.type != tokenize.ENDMARKER:
            result |= set(range(token.start[0], token.end[0] + 1))
    return result - docstring_lines(ast.parse(text))


def long_functions(text, limit):
    lines = code_lines(text)
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, Function)]
    sizes = {f.name: len(lines & set(range(f.lineno, f.end_lineno + 1))) for f in functions}
    return {f: size for f, size in sizes.items() if size >= limit}


def test_comments_blank_lines_and_docstrings_are_not_counted_as_code():
    text = '"""Doc\nstring."""\n\n# why\ndef f():\n    """More."""\n    return (\n        1\n    )\n'
    assert code_lines(text) == {5, 7, 8, 9}
    assert long_functions(text, 4) == {"f": 4}


@pytest.mark.parametrize("path", modules(*SOURCES), ids=name)
def test_modules_and_functions_stay_small(path):
    text = path.read_text()
    assert len(code_lines(text)) <= 500
    assert not long_functions(text, 61)


COMPREHENSION = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
MOST_CONDITIONALS = 25
"""Conditional expressions for each 1,000 lines of code."""
MOST_COMPREHENSIONS = 25
"""The same for comprehensions. A loop with a named result takes the place of one that is read twice (CONTRIBUTING)."""


@cache
def nodes_of(text, kinds):
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]


def nested(text, kinds):
    """Lines of expressions of a kind that lie in another one of the same kind."""
    lines = set()
    for outer in nodes_of(text, kinds):
        for node in ast.walk(outer):
            if node is not outer and isinstance(node, kinds):
                lines.add(node.lineno)
    return lines


def density(texts, kinds):
    """Expressions of a kind for each 1,000 lines of code."""
    expressions = sum(len(nodes_of(text, kinds)) for text in texts)
    return expressions * 1000 / sum(len(code_lines(text)) for text in texts)


def test_dense_code_is_measured():
    text = "a = 1 if b else 2 if c else 3\nd = [x for x in (y for y in z)]\ne = 1\nf = 2\n"
    assert density([text], ast.IfExp) == 500
    assert density([text], COMPREHENSION) == 500
    assert nested(text, ast.IfExp) == {1}
    assert nested(text, COMPREHENSION) == {2}


def test_conditional_expressions_and_comprehensions_stay_rare():
    texts = [path.read_text() for path in modules("dagster_smt", "definitions")]
    assert density(texts, ast.IfExp) <= MOST_CONDITIONALS
    assert density(texts, COMPREHENSION) <= MOST_COMPREHENSIONS


@pytest.mark.parametrize("path", modules("dagster_smt", "definitions"), ids=name)
def test_conditional_expressions_and_comprehensions_are_not_nested(path):
    text = path.read_text()
    assert not nested(text, ast.IfExp)
    assert not nested(text, COMPREHENSION)


VAGUE = frozenset("found made given told kept wanted named looks theirs those".split())
"""Names that say only that something happened, or point at a thing without its noun (docs/style.md)."""


def vague_names(text):
    """(line, name) of each binding of a vague name: variables, parameters, functions, classes, attributes, aliases."""
    names = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append((node.lineno, node.id))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.append((node.lineno, node.attr))
        elif isinstance(node, ast.arg):
            names.append((node.lineno, node.arg))
        elif isinstance(node, Function | ast.ClassDef | ast.MatchAs | ast.MatchStar | ast.ExceptHandler):
            names.append((node.lineno, node.name or ""))
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names.append((node.lineno, node.rest))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names += [(node.lineno, alias.asname) for alias in node.names if alias.asname]
    return sorted((line, name) for line, name in names if name.strip("_").lower() in VAGUE)


@pytest.mark.parametrize(
    "code",
    [
        "found = 1",
        "found += 1",
        "found: int = 1",
        "(a, *found) = b",
        "if found := a:\n    pass",
        "for found in a:\n    pass",
        "b = [found for found in a]",
        "with a as found:\n    pass",
        "try:\n    pass\nexcept OSError as found:\n    pass",
        "def f(found): pass",
        "def f(*found): pass",
        "def f(*, found=1): pass",
        "f = lambda found: 1",
        "def found(): pass",
        "async def _found(): pass",
        "class Found: pass",
        "self.found = 1",
        "class A:\n    found: int",
        "FOUND = 1",
        "import a as found",
        "from a import b as found",
        "match a:\n    case [found]:\n        pass",
        "match a:\n    case [1, *found]:\n        pass",
        'match a:\n    case {"b": 1, **found}:\n        pass',
    ],
)
def test_vague_names_are_seen_wherever_they_are_bound(code):
    assert [name.strip("_").lower() for _, name in vague_names(code)] == ["found"]


@pytest.mark.parametrize(
    "code", ["from hypothesis import given", "not_found = found", "a.found()", "f(found=1)", "x = 'found'"]
)
def test_names_of_others_and_longer_names_are_not_vague(code):
    assert vague_names(code) == []


@pytest.mark.parametrize("path", modules("dagster_smt", "definitions", "benchmarks", "tests"), ids=name)
def test_names_say_what_a_thing_is(path):
    assert vague_names(path.read_text()) == []


SAME_CLASSES = {
    "Column": "spark.sql has the methods of PySpark's Column, under its name; the other is the column of a topic table",
    "Drop": "the effect, and Confluent's transform of that effect",
    "DropHeaders": "the effect, and Kafka's transform of that effect",
    "ExtractTopic": "Aiven and Confluent have a transform of this name",
    "Filter": "Kafka and Confluent have a transform of this name",
}
"""Classes of one name, each with the reason."""
SAME_MODULES = {
    "one side of a pair: reading or writing of a format, source or sink of a kind of table": (
        "read write file_topics kafka delta iceberg"
    ),
    "one subject in rooms above each other: plain data or rules below, Spark, the run or Dagster above": (
        "arrays cast columns dead_letters destinations examples keyed maintenance many_tables primitives properties "
        "residue spec sql stages statement topics unmasked"
    ),
    "one thing of several servers: brokers, registries, Spark, the Java process of foreign stages": (
        "client versions wire"
    ),
    "helpers of one transform, in its folder; transforms of two vendors": "extract_topic filter shape values",
}
"""Modules of one name, by reason."""


def same_names(names_by_place):
    """Names that stand in several places, with those places."""
    places = {}
    for place, names in names_by_place.items():
        for each in names:
            places.setdefault(each, []).append(place)
    return {each: where for each, where in places.items() if len(where) > 1}


def test_same_names_are_seen():
    assert same_names({"a": ["One", "Two"], "b": ["Two"]}) == {"Two": ["a", "b"]}


def test_no_two_classes_have_one_name():
    classes = {}
    for path in modules("dagster_smt"):
        tree = ast.parse(path.read_text())
        classes[name(path)] = [n.name for n in tree.body if isinstance(n, ast.ClassDef) and not n.name.startswith("_")]
    assert sorted(same_names(classes)) == sorted(SAME_CLASSES)


def test_no_two_modules_have_one_name():
    paths = [path for path in modules("dagster_smt") if not path.stem.startswith("__")]
    allowed = {each for names in SAME_MODULES.values() for each in names.split()}
    twice = same_names({name(path): [path.stem] for path in paths})
    assert {each: places for each, places in twice.items() if each not in allowed} == {}
    assert sorted(allowed - twice.keys()) == []


@pytest.mark.parametrize("path", modules("dagster_smt", "definitions"), ids=name)
def test_annotations_are_not_postponed(path):
    """Dagster reads annotations at run time and refuses, or silently misreads, postponed ones."""
    imports = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
    assert not [node for node in imports if node.module == "__future__"]


SEVERAL_SEARCHES = re.compile(r"\b_?jvm\.[a-z]+\.[A-Za-z]")
"""A Java class by the parts of its name: Java searches all jars for each part (see ``java_classes.py``)."""


@pytest.mark.parametrize("code", ["session._jvm.java.lang.System", "jvm.org.apache.hadoop.fs.Path(text)"])
def test_classes_by_parts_are_seen(code):
    assert SEVERAL_SEARCHES.search(code)


@pytest.mark.parametrize("path", modules("dagster_smt", "definitions"), ids=name)
def test_java_classes_are_named_at_once(path):
    code = path.read_text("utf-8")
    if path.name != "java_classes.py":
        assert not SEVERAL_SEARCHES.search(re.sub(r"^(from|import) .*", "", code, flags=re.M))


def test_every_folder_with_modules_is_a_package():
    """Of a folder that is none, Python mixes the files of all copies on its path, and reads none out of a zip."""
    folders = {parent for path in modules(*SOURCES) for parent in path.parents if ROOT in parent.parents}
    assert sorted(name(folder) for folder in folders if not (folder / "__init__.py").is_file()) == []


LIGHT = [
    "dagster_smt",
    "dagster_smt.chain",
    "dagster_smt.cli",
    "dagster_smt.interpret",
    "dagster_smt.tools.parity",
    "dagster_smt.tools.reference",
    "dagster_smt.tables.sink_options",
    "dagster_smt.tables.topic_table",
    "dagster_smt.transforms",
    "dagster_smt.predicates",
]


@pytest.mark.parametrize("module", LIGHT)
def test_planning_and_the_command_line_load_neither_spark_nor_dagster(module):
    heavy = ("pyspark", "py4j", "pandas", "dagster", "dagster_pyspark", "confluent_kafka")
    code = f"import sys, {module}; print(*sorted(set(sys.modules) & {set(heavy)!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")


def test_the_public_names_are_the_same_for_type_checkers_and_at_run_time():
    tree = ast.parse((ROOT / "dagster_smt/__init__.py").read_text())
    (block,) = [n for n in tree.body if isinstance(n, ast.If)]
    declared = {(n.module, a.name) for n in block.body for a in n.names if a.name == a.asname}
    assert declared == {(module, name) for name, module in dagster_smt._MODULES.items()}
    assert all(getattr(dagster_smt, name) is not None for _, name in declared)
    assert {name for _, name in declared} <= set(dir(dagster_smt))
    with pytest.raises(AttributeError, match="build_smt_aset"):
        dagster_smt.build_smt_aset  # noqa: B018


def test_using_public_names_does_not_load_spark_or_a_kafka_client():
    code = "import sys, dagster_smt; [getattr(dagster_smt, n) for n in dir(dagster_smt)]; "
    code += "print(*sorted(set(sys.modules) & {'pyspark', 'pandas', 'confluent_kafka'}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")


WITHOUT_EXTRAS = """
import sys, tempfile
from dagster_smt.errors import EXTRAS, SmtError

BLOCKED = {*EXTRAS, "dagster_pyspark", "dagster_spark"}

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
import dagster as dg
from dagster_smt import KafkaTopics, SparkSessionResource
from definitions.definitions import defs

defs = defs() if callable(defs) else defs
repository = defs.get_repository_def()
print(len(list(repository.asset_graph.get_all_asset_keys())) > 3)
with tempfile.TemporaryDirectory() as folder, dg.DagsterInstance.ephemeral(folder) as instance:
    job = defs.resolve_implicit_global_asset_job_def()
    done = job.execute_in_process(instance=instance, raise_on_error=False,
                                  asset_selection=[dg.AssetKey(["webhooks", "pushes"])])
    failed = done.get_step_failure_events()[0].step_failure_data.error
    while failed.cause:
        failed = failed.cause
    print(failed.message)
try:
    SparkSessionResource().spark_session
except SmtError as error:
    print(error)
BLOCKED = {"confluent_kafka"}
from dagster_smt.tables.sources import open_source
try:
    open_source(KafkaTopics("localhost:1"))
except SmtError as error:
    print(error)
from types import SimpleNamespace
from dagster_smt.orchestration.runs.execution import check_brokers
try:
    check_brokers(SimpleNamespace(table=SimpleNamespace(source=KafkaTopics("localhost:1"))))
except SmtError as error:
    print(error)
BLOCKED = {module for module, extra in EXTRAS.items() if extra != "spark"}
from dagster_smt.run.batch import run
from dagster_smt.tables.sinks import open_topics
try:
    open_topics(None, KafkaTopics("localhost:1"))
except SmtError as error:
    print(error)
"""


def test_definitions_load_without_the_extras_and_a_run_names_the_one_that_it_needs(tmp_path):
    env = {**os.environ, "SMT_DEMO_FOLDER": str(tmp_path / "demo"), "DAGSTER_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", WITHOUT_EXTRAS], cwd=ROOT, capture_output=True, text=True, env=env)
    lines = done.stdout.splitlines()
    assert lines[:1] == ["True"], done.stderr
    assert "SMT650 pyspark: the Python module is not installed here" in lines[1]
    assert "pip install 'dagster_smt[spark]', or 'dagster_smt[all]', where runs execute" in lines[2]
    codes = [line.split(":")[0] for line in lines[3:] if line.startswith("SMT")]
    assert codes == ["SMT650 pyspark", *3 * ["SMT650 confluent_kafka"]], done.stderr


def test_every_extra_is_declared():
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(EXTRAS.values()) | {"all"} <= project["optional-dependencies"].keys()
    required = {re.split(r"[<>=\[]", line)[0].replace("-", "_") for line in project["dependencies"]}
    assert required & EXTRAS.keys() == set()


def test_no_extra_brings_a_package_that_makes_each_dg_command_warn():
    """``dg`` looks at every registered package; of dagster-spark it warns each time."""
    tomllib = pytest.importorskip("tomllib")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    users = [line for extra, lines in extras.items() if extra != "dev" for line in lines]
    assert [line for line in users if line.startswith(("dagster-spark", "dagster-pyspark"))] == []


def test_dagster_knows_the_library_and_its_version():
    from dagster_shared.libraries import DagsterLibraryRegistry

    assert dagster_smt.SmtTranslator is not None
    assert DagsterLibraryRegistry.get()["dagster-smt"] == dagster_smt.__version__ == version("dagster_smt")


def test_the_makefile_has_the_targets_that_the_documentation_names():
    targets = set(re.findall(r"^([a-z-]+):.*## \S", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert targets == {
        "help",
        "setup",
        "demo",
        "dev",
        "test",
        "test-fast",
        "test-long",
        "test-ui",
        "check",
        "bench",
        "kafka",
        "kafka-stop",
        "test-versions",
        "docs",
        "docs-site",
        "dist",
        "clean",
    }


def test_constraints_are_exact_pins_and_nothing_else():
    pin = re.compile(r'[A-Za-z0-9._-]+==[A-Za-z0-9.]+(; python_version (<|>=) "3\.\d+")?')
    names = {}
    for file in sorted(ROOT.glob("constraints*.txt")):
        lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
        assert [line for line in lines if not pin.fullmatch(line)] == []
        names[file.name] = {line.partition("==")[0] for line in lines}
    versions = {f"constraints-{version}.txt" for version in VERSIONS if version != "4.0"}
    assert names.keys() == {"constraints.txt", *versions}
    assert all(names[overlay] <= names["constraints.txt"] for overlay in versions)


def test_setup_names_the_versions_that_have_pins():
    env = {**os.environ, "SPARK": "3.4"}
    done = subprocess.run(["sh", ".ci/setup.sh"], cwd=ROOT, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (
        1,
        "setup: there are no pins for Spark 3.4: use one of 4.0 3.5 4.1.\n",
    )


def test_the_shell_scripts_are_well_formed():
    for shell, script in (("sh", ".ci/setup.sh"), ("bash", ".ci/run")):
        done = subprocess.run([shell, "-n", script], cwd=ROOT, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


def test_setup_names_the_java_that_is_needed(tmp_path):
    """One sentence, no trace, and nothing made, where Java is missing or of a wrong version."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    java.chmod(0o755)
    for home, why in ((tmp_path, "is 11.0.2."), (tmp_path / "none", "There is no Java in")):
        env = {**os.environ, "JAVA_HOME": str(home), "SPARK": "4.0"}
        done = subprocess.run(["sh", ".ci/setup.sh"], cwd=ROOT, env=env, capture_output=True, text=True)
        assert done.returncode == 1
        assert done.stderr.startswith("setup: Spark needs Java 17 or 21: install one")
        assert why in done.stderr and done.stderr.count("\n") == 1


def text_files():
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [f for f in folders if f not in IGNORED and not f.endswith(("_cache", ".egg-info"))]
        yield from (Path(folder, f) for f in files if f not in IGNORED and not f.endswith(".log"))


def test_no_file_names_a_path_of_the_machine_it_was_written_on():
    """Home and working folders of whoever wrote it; patterns are spelled so that this file does not match."""
    pattern = re.compile(rb"(?<![\w./$}-])/(?:" + b"|".join((b"wor" + b"k", b"roo" + b"t", b"Use" + b"rs")) + rb")/")
    results = {}
    for path in text_files():
        data = path.read_bytes()
        hits = pattern.findall(data) if b"\0" not in data else []
        if hits:
            results[name(path)] = hits
    assert results == {}


def in_order(imports):
    """Raises CycleError where modules import each other."""
    TopologicalSorter(imports).prepare()


def test_no_modules_import_each_other():
    graph = grimp.build_graph("dagster_smt", "definitions", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    in_order(imports)
    with pytest.raises(CycleError):
        in_order(imports | {"dagster_smt.errors": {"dagster_smt.chain.plan"}})


def test_the_page_of_the_python_api_has_every_public_name_once():
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^::: dagster_smt\.(\w+)$", page, re.MULTILINE)) == sorted(dagster_smt.__all__)


def test_the_packages_metadata_says_what_the_project_says():
    data = metadata("dagster_smt")
    assert (data["License-Expression"], data["Version"]) == ("Apache-2.0", dagster_smt.__version__)
    pythons = {
        c.rpartition(" :: ")[2] for c in data.get_all("Classifier") if c.startswith("Programming Language :: Py")
    }
    assert {"3.10", "3.11", "3.12", "3.13"} <= pythons
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")


TOP = set("pyproject.toml README.md workspace.yaml dagster_smt definitions tests Makefile constraints.txt docs".split())
TOP |= {"constraints-3.5.txt", "constraints-4.1.txt"}
TOP |= set("benchmarks .ci .github .gitignore .pre-commit-config.yaml mkdocs.yml".split())
TOP |= set("LICENSE NOTICE CONTRIBUTING.md CHANGELOG.md SECURITY.md".split())
"""What lies in the top folder; another file there is a decision."""


def test_nothing_else_lies_in_the_top_folder():
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout: nothing tells what is a file of the project")
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {line.partition("/")[0] for line in done.stdout.splitlines()} <= TOP
