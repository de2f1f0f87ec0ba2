"""Conditions on a record, described as data. Predicates and the effect ``Reject`` (which removes records) consist of
conditions.

Three modules read conditions: planning (``conditions_on_plan``), Python functions for records without a schema
(``conditions_on_values``), and push-down (``passing``). In a predicate, a condition on fields reads the value of a
record. In ``Reject``, a condition on fields reads the key or value on which the stage acts.
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
    """The error to report for a record if a condition cannot be tested on it.

    Attributes:
        code, statement, hint: As in ``errors.Problem``. ``{what}`` in the statement is a placeholder for the type of
            the field. ``{fields}`` in the hint is a placeholder for the field names.
        connect_class: The exception class that the original transform raises.
    """

    code: str
    statement: str
    hint: str = ""
    connect_class: str = DATA_EXCEPTION

    def problem(self, what: str = "", fields: str = "") -> tuple[str, str, str, str]:
        """Returns the code, statement, hint and exception class. ``what`` replaces the placeholder ``{what}`` in the
        statement. ``fields`` replaces the placeholder ``{fields}`` in the hint.
        """
        statement = self.statement.replace("{what}", what)
        return self.code, statement, self.hint.replace("{fields}", fields), self.connect_class


@dataclass(frozen=True)
class ValuePasses:
    """A test of a field: it is true if a rule, such as "matches a regular expression", is true for the field's
    value.
    """

    rule: Rule

    def __call__(self, schema: Schema | None, value: Any) -> bool:
        return bool(self.rule.python(value))


@dataclass(frozen=True)
class NoTest:
    """A test that fails for every record: the record is rejected with the problem ``refusal``."""

    refusal: Refusal


FieldCheck = TextPasses | IsLiteral | ValuePasses | NoTest
"""The tests that a condition can apply to a field:

- ``TextPasses``: applies a rule to the field's text, as Connect would write it into a header
- ``IsLiteral``: compares the field with a literal
- ``ValuePasses``: applies a rule to the field's value
- ``NoTest``: rejects the record, because the field cannot be tested
"""


@dataclass(frozen=True)
class Always:
    """A condition that is true for every record."""

    reads: ClassVar[Parts] = frozenset()


@dataclass(frozen=True)
class NullValue:
    """A condition that is true if the value of the record is null."""

    reads: ClassVar[Parts] = frozenset()


@dataclass(frozen=True)
class TopicPasses:
    """A condition that is true if a rule is true for the topic. For example, the rule ``Matches`` tests a regular
    expression.
    """

    rule: Rule
    reads: ClassVar[Parts] = frozenset()


@dataclass(frozen=True)
class HasHeader:
    """A condition that is true if the record has a header of exactly this name."""

    name: str
    reads: ClassVar[Parts] = frozenset({"headers"})


@dataclass(frozen=True)
class FieldPasses:
    """A condition that is true if a field satisfies a test. If the record has a schema, a null field is read as its
    default.

    Attributes:
        path: A path that selects at most one field. A path without steps selects the whole key or value.
        test: The test. A null or missing field fails the test, unless the rule of the test is true for null.
        null: Only for the test ``IsLiteral``: the problem with which a record is rejected if the field is null. If
            None, the condition is false for such a field.
        missing: Only with a schema: the problem to report if the schema lacks the field, or if the path has no steps.
            If None, the condition is false for a missing field, and a path without steps tests the whole key or value.
        no_object: The problem to report if the key or value is not an object with fields, but for example the number 7.
            If None, the field is treated as missing.
        strict: Only with a schema: True if a plain name in the path must be a field of a struct. As in Kafka, it then
            cannot be the key of a map.
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
    """A condition that applies a JSONPath to a record. It is true if the answer of the JSONPath is one of ``answers``,
    such as ``MATCH``.

    The function ``values.json.path.answer`` applies the JSONPath, and returns the answer.

    Attributes:
        path: The path.
        answers: The answers for which the condition is true.
        refusals: Pairs of an answer and a problem. A record with such an answer is rejected with this problem.
    """

    path: JsonPath
    answers: tuple[str, ...]
    refusals: tuple[tuple[str, Refusal], ...] = ()
    reads: ClassVar[Parts] = frozenset({"value"})


@dataclass(frozen=True)
class Not:
    """A condition that is true if another condition is false."""

    condition: "Condition"

    @property
    def reads(self) -> Parts:
        return self.condition.reads


Condition = Always | NullValue | TopicPasses | HasHeader | FieldPasses | PathFinds | Not
"""A condition. Its attribute ``reads`` contains ``value`` if the condition reads fields, and ``headers`` if it reads
headers.
"""


def inside(condition: Condition) -> Condition:
    """Returns the condition inside a ``Not``, or inside several nested ``Not``: ``a`` for ``Not(a)`` and for
    ``Not(Not(a))``. A condition that is not a ``Not`` is returned unchanged.
    """
    if isinstance(condition, Not):
        return inside(condition.condition)
    return condition
