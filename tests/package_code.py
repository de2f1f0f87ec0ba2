"""The package's code as syntax trees, read once per process: several tests look at all of it."""

import ast
from functools import cache
from pathlib import Path

import dagster_smt

ROOT = Path(dagster_smt.__file__).parent


@cache
def nodes(path):
    """All nodes of a file."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def calls():
    """(module, name of what is called, node) of each call in the package."""
    results = []
    for path in sorted(ROOT.rglob("*.py")):
        module = path.relative_to(ROOT).as_posix()
        for node in nodes(path):
            if isinstance(node, ast.Call):
                results.append((module, call_name(node.func), node))
    return results


def call_name(node):
    """The source of an expression that is called; ``ast.unparse`` of all of them would take ten times as long."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{call_name(node.value)}.{node.attr}"
    return ast.unparse(node)


def quoting_strings(folder=ROOT, besides=()):
    """(module, line) of each f-string that puts a name between backticks itself."""
    places = []
    for path in sorted(folder.rglob("*.py")):
        module = path.relative_to(ROOT).as_posix()
        if module in besides or "`{" not in path.read_text(encoding="utf-8"):
            continue
        for node in nodes(path):
            if isinstance(node, ast.JoinedStr) and "`{" in ast.unparse(node):
                places.append(f"{module}:{node.lineno}")
    return places
