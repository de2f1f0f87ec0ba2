"""Conditions on a record, as data: what a predicate says, and what ``Reject`` drops records by.

They are read by planning (``conditions_on_plan``), by Python functions for records without a schema
(``conditions_on_values``), and by what leaves records unread (``kept``). A condition on fields is about the value if a
predicate has it, else about the side of the stage.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from dagster_smt.authoring.transform import Parts
from dagster_smt.errors import DATA_EXCEPTION
from dagster_smt.model.cell import Rule
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.model.paths.json_path import JsonPath
from dagster_smt.model.schema import Schema
from dagster_smt.values.java.regex_equals import IsLiteral
from dagster_smt.values.texts import TextPasses


@dataclass(frozen=True)
class Refusal:
    """The problem of a record for which a condition has no answer.

    Attributes:
        code, statement, hint: As in ``errors.Problem``. ``{what}`` in the statement stands for the type that is there,
            ``{fields}`` in the hint for the names of the fields.
        connect_class: The exception with which the original refuses the record.
    """

    code: str
    statement: str
    hint: str = ""
    connect_class: str = DATA_EXCEPTION

    def problem(self, what: str = "", fields: str = "") -> tuple[str, str, str, str]:
        """Returns code, statement, hint and exception, with what they stand for put in."""
        statement = self.statement.replace("{what}", what)
        return self.code, statement, self.hint.replace("{fields}", fields), self.connect_class


@dataclass(frozen=True)
class ValuePasses:
    """A test of a field: a value rule that gives a boolean."""

    rule: Rule

    def __call__(self, schema: Schema | None, value: Any) -> bool:
        return bool(self.rule.python(value))


@dataclass(frozen=True)
class NoTest:
    """A test that every field is refused by."""

    refusal: Refusal


FieldCheck = TextPasses | IsLiteral | ValuePasses | NoTest
"""What a field can be tested by: its text in a header, a literal that it equals, or a value rule."""


@dataclass(frozen=True)
class Always:
    """True for every record."""

    reads: ClassVar[Parts] = frozenset()


@dataclass(frozen=True)
class NullValue:
    """True where the value is null."""

    reads: ClassVar[Parts] = frozenset()


@dataclass(frozen=True)
class TopicPasses:
    """True where the topic passes a value rule, such as ``Matches``."""

    rule: Rule
    reads: ClassVar[Parts] = frozenset()


@dataclass(frozen=True)
class HasHeader:
    """True where there is a header of exactly this name."""

    name: str
    reads: ClassVar[Parts] = frozenset({"headers"})


@dataclass(frozen=True)
class FieldPasses:
    """True where a field passes a test. With a schema a null is read as its default.

    Attributes:
        path: The field; it leads to one at most. A path without steps is the whole key or value.
        test: The test. A null, and what is missing, passes none but a value rule that gives true for null.
        null: The refusal of a null, for a literal; None: it passes no test.
        missing: With a schema, the refusal of one that has no such field, and of a whole key or value; None: the
            condition is false.
        no_object: The refusal of what has no fields; None: as with ``missing``.
        strict: Whether a name step into a map is one that leads nowhere.
    """

    path: FieldPath
    test: FieldCheck
    null: Refusal | None = None
    missing: Refusal | None = None
    no_object: Refusal | None = None
    strict: bool = False
    reads: ClassVar[Parts] = frozenset({"value"})


@dataclass(frozen=True)
class PathFinds:
    """True where a JSONPath gives one of some answers (``values.json_path.answer``).

    Attributes:
        path: The path.
        answers: The answers.
        refusals: Answers that the record is refused for.
    """

    path: JsonPath
    answers: tuple[str, ...]
    refusals: tuple[tuple[str, Refusal], ...] = ()
    reads: ClassVar[Parts] = frozenset({"value"})


@dataclass(frozen=True)
class Not:
    """True where a condition is false."""

    condition: "Condition"

    @property
    def reads(self) -> Parts:
        return self.condition.reads


Condition = Always | NullValue | TopicPasses | HasHeader | FieldPasses | PathFinds | Not
"""Each says what a predicate that has it reads: ``value`` if it is about fields, ``headers``."""


def inside(condition: Condition) -> Condition:
    """Returns the condition that ``Not`` is around, or the condition itself."""
    if isinstance(condition, Not):
        return inside(condition.condition)
    return condition
