"""Collects the codes of problems from the sources, with their statements and modules, for a page of the reference.

A code has one meaning, and usually only one module uses it. If several modules use a code and state its problem
differently, ``SHARED`` must list the code with these modules. So nobody gives a code a second meaning by mistake.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).parents[1]
CODE = re.compile(r"SMT\d{3}")
AREAS = {
    "0": "Shape of a configuration",
    "1": "Names and paths",
    "2": "Types and schemas",
    "3": "Stages and predicates",
    "4": "Data of one record",
    "5": "Tables, windows and sinks",
    "6": "Environment",
    "7": "Tables with keys, many tables of one run, privacy",
    "8": "Maintenance of tables",
    "9": "Not supported, or a mistake in a class",
}
SHARED = {
    "SMT654": "orchestration/definitions/loading orchestration/pipes/external",
    "SMT753": "formats/registry/data_keys formats/registry/sealed_json",
    "SMT754": "orchestration/definitions/erasure_asset orchestration/erase orchestration/pipes/external "
    "tables/erasure/spec",
    "SMT767": "orchestration/definitions/policies privacy/applied_policy privacy/registry_tags",
    "SMT700": "run/run_spec tables/sink_options",
    "SMT730": "model/topics/table_names run/run_spec tables/sink_options",
    "SMT735": "orchestration/definitions/assets orchestration/definitions/many_tables",
    "SMT783": "connect/takeover/connector_stop connect/takeover/shadow connect/takeover/take_over",
    "SMT784": "connect/takeover/definition connect/takeover/plans connect/takeover/connector_table",
    "SMT789": "connect/takeover/connector_stop connect/takeover/connector_table connect/takeover/take_over",
    "SMT792": "connect/takeover/definition connect/takeover/plans",
    "SMT796": "connect/takeover/connector_stop connect/takeover/take_over",
    "SMT797": "connect/takeover/connector_table connect/takeover/file_names connect/takeover/parquet_files",
    "SMT798": "connect/takeover/connector_table connect/takeover/first_commit connect/takeover/take_over",
    "SMT701": "spark/stages/output tables/keyed/keys tables/planning",
    "SMT001": "chain/parse chain/stages",
    "SMT002": "chain/parse connect/connector_sources connect/worker",
    "SMT003": "chain/parse cli/parity cli/schema_arguments cli/topic_commands connect/connector_sources "
    "connect/kubernetes",
    "SMT010": "chain/classes cli/chain_commands",
    "SMT011": "chain/problems foreign/check",
    "SMT012": "chain/problems foreign/check",
    "SMT013": "chain/problems chain/stages foreign/check",
    "SMT014": "chain/problems foreign/check",
    "SMT018": "connect/connectors connect/connector_sources connect/kubernetes orchestration/components/scaffolder",
    "SMT019": "cli/connector_commands cli/schema_command",
    "SMT032": "orchestration/launch/config_schema orchestration/runs/step_bodies",
    "SMT038": "orchestration/components/table_models orchestration/definitions/topic_assets",
    "SMT037": "orchestration/definitions/assets orchestration/definitions/topic_assets",
    "SMT040": "orchestration/components/table_models orchestration/definitions/assets "
    "orchestration/definitions/planned_table orchestration/definitions/topic_assets",
    "SMT045": "orchestration/definitions/partition_keys orchestration/launch/time_keys",
    "SMT102": "authoring/fields/edit authoring/fields/field_reading",
    "SMT202": "authoring/fields/resolve authoring/fields/field_reading",
    "SMT205": "authoring/fields/defaults effects/on_plan",
    "SMT207": "spark/column_values spark/types",
    "SMT250": "tables/ddl tables/rows/column_texts",
    "SMT252": "tables/ddl tables/rows/statement",
    "SMT261": "model/topics/columns tables/rows/declare",
    "SMT263": "model/topics/columns tables/rows/declare",
    "SMT264": "model/topics/columns tables/rows/column_texts tables/rows/declare",
    "SMT267": "tables/rows/column_texts tables/rows/statement tables/sink_of_statement",
    "SMT269": "tables/rows/declare tables/rows/write tables/topic_table tables/written_formats",
    "SMT270": "cli/schema_arguments tables/rows/with_options tables/topic_table",
    "SMT272": "model/topics/csv_options model/topics/format",
    "SMT273": "formats/avro/read formats/fixed_schema formats/json_schema/read formats/protobuf/files "
    "formats/registry/versions formats/registry/client tables/schema_files",
    "SMT274": "formats/avro/write formats/protobuf/message_schema",
    "SMT279": "tables/topic_table tables/written_formats",
    "SMT303": "chain/dead_paths chain/plan orchestration/checks",
    "SMT350": "orchestration/checks run/counts",
    "SMT354": "orchestration/launch/config_schema run/unmasked",
    "SMT401": "formats/json formats/database_texts values/value_rule",
    "SMT414": "formats/avro/read formats/json formats/fixed_schema formats/sides spark/reading/start",
    "SMT416": "formats/avro/read formats/csv formats/primitives formats/protobuf/kinds formats/sides "
    "spark/reading/start",
    "SMT440": "formats/avro/anything formats/avro/write formats/csv formats/primitives formats/protobuf/kinds",
    "SMT451": "authoring/topic_texts effects/timestamp_fields transforms/aiven/hash",
    "SMT452": "effects/routes_on_plan effects/timestamp_fields transforms/aiven/hash",
    "SMT441": "formats/protobuf/files formats/registry/wire formats/registry/client",
    "SMT442": "formats/registry/versions formats/registry/client",
    "SMT459": "formats/avro/read model/schema_size",
    "SMT501": "tables/kafka/client tables/sources/file_topics tables/sources/table",
    "SMT505": "tables/sources/file_topics tables/sources/segments",
    "SMT510": "tables/sources/file_topics tables/windows",
    "SMT513": "orchestration/launch/config_schema run/redrive tables/windows",
    "SMT516": "tables/sources/kafka tables/window_begins",
    "SMT522": (
        "cli/topic_commands tables/sinks/delta tables/sinks/file_topics tables/sinks/iceberg_states tables/sinks/kafka"
    ),
    "SMT528": "tables/kafka/transactions tables/sinks/file_topics tables/sinks/protocol",
    "SMT569": "tables/layout_problems tables/sinks/delta_layout",
    "SMT577": "orchestration/components/table_models tables/sink_options",
    "SMT585": "tables/sources/groups tables/topic_table",
    "SMT590": "tables/kafka/producer tables/kafka/transactions",
    "SMT625": "run/spark_failures tables/kafka/client",
    "SMT634": "run/spark_failures tables/sources/kafka",
}
"""Maps a problem code to the modules that may use this code although their statements differ, as a string of module
paths.

Add a module only if its problem is the same as that of the modules already listed.
"""
_PLACED = ("Problem", "config_problem")
"""The names of the functions whose arguments are a code, a location and a statement, in this order."""
_PLACEHOLDER = re.compile(r"\{\w*\}")
"""A placeholder such as ``{name}`` in a statement, which ``str.format`` replaces."""
_READERS = ("tools/parity", "connect/survey", "tools/problem_codes")
"""Modules that mention problem codes only to compare them, and create no problems. The search for codes skips these
modules.
"""


@dataclass(frozen=True)
class Use:
    """An occurrence of a problem code in the source code.

    Attributes:
        code: The code.
        module: Path of the module in the package, without ``.py``.
        statement: The statement, with ``…`` for variable parts; empty if it cannot be read from the source code.
    """

    code: str
    module: str
    statement: str


def uses(root: Path = ROOT) -> list[Use]:
    """Returns every occurrence of a problem code, such as ``SMT101``, in the Python files under ``root``."""
    uses_of_package = []
    for path in sorted(root.rglob("*.py")):
        module = path.relative_to(root).with_suffix("").as_posix()
        if not module.startswith(_READERS):
            uses_of_package += list(_in_module(ast.parse(path.read_text(encoding="utf-8")), module))
    return uses_of_package


def by_code(root: Path = ROOT) -> dict[str, list[Use]]:
    """Returns the occurrences of problem codes in the Python files under ``root``, as a dict from code to
    occurrences.
    """
    uses_by_code: dict[str, list[Use]] = defaultdict(list)
    for use in uses(root):
        uses_by_code[use.code].append(use)
    return dict(sorted(uses_by_code.items()))


def taken_twice(root: Path = ROOT) -> list[str]:
    """Returns a line such as ``SMT101: model/schema, runs/plan`` for each code that several modules use with different
    statements. A code is left out if ``SHARED`` lists all of these modules.
    """
    codes = []
    for code, places in by_code(root).items():
        modules = sorted({use.module for use in places})
        same = len({use.statement for use in places}) == 1
        if len(modules) > 1 and not same and not set(modules) <= set(SHARED.get(code, "").split()):
            codes.append(f"{code}: {', '.join(modules)}")
    return codes


def _in_module(tree: ast.Module, module: str) -> Iterator[Use]:
    for function in _scopes(tree):
        names = _texts(function)
        for node in _own(function):
            if isinstance(node, ast.Call):
                parts = node.args
            elif isinstance(node, ast.Tuple):
                parts = node.elts
            else:
                parts = []
            for number, part in enumerate(parts[:2]):
                if isinstance(part, ast.Constant) and CODE.fullmatch(str(part.value)):
                    # Problem("SMT040", place, statement), but ("SMT409", statement) in other calls and in tuples
                    if isinstance(node, ast.Call) and _name(node.func) in _PLACED:
                        skip = 2
                    else:
                        skip = 1
                    statement = parts[number + skip] if number + skip < len(parts) else None
                    text = _text_of(statement, names)
                    # a tuple of codes, which compares a code with several
                    if not CODE.fullmatch(text):
                        yield Use(str(part.value), module, text)


def _scopes(tree: ast.Module) -> Iterator[ast.AST]:
    yield tree
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """Yields the nodes of the syntax tree ``scope`` in the order of the source code, except the nodes of inner
    functions.
    """
    # reversed, because pop() takes the last item of the stack
    stack = [*ast.iter_child_nodes(scope)][::-1]
    while stack:
        node = stack.pop()
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
            stack += [*ast.iter_child_nodes(node)][::-1]


def _texts(scope: ast.AST) -> dict[str, ast.expr]:
    """Returns the assignments in the syntax tree ``scope``, as a dict from variable name to assigned expression."""
    assigned = (node for node in _own(scope) if isinstance(node, ast.Assign))
    results = {}
    for node in assigned:
        for t in node.targets:
            if isinstance(t, ast.Name):
                results[t.id] = node.value
    return results


def _name(func: ast.expr) -> str:
    if isinstance(func, ast.Name):
        return func.id
    if isinstance(func, ast.Attribute):
        return func.attr
    return ""


def _text_of(node: ast.expr | None, names: dict[str, ast.expr]) -> str:
    if isinstance(node, ast.Name):
        node = names.get(node.id)
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            return _PLACEHOLDER.sub("…", node.value)
        return ""
    if isinstance(node, ast.JoinedStr):
        parts = []
        for v in node.values:
            parts.append(str(v.value) if isinstance(v, ast.Constant) else "…")
        return _PLACEHOLDER.sub("…", "".join(parts))
    if isinstance(node, ast.BinOp):
        return _text_of(node.left, names) + (_text_of(node.right, names) or "…")
    return ""


def codes_page() -> str:
    """Returns the reference page of problem codes."""
    lines = ["# Problem codes", ""]
    lines += ["Each code has one meaning and is never reused. In a statement, `…` stands for a name, a path or a type."]
    lines += ["If a module composes a statement at run time, the table only names the module. A message of the program"]
    lines += ["also contains the location and a hint. No message quotes the value of a field.", ""]
    # the fourth character of a code such as SMT101 is the digit of its area
    for area, codes in groupby(by_code().items(), key=lambda pair: pair[0][3]):
        lines += [f"## {area}xx: {AREAS[area]}", "", "| code | statement | module |", "|---|---|---|"]
        for code, places in codes:
            lines.append(_row(code, places))
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _row(code: str, places: list[Use]) -> str:
    statements = list(dict.fromkeys(use.statement for use in places if use.statement)) or ["(see the module)"]
    modules = ", ".join(dict.fromkeys(f"`{use.module}`" for use in places))
    return f"| {code} | {'<br>'.join(statements)} | {modules} |"
