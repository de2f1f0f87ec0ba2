"""A lookup in a mapping, and the spelling of one that the oldest client of Spark Connect refuses."""

import ast

import pytest

from tests.package_code import ROOT, nodes

PYSPARK = "from pyspark.sql import functions as F\n"


def lookups_by_brackets(tree):
    """Lines of ``column[F.…]``; names of fields and numbers between the brackets are literals, and fine."""
    lines = []
    for node in tree:
        if isinstance(node, ast.Subscript) and any(_is_of_spark(part) for part in ast.walk(node.slice)):
            lines.append(node.lineno)
    return lines


def _is_of_spark(node):
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "F"


def test_no_column_is_a_key_between_brackets():
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        if PYSPARK in path.read_text(encoding="utf-8"):
            wrong += [f"{path.relative_to(ROOT)}:{line}" for line in lookups_by_brackets(nodes(path))]
    assert wrong == [], "Spark Connect 3.5 refuses this: dagster_smt.spark.lookup"


@pytest.mark.parametrize("text", ['F.create_map(*p)[F.col("a")]', 'm[F.lower("a")]', 'm[F.col("__out")["topic"]]'])
def test_such_a_key_is_noticed(text):
    assert lookups_by_brackets(ast.walk(ast.parse(text))) == [1]


def test_literals_are_no_such_keys():
    assert lookups_by_brackets(ast.walk(ast.parse('F.col("a")["b"][0]'))) == []


@pytest.mark.parametrize(
    ("values", "key", "expected"),
    [({"a": "x", "b": "y"}, "a", "x"), ({"a": "x"}, "c", None), ({1: "x"}, 1, "x"), ({"a": 7}, "a", 7), ({}, "a", None),
     ({"a": "x"}, None, None)],
)  # fmt: skip
def test_items_and_nulls(spark, values, key, expected):
    from pyspark.sql import functions as F

    from dagster_smt.spark.lookup import lookup

    column = F.lit(key) if key is not None else F.lit(None).cast("string")
    assert spark.range(1).select(lookup(values, column)).first()[0] == expected
