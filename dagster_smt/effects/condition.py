"""Conditions on a record, as data: the tests of predicates and of ``Reject``.

Three modules read conditions: planning (``conditions_on_plan``), Python functions for records without a schema
(``conditions_on_values``), and push-down (``passing``). In a predicate, a condition on fields tests the value; in
``Reject``, it tests the key or value on which the stage acts.
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
from dagster_smt.values.text_rules import TextPasses


@dataclass(frozen=True)
class Refusal:
    """The problem of a record that a condition cannot test.

    Attributes:
        code, statement, hint: As in ``errors.Problem``. ``{what}`` in the statement stands for the type of the field,
            ``{fields}`` in the hint for the field names.
        connect_class: The exception class that the original transform raises.
    """

    code: str
    statement: str
    hint: str = ""
    connect_class: str = DATA_EXCEPTION

    def problem(self, what: str = "", fields: str = "") -> tuple[str, str, str, str]:
        """Returns code, statement, hint and exception class. ``what`` and ``fields`` replace the placeholders."""
        statement = self.statement.replace("{what}", what)
        return self.code, statement, self.hint.replace("{fields}", fields), self.connect_class


@dataclass(frozen=True)
class ValuePasses:
    """A field test that applies a value rule with a boolean result."""

    rule: Rule

    def __call__(self, schema: Schema | None, value: Any) -> bool:
        return bool(self.rule.python(value))


@dataclass(frozen=True)
class NoTest:
    """A test that rejects every field."""

    refusal: Refusal


FieldCheck = TextPasses | IsLiteral | ValuePasses | NoTest
"""The tests of a field: its string as in a header, a literal that it equals, or a value rule."""


@dataclass(frozen=True)
class Always:
    """True for every record."""

    reads: ClassVar[Parts] = frozenset()


@dataclass(frozen=True)
class NullValue:
    """True if the value is null."""

    reads: ClassVar[Parts] = frozenset()


@dataclass(frozen=True)
class TopicPasses:
    """True if the topic passes a value rule, such as ``Matches``."""

    rule: Rule
    reads: ClassVar[Parts] = frozenset()


@dataclass(frozen=True)
class HasHeader:
    """True if the record has a header of exactly this name."""

    name: str
    reads: ClassVar[Parts] = frozenset({"headers"})


@dataclass(frozen=True)
class FieldPasses:
    """True if a field passes a test. With a schema, a null is read as the field's default.

    Attributes:
        path: The path of the field, to at most one field. A path without steps is the whole key or value.
        test: The test. A field that is null or missing passes only a value rule that is true for null.
        null: The problem if the test is a literal and the field is null. None: a null passes no test.
        missing: With a schema, the problem if the schema does not have the field, or if the path is the whole key or
            value. None: the condition is false.
        no_object: The problem of a key or value without fields. None: the same as ``missing``.
        strict: True if a name step into a map matches nothing.
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
    """True if a JSONPath gives one of the listed answers (``values.json_path.answer``).

    Attributes:
        path: The path.
        answers: The answers.
        refusals: Answers for which the record is rejected.
    """

    path: JsonPath
    answers: tuple[str, ...]
    refusals: tuple[tuple[str, Refusal], ...] = ()
    reads: ClassVar[Parts] = frozenset({"value"})


@dataclass(frozen=True)
class Not:
    """True if a condition is false."""

    condition: "Condition"

    @property
    def reads(self) -> Parts:
        return self.condition.reads


Condition = Always | NullValue | TopicPasses | HasHeader | FieldPasses | PathFinds | Not
"""A condition. ``reads`` lists the parts of a record that it needs: ``value`` for fields, or ``headers``."""


def inside(condition: Condition) -> Condition:
    """Returns the condition inside ``Not``, or the condition itself."""
    if isinstance(condition, Not):
        return inside(condition.condition)
    return condition
