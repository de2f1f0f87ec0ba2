"""Builds Spark SQL expressions as text, with the names that ``pyspark.sql.functions`` and ``Column`` use. For example,
``F.lower(F.col("a"))`` is SQL text that calls ``lower`` with the column ``a``. ``select`` passes the texts to Spark.

This is faster than PySpark's own ``Column``, which calls the JVM several times for each method. A call takes a tenth of
a millisecond, and a table of 300 fields needs tens of thousands of calls. A value rule of a transform works with this
module, and also with PySpark's functions. The caller passes one of the two as ``F`` to the rule's method
``column(F, …)``.

Operators are written as functions, without extra parentheses. At each opening parenthesis, Spark's parser looks ahead
to the closing parenthesis, and keeps the result in memory as long as the process lives.

SQL text cannot contain a Python function. So the function ``python`` reserves a column for the result of a Python
function. The function ``select`` adds this column to the frame before it selects anything.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import reduce
from itertools import count
from operator import or_
from typing import Any, Union

from pyspark.sql import DataFrame
from pyspark.sql import functions as spark_functions
from pyspark.sql import types as T

from dagster_smt.spark.versions import missing

Operand = Union["Column", str, int, float, bool, Decimal, bytes, bytearray, None]
Needs = Mapping[str, tuple[Callable[..., Any], tuple["Column", ...]]]
"""Maps the name of a result column to a pair: the Python function (a UDF) that computes the column, and the arguments
of the function.
"""
_TEXTS = {"regexp_replace": (1, 2), "translate": (1, 2), "format_string": (0,), "concat_ws": (0,)}
"""Maps the name of a function to the positions of its arguments that are literal strings, as in PySpark:
``regexp_replace(column, "a", "b")`` has literals at 1 and 2. In all other positions, a string is the name of a column.
"""
_PART = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)")
"""One part of a name: in backticks, with doubled backticks inside of the part, or plain."""
_numbers = count(1)


class Column:
    """A Spark SQL expression as text. See ``pyspark.sql.Column`` for the methods."""

    __slots__ = ("name", "needs", "text")
    # a class that defines ``__eq__`` has no hash by default
    __hash__ = object.__hash__

    def __init__(self, text: str, needs: Needs | None = None, name: str | None = None):
        self.text, self.needs, self.name = text, needs or {}, name

    def __repr__(self) -> str:
        return f"Column<{self.text}>"

    def __bool__(self) -> bool:
        raise TypeError("an expression is neither true nor false: combine expressions with & | ~")

    def alias(self, name: str) -> "Column":
        return Column(self.text, self.needs, name)

    def cast(self, kind: T.DataType | str) -> "Column":
        return Column(f"CAST({self.text} AS {sql_type(kind)})", self.needs)

    def try_cast(self, kind: T.DataType | str) -> "Column":
        return Column(sql_try_cast(self.text, kind), self.needs)

    def isNull(self) -> "Column":  # noqa: N802
        return _called("isnull", self)

    def isNotNull(self) -> "Column":  # noqa: N802
        return _called("isnotnull", self)

    def isin(self, *values: Operand) -> "Column":
        return reduce(or_, [self == value for value in values], lit(False))

    def between(self, low: Operand, high: Operand) -> "Column":
        return (self >= low) & (self <= high)

    def rlike(self, pattern: str) -> "Column":
        return _called("rlike", self, pattern)

    def startswith(self, text: Operand) -> "Column":
        return _called("startswith", self, text)

    def endswith(self, text: Operand) -> "Column":
        return _called("endswith", self, text)

    def contains(self, text: Operand) -> "Column":
        return _called("contains", self, text)

    def eqNullSafe(self, other: Operand) -> "Column":  # noqa: N802
        return _called("<=>", self, other)

    def bitwiseOR(self, other: Operand) -> "Column":  # noqa: N802
        return _joined("|", self, lit(other))

    def getField(self, name: str) -> "Column":  # noqa: N802
        return Column(f"{self.text}.{quoted(name)}" if name else f"{self.text}['']", self.needs)

    def getItem(self, key: Operand) -> "Column":  # noqa: N802
        item = lit(key)
        return Column(f"{self.text}[{item.text}]", {**self.needs, **item.needs})

    __getitem__ = getItem

    def __and__(self, other: Operand) -> "Column":
        return _joined("and", self, lit(other))

    def __or__(self, other: Operand) -> "Column":
        return _joined("or", self, lit(other))

    def __invert__(self) -> "Column":
        return _called("not", self)

    def __neg__(self) -> "Column":
        return _called("negative", self)

    def __eq__(self, other: object) -> "Column":  # type: ignore[override]
        return _called("=", self, other)

    def __ne__(self, other: object) -> "Column":  # type: ignore[override]
        return ~(self == other)

    def __lt__(self, other: Operand) -> "Column":
        return _called("<", self, other)

    def __le__(self, other: Operand) -> "Column":
        return _called("<=", self, other)

    def __gt__(self, other: Operand) -> "Column":
        return _called(">", self, other)

    def __ge__(self, other: Operand) -> "Column":
        return _called(">=", self, other)

    def __add__(self, other: Operand) -> "Column":
        return _called("+", self, other)

    def __sub__(self, other: Operand) -> "Column":
        return _called("-", self, other)

    def __mul__(self, other: Operand) -> "Column":
        return _called("*", self, other)

    def __truediv__(self, other: Operand) -> "Column":
        return _called("/", self, other)

    def __mod__(self, other: Operand) -> "Column":
        return _called("%", self, other)


class _Joined(Column):
    """An expression with one operator and many operands, such as ``a AND b AND c AND d``. It is written as
    ``(a AND b) AND (c AND d)``. The form ``((a AND b) AND c) AND d`` would nest more deeply, and Spark's parser
    recurses once for each nesting level.
    """

    __slots__ = ("operands", "operator")

    def __init__(self, operator: str, operands: tuple[str, ...], needs: Needs):
        self.operator, self.operands = operator, operands
        super().__init__(_halved(operator, operands), needs)


def _halved(operator: str, operands: tuple[str, ...]) -> str:
    if len(operands) == 1:
        return operands[0]
    # with 300 operands in a row, Spark's parser would recurse 300 times; in halves, it recurses nine times
    half = len(operands) // 2
    return f"{quoted(operator)}({_halved(operator, operands[:half])}, {_halved(operator, operands[half:])})"


class Case(Column):
    """A ``CASE WHEN`` expression. Spark 4 can write it as a function, ``when(a, b, c)``. If the value after ELSE is
    also a ``Case``, both become one expression with all branches.
    """

    __slots__ = ("branches", "rest")

    def __init__(self, branches: tuple[str, ...], needs: Needs, rest: str = ""):
        self.branches, self.rest = branches, rest
        super().__init__(_case(branches, rest), needs)

    def when(self, condition: Column, value: Operand) -> "Case":
        """Adds a branch, whose result is ``value`` if ``condition`` is true."""
        other = when(condition, value)
        return Case((*self.branches, *other.branches), {**self.needs, **other.needs})

    def otherwise(self, value: Operand) -> Column:
        """Sets the value for rows in which no condition is true."""
        other = lit(value)
        needs = {**self.needs, **other.needs}
        if isinstance(other, Case):
            return Case((*self.branches, *other.branches), needs, other.rest)
        return Case(self.branches, needs, other.text)


def _case(branches: tuple[str, ...], rest: str) -> str:
    if "when as a function" in missing():
        pairs = zip(branches[::2], branches[1::2], strict=True)
        whens = " ".join(f"WHEN {condition} THEN {value}" for condition, value in pairs)
        return f"CASE {whens} ELSE {rest} END" if rest else f"CASE {whens} END"
    return f"`when`({', '.join((*branches, rest) if rest else branches)})"


def lit(value: Any) -> Column:
    """Returns a literal for ``value``. The literal has the type that PySpark would choose."""
    if isinstance(value, Column):
        return value
    return Column(_literal(value))


def _literal(value: Any) -> str:
    if value is None or isinstance(value, bool):
        if value is None:
            return "NULL"
        return str(value).upper()
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bytes | bytearray):
        return f"X'{value.hex()}'"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal):
        # without BD, SQL would read Decimal(1) as an integer
        return f"{value:f}BD"
    # SQL has no literals for NaN and infinity
    if value != value or value in (float("inf"), float("-inf")):
        return f"CAST('{value}' AS DOUBLE)"
    # without D, SQL would read 1.5 as a decimal
    return f"{value!r}D"


def text(value: str) -> str:
    """Returns a string literal for ``value`` that has the same meaning with every setting of Spark's parser.

    One setting determines whether a backslash is an escape character. A second setting determines whether Spark
    replaces ``${…}`` with a variable of the session.
    """
    if value.isprintable() and not set(value) & {"'", "\\", "$"}:
        return f"'{value}'"
    return f"CAST(X'{value.encode('utf-8', 'replace').hex()}' AS STRING)"


def parts_of(name: str) -> list[str]:
    """Splits ``name``, the name of a table or the path of a column, into its parts, and removes the backticks around
    them: ``lake.`a``b`.orders`` becomes ``["lake", "a`b", "orders"]``.
    """
    parts = []
    for in_backticks, plain in _PART.findall(name):
        parts.append(in_backticks.replace("``", "`") or plain)
    return parts


def quoted(name: str) -> str:
    """Returns ``name`` as a quoted name for Spark SQL."""
    return "`" + name.replace("`", "``") + "`"


def sql_type(kind: T.DataType | str) -> str:
    """Returns the type ``kind`` in Spark SQL. Field names may contain any characters."""
    if isinstance(kind, T.StructType):
        fields = []
        for f in kind.fields:
            fields.append(f"{quoted(f.name)}: {sql_type(f.dataType)}")
        return f"STRUCT<{', '.join(fields)}>"
    if isinstance(kind, T.ArrayType):
        return f"ARRAY<{sql_type(kind.elementType)}>"
    if isinstance(kind, T.MapType):
        return f"MAP<{sql_type(kind.keyType)}, {sql_type(kind.valueType)}>"
    if isinstance(kind, T.TimestampType):  # a setting of the session determines the meaning of TIMESTAMP
        return "TIMESTAMP_LTZ"
    if isinstance(kind, str):
        return kind
    return kind.simpleString()


def col(name: str) -> Column:
    """Returns the column ``name`` of the frame, or a field of a column, such as ``side.field``. Internal names contain
    no other dots.
    """
    return Column(".".join(map(quoted, name.split("."))), name=name)


def when(condition: Column, value: Operand) -> Case:
    """Returns an expression that is ``value`` if ``condition`` is true, else null."""
    result = lit(value)
    return Case((condition.text, result.text), {**condition.needs, **result.needs})


def struct(*columns: Column) -> Column:
    """Returns a struct that consists of named ``columns``."""
    texts = []
    for column in columns:
        texts.append(f"{text(column.name or '')}, {column.text}")
    pairs = ", ".join(texts)
    return Column(f"named_struct({pairs})", _needs(columns))


def alias_all(columns: Mapping[str, Column]) -> list[Column]:
    """Returns the columns of a dict as a list. The key of each column becomes its alias."""
    return [column.alias(name) for name, column in columns.items()]


def create_map(*columns: Column) -> Column:
    """Returns a map. ``columns`` contains keys and values alternately."""
    return call_function("map", *columns)


def call_function(name: str, *arguments: Operand) -> Column:
    """Returns a call of the Spark SQL function ``name``. A plain string among ``arguments`` raises ``TypeError``,
    because the string may mean a literal or a column. Functions that take literal strings, such as ``translate``, are
    an exception.
    """
    known = _TEXTS.get(name, ())
    for number, argument in enumerate(arguments):
        # in PySpark's own functions, a string means a column in most positions, and a literal in some
        if isinstance(argument, str) and number not in known:
            raise TypeError(f"{name}: say F.col({argument!r}) or F.lit({argument!r})")
    return _called(name, *arguments)


def aggregate(container: Column, start: Operand, merge: Callable[[Column, Column], Column]) -> Column:
    """Combines all elements of the array ``container`` into one value, as ``functools.reduce`` does. ``start`` is the
    first result. ``merge(result, element)`` returns the next result.
    """
    first = lit(start)
    return _of_elements("aggregate", first.text)(container, merge)


def _of_elements(name: str, *others: str) -> Callable[[Column, Callable[..., Column]], Column]:
    """Returns a Python function that writes a higher-order SQL function, such as ``transform(array, x -> …)``. Its
    arguments are an array or a map, and a Python function that builds the lambda's body.

    Args:
        name: The name of the SQL function.
        others: Further arguments as SQL text. They come between the array and the lambda.
    """

    def higher_order(container: Column, function: Callable[..., Column]) -> Column:
        # unique names, so that a lambda inside a lambda does not hide the outer element
        variables = [f"_x{next(_numbers)}" for _ in inspect.signature(function).parameters]
        body = lit(function(*map(Column, variables)))
        if body.needs:
            raise NotImplementedError("a Python function takes whole arrays and maps, not their elements")
        if len(variables) == 1:
            parameters = variables[0]
        else:
            parameters = f"({', '.join(variables)})"
        arguments = ", ".join((container.text, *others, f"{parameters} -> {body.text}"))
        return Column(f"{name}({arguments})", container.needs)

    return higher_order


transform, filter, exists = _of_elements("transform"), _of_elements("filter"), _of_elements("exists")
transform_keys, transform_values = _of_elements("transform_keys"), _of_elements("transform_values")
map_filter = _of_elements("map_filter")


def try_validate_utf8(value: Column) -> Column:
    """Returns the string ``value``, or null if its bytes are not valid UTF-8."""
    if "try_validate_utf8" not in missing():
        return call_function("try_validate_utf8", value)
    # Spark formats a Java string, in which invalid bytes have been replaced
    return when(call_function("format_string", "%s", value) == value, value)


def sql_try_cast(name: str, kind: T.DataType | str) -> str:
    """Returns the SQL for a cast of the column ``name`` to the type ``kind``. The cast returns null if a value does not
    fit. ``name`` must be quoted.
    """
    return f"TRY_CAST({name} AS {sql_type(kind)})"


def __getattr__(name: str) -> Callable[..., Column]:
    """Returns a Python function that builds a call of the SQL function ``name``. So ``F.upper(column)`` works for each
    function of PySpark that has the same name in SQL.
    """
    # Value rules call ``F.upper(column)``, where ``F`` is this module or ``pyspark.sql.functions``. So this module must
    # offer every function of PySpark. Python calls a module's ``__getattr__`` for each name that the module does not
    # define.
    if name.startswith("_") or not hasattr(spark_functions, name):
        raise AttributeError(f"Spark SQL has no function {name}")
    return lambda *arguments: call_function(name, *arguments)


def python(function: Callable[..., Any], *arguments: Column) -> Column:
    """Returns a column with the result of ``function``, which ``pyspark.sql.functions.udf`` has created."""
    name = f"u{next(_numbers)}"
    return Column(quoted(name), {name: (function, arguments)}, name)


def select(frame: DataFrame, *columns: Column, also: bool = False) -> DataFrame:
    """Returns a frame with ``columns``. If ``also`` is true, the frame keeps its own columns as well."""
    needs = _needs(columns)
    if needs:
        frame = _with_results(frame, needs)
    texts = []
    for c in columns:
        texts.append(c.text if c.name is None else f"{c.text} AS {quoted(c.name)}")
    if also:
        return _all_except(frame, needs, texts)
    return frame.selectExpr(*texts)


def _all_except(frame: DataFrame, gone: Iterable[str], texts: Iterable[str] = ()) -> DataFrame:
    """Returns ``frame`` without the columns in ``gone``, and with the expressions in ``texts`` as additional
    columns.
    """
    names = list(gone)
    if not names:
        return frame.selectExpr("*", *texts)
    if "* EXCEPT" in missing():
        return frame.selectExpr("*", *texts).drop(*names)
    return frame.selectExpr(f"* EXCEPT ({', '.join(map(quoted, names))})", *texts)


def _with_results(frame: DataFrame, needs: Needs) -> DataFrame:
    """Adds a column to ``frame`` for each Python function in ``needs``, with the function's result. An argument of a
    function may need another Python function, whose column is then added first.
    """
    inner = _needs(argument for _, own in needs.values() for argument in own)
    if inner:
        frame = _with_results(frame, inner)
    results = {}
    for n, (f, arguments) in needs.items():
        if n not in inner:
            # SQL text cannot call the UDF object, so this column is PySpark's own
            results[n] = f(*(spark_functions.expr(a.text) for a in arguments))
    frame = frame.select("*", *(column.alias(name) for name, column in results.items()))
    # results that only other Python functions needed
    gone = [name for name in inner if name not in needs]
    if gone:
        return _all_except(frame, gone)
    return frame


def _called(name: str, *arguments: object) -> Column:
    """Returns an expression that calls ``name``, which is an operator or a function. In Spark SQL, operators can also
    be called as functions.
    """
    columns = [lit(argument) for argument in arguments]
    return Column(f"{quoted(name)}({', '.join(column.text for column in columns)})", _needs(columns))


def _joined(operator: str, left: Column, right: Column) -> Column:
    operands = (*_operands(operator, left), *_operands(operator, right))
    return _Joined(operator, operands, {**left.needs, **right.needs})


def _operands(operator: str, column: Column) -> tuple[str, ...]:
    if isinstance(column, _Joined) and column.operator == operator:
        return column.operands
    return (column.text,)


def _needs(columns: Iterable[Column]) -> dict[str, tuple[Callable[..., Any], tuple[Column, ...]]]:
    results = {}
    for column in columns:
        for name, need in column.needs.items():
            results[name] = need
    return results
