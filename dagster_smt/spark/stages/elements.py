"""Changes the elements of arrays and maps on Spark with higher-order functions. No array is exploded into rows."""

from collections.abc import Callable
from typing import Any

from pyspark.sql import types as T

from dagster_smt.errors import DataError, EngineError, Problem, problem_of_record
from dagster_smt.interpret.closures import expr_function
from dagster_smt.model.cell import AnyItem, Call, Cell, Each, Expr, Group, Key, Node, Ref, Select, calls_in
from dagster_smt.model.paths.steps import Every, Index, Match
from dagster_smt.model.record import Record
from dagster_smt.model.schema import Schema, Type
from dagster_smt.spark import sql as F
from dagster_smt.spark.plain import plain_type, python_function, reader, to_plain, writer
from dagster_smt.spark.sql import Column
from dagster_smt.spark.workers import WorkerError
from dagster_smt.values.java.regex import may_take_long, too_long

Change = Callable[[Column], Column]


def changed(container: Column, each: Each, body: Change) -> Column:
    """Returns ``container``, an array or map, after the function ``body`` has changed its elements. Only the elements
    that the expression ``each`` selects are changed.
    """
    select, every = each.select, isinstance(each.select, Every)
    if each.schema.type is Type.ARRAY:
        if every:
            return F.transform(container, body)
        return F.transform(container, lambda x, i: F.when(_is_at(select, container, i), body(x)).otherwise(x))
    if every:
        return F.transform_values(container, lambda _, v: body(v))
    return F.transform_values(container, lambda k, v: F.when(_is_key(select, k), body(v)).otherwise(v))


def without(container: Column, each: Each) -> Column:
    """Returns ``container``, an array or map, without the elements that the expression ``each`` selects."""
    select, every = each.select, isinstance(each.select, Every)
    if each.schema.type is Type.ARRAY:
        return F.filter(container, lambda x, i: F.lit(False) if every else ~_is_at(select, container, i))
    return F.map_filter(container, lambda k, v: F.lit(False) if every else ~_is_key(select, k))


def some(container: Column, schema: Schema, select: Any, test: Change) -> Column:
    """Returns a boolean column: true if ``test`` is true for at least one element of ``container``. ``select`` limits
    the test to some elements, such as the element 0 or the key ``a``. The column is false if ``container``, an array or
    map, is null.
    """
    if isinstance(select, Index):
        number = select.number
        # A missing element would be tested like a null. Index 2 needs three elements, index -2 needs two.
        there = F.size(container) > (number if number >= 0 else -number - 1)
        # SQL counts elements from 1, and from -1 at the end
        result = there & test(F.try_element_at(container, F.lit(number + 1 if number >= 0 else number)))
    elif isinstance(select, Key):
        key = F.lit(select.name)
        result = F.map_contains_key(container, key) & test(F.try_element_at(container, key))
    elif schema.type is Type.ARRAY:
        result = F.exists(container, test)
    else:
        if isinstance(select, Every):
            chosen = container
        else:
            chosen = F.map_filter(container, lambda k, v: _is_key(select, k))
        result = F.exists(F.map_values(chosen), test)
    return F.coalesce(result, F.lit(False))


def _is_at(select: Any, container: Column, position: Column) -> Column:
    number = select.number
    return position == (F.lit(number) if number >= 0 else F.size(container) + F.lit(number))


def _is_key(select: Any, key: Column) -> Column:
    if isinstance(select, Key):
        return key == F.lit(select.name)
    # Spark's RLIKE searches with Java's own regular expressions, so the pattern needs no translation
    return key.rlike(select.java)


def schema_after(each: Each) -> Schema:
    """Returns the schema that an array or map has after the expression ``each`` has changed its elements."""
    if each.body is None:
        return each.schema
    return each.schema.with_(values=each.body.schema)


def is_python(call: Call) -> bool:
    """Returns True if the rule of ``call`` (a function of values) cannot be written as a Spark expression. Python must
    then run the rule.
    """
    return bool(getattr(call.rule, "needs_python", False))


def needs_python(each: Each) -> bool:
    """Returns True if Python, instead of Spark, must change the array or map of the expression ``each``. There are two
    such cases. (1) The expression contains a rule (a function of values) that cannot be written as a Spark
    expression. (2) The expression selects map keys by a pattern that is so complex that matching may take very long.
    """
    return _takes_long(each) or any(map(is_python, calls_in(each.body)))


def asks_python(any_item: AnyItem) -> bool:
    """Returns True if Python, instead of Spark, must test the elements of an array or map with ``any_item``. This is
    the case if ``any_item`` selects map keys by a pattern that is so complex that matching may take very long.
    """
    return _any_takes_long(any_item)


def _takes_long(each: Each) -> bool:
    return _is_long(each.select) or _any_takes_long(each.body)


def _any_takes_long(part: Node | Expr | None) -> bool:
    """Returns True if an expression inside ``part`` selects map keys by a pattern that is so complex that matching may
    take very long.
    """
    match part:
        case Cell():
            return _any_takes_long(part.expr)
        case Group():
            return _any_takes_long(part.present) or any(_any_takes_long(child) for _, child in part.fields)
        case Call():
            return any(map(_any_takes_long, part.args))
        case Each():
            return _takes_long(part) or _any_takes_long(part.container)
        case AnyItem():
            return _is_long(part.select) or _any_takes_long(part.when) or _any_takes_long(part.container)
    return False


def _is_long(select: Select) -> bool:
    return isinstance(select, Match) and may_take_long(select.java)


def problems_of(each: Each) -> list[Problem]:
    """Returns the problems that can occur while the expression ``each`` changes an element. The first problem in the
    list is the problem that is checked first.
    """
    failures: list[DataError] = [too_long()] if _takes_long(each) else []
    for call in calls_in(each.body):
        failures += [call.rule.failure()] if call.rule.may_fail else []  # type: ignore[attr-defined]
        failures += call.rule.other_failures()
    return list(dict.fromkeys(error.problem for error in failures))


def python_elements(each: Each) -> Callable[[Column], Column]:
    """Returns a UDF that changes a whole array or map in Python, as the expression ``each`` describes.

    The UDF returns a struct with the fields ``v``, ``why`` and ``raised``. ``v`` is the new array or map (dates and
    timestamps are numbers). If an element fails, ``v`` is null, and one of the two other fields explains the failure.
    ``why`` is a position in the list ``problems_of(each)``. ``raised`` is the class of an unexpected exception.
    """
    read, write, known = reader(each.schema), writer(schema_after(each)), problems_of(each)
    # the container is the whole value of a record that exists only for this call
    change = expr_function(Each(Ref(("value",)), each.schema, each.select, each.item, each.body))

    def run(value: Any) -> Any:
        try:
            return write(change(Record(None, value=read(value)))), None, None
        except EngineError as error:
            raise WorkerError(error) from None
        except Exception as error:  # noqa: BLE001 whatever it is, the value has it
            problem = problem_of_record(error)
            # a problem that the rules declare gets its own text in the plan; any other exception counts as unforeseen
            if problem in known:
                return None, known.index(problem), None
            return None, None, type(error).__name__

    fields = [T.StructField("v", plain_type(schema_after(each))), T.StructField("why", T.IntegerType())]
    fields.append(T.StructField("raised", T.StringType()))
    function = python_function(run, [plain_type(each.schema)], T.StructType(fields))
    return lambda container: function(to_plain(container, each.schema))


def python_answer(any_item: AnyItem) -> Callable[[Column], Column]:
    """Returns a UDF that is true if at least one element of an array or map satisfies the test of ``any_item``.

    If the test raises an exception, the UDF returns null. The record still fails, because the ``Each`` expression that
    changes the same elements also fails.
    """
    read = reader(any_item.schema)
    ask = expr_function(AnyItem(Ref(("value",)), any_item.schema, any_item.select, any_item.item, any_item.when))

    def run(value: Any) -> bool | None:
        try:
            return ask(Record(None, value=read(value)))
        except Exception as error:  # noqa: BLE001 whatever the error is, the change of the elements reports it
            problem_of_record(error)
            return None

    function = python_function(run, [plain_type(any_item.schema)], T.BooleanType())
    return lambda container: function(to_plain(container, any_item.schema))
