"""Conditions on a record, described as data. Predicates and ``Reject`` consist of conditions.

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
        """Returns the code, statement, hint and exception class. ``what`` replaces the placeholder in the statement,
        and ``fields`` the placeholder in the hint.
        """
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
    """A test that cannot be applied to any field: the record is rejected with the problem ``refusal``."""

    refusal: Refusal


FieldCheck = TextPasses | IsLiteral | ValuePasses | NoTest
"""The tests that a condition can apply to a field:

- ``TextPasses``: a rule for the text that Connect would write for the field into a header
- ``IsLiteral``: equality with a literal
- ``ValuePasses``: a value rule
- ``NoTest``: a test that cannot be applied to any field
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
    """A condition that is true if the topic satisfies a value rule, such as ``Matches``."""

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
        test: The test. A field that is null or missing passes only a value rule that is true for null.
        null: Only for the test ``IsLiteral``: the problem of a null field. If None, the condition is false for such a
            field.
        missing: With a schema: the problem if the schema lacks the field, or if the path has no steps. If None, a
            missing field makes the condition false, and a path without steps tests the whole key or value.
        no_object: The problem of a key or value without fields. If None, the field counts as missing.
        strict: With a schema: True if a plain name in the path cannot select an entry of a map. As in Kafka, such a
            path then finds no field.
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
    """A condition that is true if the result of a JSONPath is one of the listed answers.

    The function ``values.json.path.answer`` returns the answer of a path, such as ``MATCH``.

    Attributes:
        path: The path.
        answers: The answers.
        refusals: The answers for which the record is rejected, each with the problem.
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
    """Returns the condition inside ``Not`` if ``condition`` is a ``Not``. Otherwise returns ``condition`` itself."""
    if isinstance(condition, Not):
        return inside(condition.condition)
    return condition
