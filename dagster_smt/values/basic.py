"""Rules that need no knowledge of types: nulls, defaults, presence."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from dagster_smt.errors import data_error
from dagster_smt.model.schema import BOOLEAN, Schema, Type


@dataclass(frozen=True, slots=True)
class ValueRule:
    """Base of the rules: what the evaluators need to know of one besides its two forms."""

    may_fail = False
    reads_values = False
    """Whether it makes null of some values: a struct may then hang on more than on what is there."""
    needs_python = False
    """Whether Catalyst cannot meet the rule: the Spark evaluator then runs the Python form in an Arrow UDF."""
    returns: ClassVar[Schema | None] = None
    """The schema of the result, for a rule in another one's argument; None: that of the first argument."""

    def failure(self) -> Any:
        """The error that a failing value raises; the same for every value."""
        raise NotImplementedError

    def other_failures(self) -> tuple[Any, ...]:
        """The errors of further codes that the Python form may raise, also of a rule that may not fail otherwise."""
        return ()

    def bind(self) -> Callable[..., Any]:
        """The Python form as a function for a hot loop; a rule may choose a faster one here, once."""
        return self.python  # type: ignore[attr-defined]

    def bind_many(self) -> Callable[[list[Any]], list[Any]]:
        """A function of many values at once, for rules of one value; a rule may choose a faster one here, once.

        It gives what the other gives of each, or raises if that would raise for one of them.
        """
        one = self.bind()
        return lambda values: list(map(one, values))


@dataclass(frozen=True, slots=True)
class PythonRule(ValueRule):
    """Base of the rules that have no Catalyst form at all."""

    needs_python = True

    def column(self, F: Any, *args: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} runs in Python")

    def failed(self, F: Any, result: Any, *args: Any) -> Any:
        """Where a rule that may fail has failed; one that can give null must say it more precisely."""
        return result.isNull()


@dataclass(frozen=True, slots=True)
class KeepNull(ValueRule):
    """Put the second value in place of the first, unless that is null."""

    def python(self, value: Any, other: Any) -> Any:
        if value is None:
            return None
        return other

    def column(self, F: Any, value: Any, other: Any) -> Any:
        return F.when(value.isNotNull(), other)


@dataclass(frozen=True, slots=True)
class Default(ValueRule):
    """Put the second value in place of a null (``replace.null.with.default``)."""

    def python(self, value: Any, default: Any) -> Any:
        if value is None:
            return default
        return value

    def column(self, F: Any, value: Any, default: Any) -> Any:
        return F.coalesce(value, default)


@dataclass(frozen=True, slots=True)
class DefaultUnder(ValueRule):
    """Put the third value in place of a null first one, but only where the second (the parent) is not null."""

    def python(self, value: Any, parent: Any, default: Any) -> Any:
        if value is None and parent is not None:
            return default
        return value

    def column(self, F: Any, value: Any, parent: Any, default: Any) -> Any:
        return F.when(value.isNull() & parent.isNotNull(), default).otherwise(value)


@dataclass(frozen=True, slots=True)
class WhereNull(ValueRule):
    """Put the third value in place of the first where the second (a struct) is null, but its parent is not."""

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
    """Refuse null: Connect's ``Struct.put`` of null into a required field. The second value is the parent struct."""

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
    """Refuse a struct with a null in a required field (``Struct.validate``), for records of which no plan knows.

    On Spark the plan of the whole chain knows which fields can have been left null: it asks for ``Required`` there.
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
    """Refuse every value but null: a value of this type cannot be used as the stage asks."""

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
    """Whether a value is null."""

    returns: ClassVar[Schema | None] = BOOLEAN

    def python(self, value: Any) -> bool:
        return value is None

    def column(self, F: Any, value: Any) -> Any:
        return value.isNull()


@dataclass(frozen=True, slots=True)
class WhereThere(ValueRule):
    """The second value, a condition, where the first is not null; else false."""

    def python(self, value: Any, met: Any) -> bool:
        return value is not None and bool(met)

    def column(self, F: Any, value: Any, met: Any) -> Any:
        return value.isNotNull() & F.coalesce(met, F.lit(False))


@dataclass(frozen=True, slots=True)
class NotNull(ValueRule):
    """Refuse a null key or value: what Connect's transforms say of a tombstone they cannot take."""

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
            "guard the stage with the predicate RecordIsTombstone and negate=true",
        )
