"""Translates expressions into Spark columns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from pyspark.sql import types as T

from dagster_smt.model.cell import AnyItem, Call, Cell, Const, Each, Expr, Group, Node, Ref, Rule
from dagster_smt.model.schema import BOOLEAN, INT32, STRING, Schema, Type, optional, timestamp
from dagster_smt.spark import sql as F
from dagster_smt.spark.flat_columns import Layout, Place, Struct, field_of, find_place, presence_of, value_of
from dagster_smt.spark.plain import from_plain, plain_type, python_function, to_plain
from dagster_smt.spark.sql import Column
from dagster_smt.spark.stages.early_calls import EarlyCalls, exception_class, in_python
from dagster_smt.spark.stages.elements import (
    asks_python,
    changed,
    is_python,
    needs_python,
    python_answer,
    python_elements,
    schema_after,
    some,
    without,
)
from dagster_smt.spark.typed_literals import literal
from dagster_smt.spark.types import internal_names, internal_type
from dagster_smt.values.headers.fields import AppendHeader, HeaderBytes

_BYTES = Schema(Type.BYTES, optional=True)
METADATA_SCHEMAS = {"topic": STRING, "timestamp": timestamp(optional=True), "partition": optional(INT32)}


@dataclass
class Scope:
    """The columns to which the expressions of one stage refer.

    Attributes:
        sides: Maps ``key`` and ``value`` to the columns that hold the key and the value. There is no entry for a key or
            value that the records do not have.
        columns: Maps topic, partition, offset, timestamp and headers to the names of their columns.
        topics: All possible topics. Empty if a stage has changed the topic.
        items: For expressions about the elements of arrays and maps. Maps the name of an element in such an expression
            to a pair: the column of the element, and its schema.
        in_python: A cache of the columns that Python computes, so that each of them is computed only once. A key is the
            ``id()`` of a ``Call`` or ``Each``. The value contains the column and this object, so that no other object
            gets the same id.
        raised: Pairs of a column and a rule. If the rule raises an unexpected exception, the column contains the text
            that the function ``exception_class`` returns for this exception.
        early: The rules that run while records are read.
    """

    sides: Mapping[str, Layout]
    columns: Mapping[str, str]
    topics: tuple[str, ...] = ()
    early: EarlyCalls | None = None
    items: Mapping[str, tuple[Column, Schema]] = field(default_factory=dict)
    in_python: dict[int, tuple[Expr, Schema, Column]] = field(default_factory=dict)
    raised: list[tuple[Column, Rule | None]] = field(default_factory=list)

    def place(self, ref: Ref) -> Place | None:
        """Returns the location of the value that ``ref`` names, such as ``value.amount``: its column, and the path
        inside the column. Returns None if the record has no key, or no value.
        """
        layout = self.sides.get(ref.path[0])
        if layout is None:
            return None
        return find_place(layout, ref.path[1:])

    def value(self, expr: Expr, schema: Schema | None = None) -> Column:
        """Translates the expression ``expr`` into a Spark column with its value. ``schema`` is the declared schema of
        the value.
        """
        if isinstance(expr, Const):
            return literal(expr.value, expr.schema)
        if isinstance(expr, Ref):
            return self._ref(expr)
        if isinstance(expr, Each):
            return self._each(expr)
        if isinstance(expr, AnyItem):
            return self._any_item(expr)
        return self._call(expr, schema)

    def node(self, node: Node) -> Column:
        """Returns one column with the whole value of ``node``, a part of the plan. A struct whose fields are in
        separate columns becomes one struct column.
        """
        if isinstance(node, Cell):
            return self.value(node.expr, node.schema)
        pairs = zip(internal_names(node.schema), node.fields, strict=True)
        fields = []
        for name, (_, child) in pairs:
            fields.append(self.node(child).alias(name))
        struct = F.struct(*fields)
        if node.present is None:
            return struct
        return F.when(self.presence(node.present).isNotNull(), struct)

    def bound(self, item: str, column: Column, schema: Schema) -> "Scope":
        """Returns a scope for the expressions about the elements of an array or map. In this scope, the name ``item``
        means the element in ``column``.
        """
        return replace(self, items={**self.items, item: (column, schema)})

    def _each(self, each: Each) -> Column:
        if needs_python(each):
            return from_plain(self.python_each(each).getField("v"), schema_after(each))
        body, container, values = each.body, self.value(each.container, each.schema), each.schema.values
        assert values is not None
        if body is None:
            return without(container, each)
        return changed(container, each, lambda x: self.bound(each.item, x, values).node(body))

    def python_each(self, each: Each) -> Column:
        """Returns a column in which Python has changed the array or map of ``each``. The column is the struct that the
        UDF of the function ``python_elements`` returns. A second call with the same ``each`` returns the same column.
        """
        if id(each) not in self.in_python:
            result = python_elements(each)(self.value(each.container, each.schema))
            self.in_python[id(each)] = each, each.schema, result
            self.raised.append((result.getField("raised"), None))
        return self.in_python[id(each)][2]

    def _any_item(self, expr: AnyItem) -> Column:
        container, values = self.value(expr.container, expr.schema), expr.schema.values
        assert values is not None
        if asks_python(expr):
            return python_answer(expr)(container)
        test = lambda x: self.bound(expr.item, x, values).value(expr.when).isNotNull()  # noqa: E731
        return F.when(some(container, expr.schema, expr.select, test), F.lit(True))

    def presence(self, expr: Expr) -> Column:
        """Returns a column that is null if and only if the value of ``expr`` is null."""
        if isinstance(expr, Const):
            if expr.value is not None:
                return F.lit(True)
            return F.lit(None).cast("boolean")
        if isinstance(expr, Call) and not getattr(expr.rule, "reads_values", False):
            # such a rule only chooses one of its arguments, so the presence of the arguments suffices
            return expr.rule.column(F, *map(self.presence, expr.args))
        if not isinstance(expr, Ref) or expr.path[0] in self.items:
            return F.when(self.value(expr).isNotNull(), F.lit(True))
        place = self.place(expr)
        if place is None and expr.path[0] in ("key", "value"):
            return F.lit(None).cast("boolean")
        column = self._ref(expr) if place is None else presence_of(place)
        return F.when(column.isNotNull(), F.lit(True))

    def _ref(self, ref: Ref) -> Column:
        if ref.path[0] in ("key", "value"):
            place = self.place(ref)
            if place is None:
                return F.lit(None)
            return value_of(place)
        if ref.path[0] in self.items:
            column, schema = self.items[ref.path[0]]
            for name in ref.path[1:]:
                column, schema = field_of(column, schema, name), schema.by_name[name]
            return column
        return F.col(self.columns[ref.path[0]])

    def is_struct(self, expr: Expr) -> bool:
        """Returns True if ``expr`` is a struct whose fields are in separate columns. A rule can then only check whether
        the struct is null; it cannot read the fields.
        """
        if isinstance(expr, Ref) and expr.path[0] in self.sides:
            place = self.place(expr)
            return place is not None and isinstance(place.layout, Struct)
        if not isinstance(expr, Call) or not expr.args or getattr(expr.rule, "returns", None) is not None:
            return False
        return self.is_struct(
            expr.args[0]
        )  # a rule that does not declare the schema of its result returns its argument's schema

    def arguments(self, call: Call) -> list[Column]:
        """Returns a column for each argument of ``call``. If an argument is a struct whose fields are in separate
        columns, its column shows only whether the struct is null.
        """
        results = []
        for a in call.args:
            results.append(self.presence(a) if self.is_struct(a) else self.value(a))
        return results

    def whole(self, expr: Expr) -> Column:
        """Returns one column with the whole value of ``expr``, even if it is a struct whose fields are in separate
        columns.
        """
        if isinstance(expr, Call) and self.is_struct(expr):
            return expr.rule.column(F, *map(self.whole, expr.args))
        return self.value(expr)

    def _appended(self, rule: AppendHeader, headers: Expr, value: Expr) -> Column:
        rule_of_bytes = HeaderBytes(rule.schema)
        if not rule_of_bytes.needs_python:
            return rule.appended(F, self.value(headers), rule_of_bytes.column(F, self.whole(value)))
        data = python_column(rule_of_bytes, (rule.schema,), _BYTES)(self.whole(value))
        self.raised.append((data.getField("raised"), rule_of_bytes))
        return rule.appended(F, self.value(headers), data.getField("v"))

    def _call(self, call: Call, schema: Schema | None) -> Column:
        if isinstance(call.rule, AppendHeader):
            return self._appended(call.rule, *call.args)
        if not is_python(call):
            early = self._early_in_lane(call, schema)
            if early is not None:
                return early
            column = call.rule.column(F, *self.arguments(call))
            # the column of an expression that always fails is a null without a type
            if schema is None or not call.rule.may_fail:
                return column
            return column.cast(internal_type(schema))
        returns = schema or self._returned(call)
        # ``topics`` is empty after a router, because then any string may be a topic
        if call.args == (Ref(("topic",)),) and self.topics:
            return self._by_topic(call.rule, F.col(self.columns["topic"]), returns)
        kinds = tuple(map(self.schema_of, call.args))
        # the reader sees one field at a time
        early = self._early(call, kinds[0], returns) if len(kinds) == 1 else None
        if early is not None:
            return early
        # one call may occur in two places with different schemas, and then needs a result for each schema
        known = self.in_python.get(id(call))
        if known is None or known[1] != returns:
            result = python_column(call.rule, kinds, returns)(*self.arguments(call))
            self.raised.append((result.getField("raised"), call.rule))
            known = self.in_python[id(call)] = call, returns, result
        return from_plain(known[2].getField("v"), returns)

    def _returned(self, call: Call) -> Schema:
        """Returns the schema of the result of ``call``, which Python runs.

        Usually the rule declares this schema. If it does not, there are two cases. If the first argument is an array or
        a map, the result has the argument's schema. Otherwise the result is a ``BOOLEAN``.
        """
        returns: Schema | None = getattr(call.rule, "returns", None)
        if returns is not None:
            return returns
        argument = self.schema_of(call.args[0]) if call.args else None
        if argument is not None and argument.type in (Type.ARRAY, Type.MAP):
            return argument
        return BOOLEAN

    def _by_topic(self, rule: Rule, topic: Column, returns: Schema) -> Column:
        """Returns a column with the result of ``rule``, a Python function of the topic's name. Python computes the
        result for each possible topic now. Spark then chooses the result by the topic of each record.
        """
        # a run has few topics, so one WHEN per topic is cheaper than a trip to Python per record
        column, raised = F.lit(None).cast(internal_type(returns)), F.lit(None).cast("string")
        for name in self.topics:
            try:
                value = rule.python(name)
            except Exception as error:  # noqa: BLE001 whatever the error is, the topic's records fail with it
                what = exception_class(error, rule)
                raised = F.when(topic == F.lit(name), F.lit(what)).otherwise(raised)
                continue
            column = F.when(topic == F.lit(name), literal(value, returns)).otherwise(column)
        self.raised.append((raised, rule))
        return column

    def _early_in_lane(self, call: Call, returns: Schema | None) -> Column | None:
        """Returns the column with the result of ``call``, if the JVM lane (the Java code inside Spark) runs the call
        while reading records. The lane does so if Catalyst would be slower. Otherwise returns None.
        """
        if self.early is None or returns is None or len(call.args) != 1:
            return None
        source = self.schema_of(call.args[0])
        if source is None or not self.early.wants(call.rule, source):
            return None
        return self._early(call, source, returns)

    def _early(self, call: Call, source: Schema | None, returns: Schema) -> Column | None:
        """Returns the column with the result of ``call``, if the reader of keys and values can run the call. This needs
        a field that no stage has changed. Otherwise returns None.
        """
        (argument,) = call.args
        place = self.place(argument) if isinstance(argument, Ref) else None
        if self.early is None or source is None or place is None or place.exact is None:
            return None
        side_and_call = self.early.place(call, place.exact, source, returns)
        if side_and_call is None:
            return None
        self.raised.append((F.col(f"{side_and_call[0]}.{side_and_call[1].raised}"), call.rule))
        return from_plain(F.col(f"{side_and_call[0]}.{side_and_call[1].column}"), returns)

    def schema_of(self, expr: Expr) -> Schema | None:
        """Returns the schema of ``expr``; None if it is not known."""
        if isinstance(expr, Const):
            return expr.schema
        if isinstance(expr, Call):
            return getattr(expr.rule, "returns", None) or self.schema_of(expr.args[0])
        if isinstance(expr, Each | AnyItem):
            if isinstance(expr, Each):
                return schema_after(expr)
            return BOOLEAN
        if expr.path[0] in self.items:
            schema = self.items[expr.path[0]][1]
            for name in expr.path[1:]:
                schema = schema.by_name[name]
            return schema
        if expr.path[0] not in self.sides:
            return METADATA_SCHEMAS.get(expr.path[0])
        place = self.place(expr)
        assert place is not None
        schema = place.layout.schema
        for name in place.below:
            schema = schema.by_name[name]
        return schema

    def failed(self, call: Call, result: Column) -> Column:
        """Returns a condition that is true if ``call`` has failed. ``result`` is the column of the call's result."""
        check: Callable[..., Column] = call.rule.failed  # type: ignore[attr-defined]
        return F.coalesce(check(F, result, *self.arguments(call)), F.lit(False))

    def failed_inside(self, call: Call, around: tuple[Each, ...]) -> Column:
        """Returns a boolean column that is true if ``call`` has failed for at least one element of an array or map.
        ``around`` lists the ``Each`` expressions that contain the call, from the outermost to the innermost.
        """
        if not around:
            return self.failed(call, self.value(call))
        each, values = around[0], around[0].schema.values
        assert values is not None
        test = lambda x: self.bound(each.item, x, values).failed_inside(call, around[1:])  # noqa: E731
        return some(self.value(each.container, each.schema), each.schema, each.select, test)


def failing_calls(expr: Expr | None) -> list[Call]:
    """Returns the calls in ``expr`` that may fail. The arguments of a call come before the call itself. Calls that
    change the elements of an array or map (the body of an ``Each``) are not included.
    """
    if isinstance(expr, Each):
        return failing_calls(expr.container)
    if not isinstance(expr, Call):
        return []
    inner = []
    for arg in expr.args:
        inner.extend(failing_calls(arg))
    if expr.rule.may_fail:
        return [*inner, expr]
    return inner


def eaches(expr: Expr | None) -> list[Each]:
    """Returns the ``Each`` expressions in ``expr``, which change the elements of arrays and maps, in the order in which
    they act. For example, one ``Each`` changes the array ``items``, and a second ``Each`` changes the resulting array:
    the result lists them in this order. An ``Each`` in the body of another ``Each`` is not included.
    """
    if isinstance(expr, Call):
        results = []
        for arg in expr.args:
            results.extend(eaches(arg))
        return results
    if isinstance(expr, Each):
        return [*eaches(expr.container), expr]
    return []


def failing_inside(node: Node | None, around: tuple[Each, ...]) -> list[tuple[Call, tuple[Each, ...]]]:
    """Returns the calls that may fail while an element of an array or map is changed. ``node`` describes the changed
    element.

    The result pairs each call with the ``Each`` expressions that contain the call. ``around`` lists the ``Each``
    expressions that contain ``node``.
    """
    if node is None:
        return []
    if isinstance(node, Group):
        pairs = [(call, around) for call in failing_calls(node.present)]
        return pairs + [pair for _, child in node.fields for pair in failing_inside(child, around)]
    pairs = [(call, around) for call in failing_calls(node.expr)]
    return pairs + [pair for each in eaches(node.expr) for pair in failing_inside(each.body, (*around, each))]


def python_column(rule: Rule, kinds: tuple[Schema | None, ...], returns: Schema) -> Callable[..., Column]:
    """Returns a UDF that runs ``rule`` in Python. The UDF takes one column for each schema in ``kinds``.

    The UDF returns a struct with the fields ``v`` and ``raised``. ``v`` is the result (dates and timestamps are
    numbers), or null if the rule failed. ``raised`` is the class of an unexpected exception, or null.
    """
    run = in_python(rule, rule.python, kinds, returns)
    fields = [T.StructField("v", plain_type(returns)), T.StructField("raised", T.StringType())]
    function = python_function(run, [plain_type(k) if k else T.StringType() for k in kinds], T.StructType(fields))

    def apply(*columns: Column) -> Column:
        pairs = zip(columns, kinds, strict=True)
        return function(*(c if kind is None else to_plain(c, kind) for c, kind in pairs))

    return apply
