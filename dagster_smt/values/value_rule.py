"""Rules for values of any type: nulls, defaults, presence."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from dagster_smt.errors import data_error
from dagster_smt.model.schema import BOOLEAN, Schema, Type


@dataclass(frozen=True, slots=True)
class ValueRule:
    """The base class of rules. The class declares the properties that the evaluators need in addition to the two forms
    of a rule.
    """

    may_fail = False
    reads_values = False
    """True if the rule turns some values into null.

    Whether a struct is null may then depend on more than its presence.
    """
    needs_python = False
    """True if Catalyst has no equal function: the Spark evaluator then runs the Python form in an Arrow UDF."""
    returns: ClassVar[Schema | None] = None
    """The schema of the rule's result, for use as an argument of another rule. None: the result has the schema of the
    first argument.
    """

    def failure(self) -> Any:
        """Returns the error for a value on which the rule fails. The error is the same for every value."""
        raise NotImplementedError

    def other_failures(self) -> tuple[Any, ...]:
        """Returns further errors that the Python form may raise, even if ``may_fail`` is false."""
        return ()

    def bind(self) -> Callable[..., Any]:
        """Returns the Python form as a function for hot loops. A rule may override this method with a faster
        function.
        """
        return self.python  # type: ignore[attr-defined]

    def bind_many(self) -> Callable[[list[Any]], list[Any]]:
        """Returns a function that applies the rule to many values in one call. Only rules with a single argument have
        such a function.

        The function returns the results of ``bind`` for each value, and raises an error if ``bind`` raises one for any
        of them. A rule may override this method with a faster function.
        """
        one = self.bind()
        return lambda values: list(map(one, values))


@dataclass(frozen=True, slots=True)
class PythonRule(ValueRule):
    """The base class of rules without a Catalyst form."""

    needs_python = True

    def column(self, F: Any, *args: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} runs in Python")

    def failed(self, F: Any, result: Any, *args: Any) -> Any:
        """Returns the condition under which the rule has failed. A rule whose result may be null must override this
        method.
        """
        return result.isNull()


@dataclass(frozen=True, slots=True)
class KeepNull(ValueRule):
    """Replaces the first value with the second, unless the first is null."""

    def python(self, value: Any, other: Any) -> Any:
        if value is None:
            return None
        return other

    def column(self, F: Any, value: Any, other: Any) -> Any:
        return F.when(value.isNotNull(), other)


@dataclass(frozen=True, slots=True)
class Default(ValueRule):
    """Replaces null with the second value (``replace.null.with.default``)."""

    def python(self, value: Any, default: Any) -> Any:
        if value is None:
            return default
        return value

    def column(self, F: Any, value: Any, default: Any) -> Any:
        return F.coalesce(value, default)


@dataclass(frozen=True, slots=True)
class DefaultUnder(ValueRule):
    """Replaces a null first value with the third, if the second value (the parent) is not null."""

    def python(self, value: Any, parent: Any, default: Any) -> Any:
        if value is None and parent is not None:
            return default
        return value

    def column(self, F: Any, value: Any, parent: Any, default: Any) -> Any:
        # The value appears here only once. Otherwise each stage that copies a field would double Spark's plan.
        return F.coalesce(value, F.when(parent.isNotNull(), default))


@dataclass(frozen=True, slots=True)
class WhereNull(ValueRule):
    """Replaces the first value with the third, if the second value (a struct) is null and its parent is not null."""

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
    """Rejects null, as Connect's ``Struct.put`` does for a required field. The second value is the parent struct."""

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
    """Rejects a struct with a null in a required field (``Struct.validate``), for records without a plan.

    On Spark, the plan of the chain knows which fields may be null, and uses ``Required`` for them.
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
    """Rejects every value except null, because the stage cannot use values of this type."""

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
    """Returns True if a value is null."""

    returns: ClassVar[Schema | None] = BOOLEAN

    def python(self, value: Any) -> bool:
        return value is None

    def column(self, F: Any, value: Any) -> Any:
        return value.isNull()


@dataclass(frozen=True, slots=True)
class WhereThere(ValueRule):
    """Returns the second value, a condition, if the first value is not null; else false."""

    def python(self, value: Any, condition: Any) -> bool:
        return value is not None and bool(condition)

    def column(self, F: Any, value: Any, condition: Any) -> Any:
        return value.isNotNull() & F.coalesce(condition, F.lit(False))


@dataclass(frozen=True, slots=True)
class NotNull(ValueRule):
    """Rejects a null key or value, as Connect's transforms reject tombstones that they cannot handle."""

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
