"""Handles JSONPath in options and plans: checks a path, and plans how a stage applies the path to a struct."""

from collections.abc import Iterator
from typing import Any

from dagster_smt.authoring.node_texts import with_default
from dagster_smt.authoring.transform import Planning
from dagster_smt.errors import ConfigError, PlanError
from dagster_smt.model.cell import Call, Const, Expr, Group, Node, open_struct
from dagster_smt.model.keeps import AllConditions, AnyCondition, Condition, FieldTest, NotCondition, Unknown
from dagster_smt.model.paths.extended import route_text
from dagster_smt.model.paths.json_path import (
    SUBSET,
    AllTests,
    AnyTest,
    Exists,
    FilterStep,
    JsonPath,
    Names,
    NotTest,
    RefusedJsonPath,
    RegexMatch,
    Test,
    parse_json_path,
    tests_in,
)
from dagster_smt.model.schema import BOOLEAN, Schema, Type
from dagster_smt.values.java.regex import compile_java
from dagster_smt.values.json.path import Answer, Passes, StructShape, ValueShape, cuts_of, not_comparable
from dagster_smt.values.value_rule import IsNull

Tree = dict[str, Any]
"""A tree of names. Each name maps to the names below it: the fields ``a.b`` and ``a.c`` are ``{"a": {"b": {}, "c":
{}}}``.
"""


def check_json_path(option: str, text: str, single: bool = False) -> Iterator[tuple[str, str, str]]:
    """Yields the problems of ``text``, the JSONPath in the option ``option``, for ``Options.check``. With ``single``, a
    path that may match several fields is a problem.
    """
    try:
        path = parse_json_path(text)
        for step in path.steps:
            for test in tests_in(step.test) if isinstance(step, FilterStep) else ():
                if isinstance(test, RegexMatch):
                    # parsing the path compiles no patterns; a wrong one is reported here
                    compile_java(test.pattern)
    except RefusedJsonPath as refused:
        yield option, str(refused), SUBSET
    except ConfigError as error:
        yield option, error.problems[0].statement, error.problems[0].hint
    else:
        if single and not path.definite:
            yield option, f"'{text}' has a filter, but the option needs one value", "name the field: $.a.b"
        elif single and not path.steps:
            yield option, f"'{text}' names no field", "name a field ($.a.b); the whole key or value has no name"


def planned_answer(group: Group, path: JsonPath, at: Planning) -> Call:
    """Returns an expression that applies ``path`` to the struct ``group``. Its result is an answer, such as ``MATCH``:
    the same answer that ``values.json.path.answer`` gives for the same data as JSON. If the struct is null, the result
    is null.

    ``at`` collects the names in the path that the schema does not have. Such fields are treated as missing. A null
    field is read as its default.

    Raises:
        PlanError: SMT458 if the path compares bytes or dates.
    """
    _check_types(group.schema, path)
    tree: Tree = {}
    for names in _places(path):
        below = tree
        for name in names:
            below = below.setdefault(name, {})
    args: list[Expr] = []
    shape = _part(group, tree, args, (), at)
    return Call(Answer(path, shape), tuple(args))


def finding(path: JsonPath) -> Condition:
    """Returns a condition that is true for objects in which ``path`` finds a value.

    The condition is data, and can express only tests of top-level fields. ``Unknown`` takes the place of everything
    else. For ``$[?(@.a == 1 && @.b.c == 2)]``, the condition is the test of ``a`` and ``Unknown``.
    """
    conditions: list[Condition] = []
    for step in path.steps:
        if not isinstance(step, FilterStep):
            return AllConditions((*conditions, Unknown()))
        conditions.append(_passing(step.test))
    return AllConditions(tuple(conditions))


def _passing(test: Test) -> Condition:
    if isinstance(test, NotTest):
        return NotCondition(_passing(test.test))
    if isinstance(test, AllTests | AnyTest):
        parts = tuple(map(_passing, test.tests))
        if isinstance(test, AllTests):
            return AllConditions(parts)
        return AnyCondition(parts)
    if len(test.names) != 1:
        return Unknown()
    return FieldTest(test.names[0], Passes(test), cuts_of(test))


def _places(path: JsonPath) -> Iterator[Names]:
    """Yields the fields that ``path`` and its filters read: for ``$.a[?(@.b == 1)]``, ``("a", "b")`` and ``("a",)``.

    If ``a`` is an array, ``("a", "b")`` is not a field of a struct. ``_shape`` then reads ``a`` as a whole.
    """
    above: Names = ()
    for step in path.steps:
        if isinstance(step, str):
            above = (*above, step)
        else:
            for test in tests_in(step.test):
                yield (*above, *test.names)
    yield above


def _part(group: Group, tree: Tree, args: list[Expr], above: Names, at: Planning) -> StructShape:
    # `StructShape.read` takes the arguments in this order: the flag of a struct, then its fields
    args.append(Const(False, BOOLEAN) if group.present is None else Call(IsNull(), (group.present,)))
    fields = []
    for name, below in tree.items():
        route = (*above, name)
        if name in group.by_name:
            field = with_default(group.by_name[name], group)
            fields.append((name, _shape(field, below, args, route, at)))
        else:
            at.miss(route_text(route), tuple(group.by_name), name)
    return StructShape(tuple(fields))


def _shape(node: Node, tree: Tree, args: list[Expr], route: Names, at: Planning) -> ValueShape | StructShape:
    if isinstance(node, Group) or node.schema.type is Type.STRUCT:
        return _part(open_struct(node), tree, args, route, at)
    args.append(node.expr)
    return ValueShape(node.schema)


def _check_types(schema: Schema | None, path: JsonPath) -> None:
    for step in path.steps:
        if isinstance(step, str):
            schema = _below(schema, step)
            continue
        if schema is not None and schema.type is Type.ARRAY:
            schema = schema.values

        for test in tests_in(step.test):
            field = schema
            for name in test.names:
                field = _below(field, name)
            if field is not None and not isinstance(test, Exists) and _is_bytes_or_date(field):
                raise PlanError(not_comparable(test.names).problem)


def _below(schema: Schema | None, name: str) -> Schema | None:
    if schema is None or schema.type is Type.STRUCT:
        if schema is None:
            return None
        return schema.by_name.get(name)
    if schema.type is Type.MAP:
        return schema.values
    return None


def _is_bytes_or_date(schema: Schema) -> bool:
    return schema.logical in ("Date", "Time", "Timestamp") or (schema.type is Type.BYTES and schema.logical is None)
