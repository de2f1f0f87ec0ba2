"""Defines the base classes of value rules (functions of values that run in Python and on Spark). The module also
defines rules about nulls and defaults, for values of any type.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from dagster_smt.errors import data_error
from dagster_smt.model.schema import BOOLEAN, Schema, Type


@dataclass(frozen=True, slots=True)
class ValueRule:
    """The base class of value rules. A subclass adds the method ``python``, which computes the result for one record,
    and the method ``column``, which returns a Spark column with the results.
    """

    may_fail = False
    reads_values = False
    """True if the result of the rule may be null although no argument is null. For example, ``NotBlank`` returns null
    for a blank string.

    If False, Spark computes whether a result is null without computing the result: it only looks at whether the
    arguments are null.
    """
    needs_python = False
    """True if Catalyst has no function with the same results. On Spark, the method ``python`` then runs in an Arrow
    UDF.
    """
    returns: ClassVar[Schema | None] = None
    """The schema of the rule's result, which is needed if the result is an argument of another rule. None means that
    the result has the schema of the first argument.
    """

    def failure(self) -> Any:
        """Returns the error for a value on which the rule fails."""
        raise NotImplementedError

    def other_failures(self) -> tuple[Any, ...]:
        """Returns further errors that the method ``python`` may raise, even if ``may_fail`` is false."""
        return ()

    def bind(self) -> Callable[..., Any]:
        """Returns a function with the same results as the method ``python``. A rule may override ``bind`` and return a
        faster function.
        """
        return self.python  # type: ignore[attr-defined]

    def bind_many(self) -> Callable[[list[Any]], list[Any]]:
        """Returns a function that applies the rule to many values in one call. Only rules with a single argument
        support this.

        The results are the same as those of the function from ``bind``. If that function would raise an error for one
        of the values, this function also raises an error. A rule may override this method with a faster function.
        """
        one = self.bind()
        return lambda values: list(map(one, values))


@dataclass(frozen=True, slots=True)
class PythonRule(ValueRule):
    """The base class of rules that run only in Python, because Catalyst cannot express them."""

    needs_python = True

    def column(self, F: Any, *args: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} runs in Python")

    def failed(self, F: Any, result: Any, *args: Any) -> Any:
        """Returns a condition that is true if the rule has failed. ``result`` is the column of the rule's results. A
        rule whose result may be null must override this method, because a null normally means failure.
        """
        return result.isNull()


@dataclass(frozen=True, slots=True)
class NullStays(ValueRule):
    """The base class of rules whose result is null for a null, and for no other value. Another null means failure."""

    def failed(self, F: Any, result: Any, *args: Any) -> Any:
        """Returns a condition that is true if the rule has failed. ``result`` is the column of the rule's results."""
        return args[0].isNotNull() & result.isNull()


@dataclass(frozen=True, slots=True)
class KeepNull(ValueRule):
    """A rule that returns the second value if the first value is not null. If the first value is null, the result is
    null.
    """

    def python(self, value: Any, other: Any) -> Any:
        if value is None:
            return None
        return other

    def column(self, F: Any, value: Any, other: Any) -> Any:
        return F.when(value.isNotNull(), other)


@dataclass(frozen=True, slots=True)
class Default(ValueRule):
    """A rule that returns the first value, or the second value if the first is null (``replace.null.with.default``)."""

    def python(self, value: Any, default: Any) -> Any:
        if value is None:
            return default
        return value

    def column(self, F: Any, value: Any, default: Any) -> Any:
        return F.coalesce(value, default)


@dataclass(frozen=True, slots=True)
class DefaultUnder(ValueRule):
    """A rule that replaces a null in a field with a default, unless the struct around the field is null. The arguments
    are the field's value, the struct and the default.
    """

    def python(self, value: Any, parent: Any, default: Any) -> Any:
        if value is None and parent is not None:
            return default
        return value

    def column(self, F: Any, value: Any, parent: Any, default: Any) -> Any:
        # The value occurs only once in this expression. Otherwise each stage that copies a field would double the size
        # of Spark's plan.
        return F.coalesce(value, F.when(parent.isNotNull(), default))


@dataclass(frozen=True, slots=True)
class WhereNull(ValueRule):
    """A rule that replaces the value of a field with a default if the field's struct is null. For example, a struct
    ``address`` is null, and the default of the struct is ``{"zip": 7}``. The rule then returns 7 for the field ``zip``.

    The arguments are the field's value, the field's struct, the default of the field, and the structs around the
    field's struct. If one of these surrounding structs is null, the value stays.
    """

    def python(self, value: Any, struct: Any, default: Any, *parent: Any) -> Any:
        if struct is None and None not in parent:
            return default
        return value

    def column(self, F: Any, value: Any, struct: Any, default: Any, *parent: Any) -> Any:
        gone = struct.isNull()
        for above in parent:
            gone = gone & above.isNotNull()
        return F.when(gone, default).otherwise(value)


@dataclass(frozen=True, slots=True)
class Required(ValueRule):
    """A rule that rejects a null in a required field, as Connect's ``Struct.put`` does. The arguments are the field's
    value and the struct around the field. If this struct is also null, nothing is rejected.
    """

    field: str = ""
    may_fail = True

    def python(self, value: Any, parent: Any) -> Any:
        if value is None and parent is not None:
            raise self.failure()
        return value

    def column(self, F: Any, value: Any, parent: Any) -> Any:
        return value

    def failed(self, F: Any, result: Any, value: Any, parent: Any) -> Any:
        return value.isNull() & parent.isNotNull()

    def failure(self) -> Any:
        return data_error(
            "SMT401",
            f"null in the required field '{self.field}'",
            "make the field optional, or set replace.null.with.default=true if it has a default",
        )


@dataclass(frozen=True, slots=True)
class Validated(ValueRule):
    """A rule that rejects a struct if a required field in it is null (``Struct.validate``).

    This rule rejects structs only in Python. On Spark, the rule ``Required`` rejects the nulls instead, in each field
    that may be null.
    """

    schema: Schema
    may_fail = True

    def python(self, value: Any) -> Any:
        if value is not None:
            _validate(self.schema, value)
        return value

    def column(self, F: Any, value: Any) -> Any:
        return value

    def failed(self, F: Any, result: Any, value: Any) -> Any:
        return F.lit(False)

    def failure(self) -> Any:
        return Required("").failure()


def _validate(schema: Schema, value: Any) -> None:
    for name, child in schema.fields:
        inner = value[name]
        if inner is None and not child.optional:
            raise Required(name).failure()
        if inner is not None and child.type is Type.STRUCT:
            _validate(child, inner)


@dataclass(frozen=True, slots=True)
class Refused(ValueRule):
    """A rule that rejects every value except null. A stage uses this rule for a field whose type the stage cannot
    process.
    """

    code: str = ""
    statement: str = ""
    hint: str = ""
    may_fail = True

    def python(self, value: Any) -> Any:
        if value is not None:
            raise self.failure()

    def column(self, F: Any, value: Any) -> Any:
        return F.lit(None)

    def failed(self, F: Any, result: Any, value: Any) -> Any:
        return value.isNotNull()

    def failure(self) -> Any:
        return data_error(self.code, self.statement, self.hint)


@dataclass(frozen=True, slots=True)
class IsNull(ValueRule):
    """A rule that returns True if a value is null."""

    returns: ClassVar[Schema | None] = BOOLEAN

    def python(self, value: Any) -> bool:
        return value is None

    def column(self, F: Any, value: Any) -> Any:
        return value.isNull()


@dataclass(frozen=True, slots=True)
class WhereThere(ValueRule):
    """A rule that returns a condition, its second argument. If the first argument (any value) is null, the result is
    False. If the condition is null, the result is also False.
    """

    def python(self, value: Any, condition: Any) -> bool:
        return value is not None and bool(condition)

    def column(self, F: Any, value: Any, condition: Any) -> Any:
        return value.isNotNull() & F.coalesce(condition, F.lit(False))


@dataclass(frozen=True, slots=True)
class NotNull(ValueRule):
    """A rule that rejects a null key or value, as Connect's transforms reject tombstones that they cannot handle."""

    purpose: str = ""
    may_fail = True

    def python(self, value: Any) -> Any:
        if value is None:
            raise self.failure()
        return value

    def column(self, F: Any, value: Any) -> Any:
        return value

    def failed(self, F: Any, result: Any, value: Any) -> Any:
        return value.isNull()

    def failure(self) -> Any:
        return data_error(
            "SMT402",
            f"a null key or value cannot be used for [{self.purpose}]",
            "add the predicate RecordIsTombstone with negate=true to the stage",
        )
