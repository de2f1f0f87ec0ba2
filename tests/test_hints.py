"""What a hint names is there: options, window keys, commands, switches of commands, variables, pages."""

import ast
import dataclasses
import inspect
import re
from functools import cache
from pathlib import Path

import pytest

import dagster_smt
from dagster_smt.cli import main
from dagster_smt.tools import problem_codes
from tests.package_code import nodes

ROOT = Path(problem_codes.ROOT)
DOCS = ROOT.parent / "docs"
NAME = re.compile(r"(?<![\w./-])[a-z]+(?:_[a-z]+)+(?![\w/-])")
WINDOW_KEY = re.compile(r"window\.([a-z_]+)")
COMMAND = re.compile(r"dagster-smt ([a-z]+)")
SWITCH = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
VARIABLE = re.compile(r"DAGSTER_SMT_[A-Z_]+")
PAGE = re.compile(r"docs/([\w/-]+\.md)")
CALLS = {"Problem", "config_problem", "refuse"}
OF_OTHERS = {
    "build_schedule_from_partitioned_job": "dagster",
    "bootstrap_servers": "Kafka's clients",
    "descriptor_set_out": "protoc",
    "include_imports": "protoc",
    "record_key": "a value of the option keys",
    "--descriptor": "protoc, of --descriptor_set_out",
    "--include": "protoc, of --include_imports",
    "--py-files": "spark-submit",
    "--reset-offsets": "Kafka's kafka-consumer-groups.sh",
    "dagster_smt": "the package itself",
    "json_schema": "a kind of a format",
    "looks_personal": "a key of a policy file",
    "force_optional": "a value of an option of Confluent's Drop",
}
"""Names that are no options of ours, and what they are."""


def hints(root=ROOT):
    """Every text of a hint in the sources, with its module."""
    for path in sorted(root.rglob("*.py")):
        for node in nodes(path):
            hint = _hint_of(node)
            if hint is None:
                continue
            for part in ast.walk(hint):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield path.relative_to(root).as_posix(), part.value


def _hint_of(node):
    if isinstance(node, ast.Assign):
        names = {target.id for target in node.targets if isinstance(target, ast.Name)}
        return node.value if names & {"hint", "hints"} else None
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in CALLS and len(node.args) > 1:
        names_in_text = next((keyword.value for keyword in node.keywords if keyword.arg == "hint"), None)
        return node.args[-1] if names_in_text is None else names_in_text
    return None


@cache
def options():
    """Parameters of factories, attributes of specs, fields of components, attributes of authors' classes."""
    from dagster_smt.authoring.predicate import Predicate
    from dagster_smt.authoring.transform import Transform

    exports = dir(dagster_smt)
    names = {*vars(Transform), *vars(Predicate), *exports}
    for exported in exports:
        thing = getattr(dagster_smt, exported)
        if not callable(thing):
            continue
        names |= set(inspect.signature(thing).parameters)
        if dataclasses.is_dataclass(thing):
            names |= {field.name for field in dataclasses.fields(thing)}
        names |= set(getattr(thing, "model_fields", ()))
    for path in [*(ROOT / "orchestration" / "components").glob("*.py"), ROOT / "authoring" / "bundles.py"]:
        for node in nodes(path):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                names.add(node.target.id)
    return names | {*run_config(), *run_config()["micro_batch"].config_type.inner_type.fields}


@cache
def window_keys():
    return set(run_config()["window"].config_type.fields)


def run_config():
    """What the Launchpad takes."""
    return dagster_smt.smt_config_schema(dagster_smt.parse_chain({"transforms": ""}))


def test_options():
    results = {name for _, text in hints() for name in NAME.findall(WINDOW_KEY.sub("", text))}
    assert len(results) > 10
    assert results - options() - set(OF_OTHERS) == set()


def test_window_keys():
    results = {key for _, text in hints() for key in WINDOW_KEY.findall(text)}
    assert len(results) > 4 and results - window_keys() == set()


def test_commands(capsys):
    results = {command for _, text in hints() for command in COMMAND.findall(text)}
    assert results and [command for command in sorted(results) if not is_command(command)] == []
    assert not is_command("topcs")


def is_command(name):
    with pytest.raises(SystemExit) as stop:
        main([name, "--help"])
    return stop.value.code == 0


def test_switches_of_commands(capsys):
    results = {switch for _, text in hints() for switch in SWITCH.findall(text)}
    commands = (
        "lint",
        "explain",
        "list",
        "import",
        "preview",
        "topics",
        "append",
        "certify",
        "scan",
        "parity",
        "takeover",
        "shadow",
        "erase",
    )
    for command in commands:
        assert is_command(command)
    known = set(SWITCH.findall(capsys.readouterr().out))
    assert results and results - known - set(OF_OTHERS) == set()


def test_variables_are_read_somewhere():
    results = {variable for _, text in hints() for variable in VARIABLE.findall(text)}
    sources = "\n".join(path.read_text() for path in ROOT.rglob("*.py"))
    assert all(len(re.findall(rf"\b{variable}\b", sources)) > 1 for variable in results)


def test_pages():
    results = {page for _, text in hints() for page in PAGE.findall(text)}
    assert [page for page in sorted(results) if not (DOCS / page).exists()] == []


@pytest.mark.parametrize(
    ("text", "pattern", "names"),
    [
        ("set allow_chain_overide", NAME, ["allow_chain_overide"]),
        ("launch with window.acept_gap", WINDOW_KEY, ["acept_gap"]),
        ("ask `dagster-smt topcs`", COMMAND, ["topcs"]),
        ("see docs/repairs.md", PAGE, ["repairs.md"]),
    ],
)
def test_a_misspelt_name_is_noticed(tmp_path, text, pattern, names):
    (tmp_path / "module.py").write_text(f'def f():\n    return Problem("SMT799", "", "no", {text!r})\n')
    assert [name for _, hint in hints(tmp_path) for name in pattern.findall(hint)] == names
    known = options() | window_keys()
    assert not set(names) & known
