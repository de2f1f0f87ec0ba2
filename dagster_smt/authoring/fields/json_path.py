"""JSONPath in options and plans: which fields of a struct a path needs, and what cannot be compared."""

from collections.abc import Iterator
from typing import Any

from dagster_smt.authoring.texts import with_default
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
from dagster_smt.values.basic import IsNull
from dagster_smt.values.java.regex import compile_java
from dagster_smt.values.json.path import Answer, Passes, StructShape, ValueShape, cuts_of, not_comparable

Tree = dict[str, Any]
"""Names, each with the names below it."""


def check_json_path(option: str, text: str, single: bool = False) -> Iterator[tuple[str, str, str]]:
    """Problems of a configured path, for ``Options.check``. ``single``: it must lead to one field at most."""
    try:
        path = parse_json_path(text)
        for step in path.steps:
            for test in tests_in(step.test) if isinstance(step, FilterStep) else ():
                if isinstance(test, RegexMatch):
                    compile_java(test.pattern)
    except RefusedJsonPath as refused:
        yield option, str(refused), SUBSET
    except ConfigError as error:
        yield option, error.problems[0].statement, error.problems[0].hint
    else:
        if single and not path.definite:
            yield option, f"'{text}' has a filter, but one value is needed", "name the field: $.a.b"
        elif single and not path.steps:
            yield option, f"'{text}' names no field", "name one ($.a.b); the whole key or value has no name"


def planned_answer(group: Group, path: JsonPath, at: Planning) -> Call:
    """The expression of what a path finds in a struct (``values.json_path.answer``); null where the struct is.

    Fields that the schema does not have are reported, and missing for the path. A null is read as its default.

    Raises:
        PlanError: SMT458, the path compares bytes or dates.
    """
    _check_types(group.schema, path)
    wanted: Tree = {}
    for names in _places(path):
        below = wanted
        for name in names:
            below = below.setdefault(name, {})
    args: list[Expr] = []
    shape = _part(group, wanted, args, (), at)
    return Call(Answer(path, shape), tuple(args))


def finding(path: JsonPath) -> Condition:
    """When a path finds something in an object, as data: as far as it begins with filters of the object itself."""
    found: list[Condition] = []
    for step in path.steps:
        if not isinstance(step, FilterStep):
            return AllConditions((*found, Unknown()))
        found.append(_passing(step.test))
    return AllConditions(tuple(found))


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
    """The fields that a path looks at, where no array is on the way."""
    above: Names = ()
    for step in path.steps:
        if isinstance(step, str):
            above = (*above, step)
        else:
            yield from ((*above, *test.names) for test in tests_in(step.test))
    yield above


def _part(group: Group, wanted: Tree, args: list[Expr], above: Names, at: Planning) -> StructShape:
    args.append(Const(False, BOOLEAN) if group.present is None else Call(IsNull(), (group.present,)))
    fields = []
    for name, below in wanted.items():
        route = (*above, name)
        if name in group.by_name:
            field = with_default(group.by_name[name], group)
            fields.append((name, _shape(field, below, args, route, at)))
        else:
            at.miss(route_text(route), tuple(group.by_name), name)
    return StructShape(tuple(fields))


def _shape(node: Node, wanted: Tree, args: list[Expr], route: Names, at: Planning) -> ValueShape | StructShape:
    if isinstance(node, Group) or node.schema.type is Type.STRUCT:
        return _part(open_struct(node), wanted, args, route, at)
    args.append(node.expr)
    return ValueShape(node.schema)


def _check_types(schema: Schema | None, path: JsonPath) -> None:
    for step in path.steps:
        if isinstance(step, str):
            schema = _below(schema, step)
            continue
        if schema is not None and schema.type is Type.ARRAY:
            schema = schema.values
        else:
            schema = schema
        for test in tests_in(step.test):
            found = schema
            for name in test.names:
                found = _below(found, name)
            if found is not None and not isinstance(test, Exists) and _is_bytes_or_date(found):
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
