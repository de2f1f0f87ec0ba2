"""What becomes of the value of a field: a rule, said once for records with and without a schema."""

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

from dagster_smt.authoring.fields.edit import Target, refused
from dagster_smt.errors import DataError
from dagster_smt.model.cell import Cell, Const, Node, Rule
from dagster_smt.model.runtime import kind_of_schema
from dagster_smt.model.schema import Schema
from dagster_smt.values.basic import KeepNull


@dataclass(frozen=True, slots=True)
class Constant:
    """The same value in the place of every value of a kind.

    Attributes:
        value: The value, in the Python form of the kind (``model.runtime``).
    """

    value: Any


class FieldRule:
    """What becomes of the value of a field. A null stays null and is not counted.

    A subclass is a frozen dataclass of parameters, so that every engine can read it: by ``name`` and ``parameters``
    (``as_data``) if it has a name. Where Connect does the same with
    and without a schema, ``of_kind`` says it all. Where the two modes differ, ``of_kind`` is the mode without a
    schema, and ``on_node`` is overridden for the mode with one.
    """

    name: ClassVar[str] = ""
    """What an engine that is not Python knows the rule by; empty for one that only Python can run."""
    constant: ClassVar[bool] = False
    """Whether ``of_kind`` gives a ``Constant`` for every kind that it does not refuse."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The rule's parameters by name: with ``name`` all that another engine needs to do the same."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def of_kind(self, kind: str) -> Rule | Constant | None:
        """Returns what becomes of values of a kind; None leaves them alone.

        Args:
            kind: A type of Connect in lower case (``string``, ``int64``, ``map``, …) or a logical type (``Decimal``,
                ``Date``, ``Time``, ``Timestamp``), as ``model.runtime.kind_of`` and ``kind_of_schema`` give it.

        Raises:
            DataError: Values of this kind are refused, unless they are null.
        """
        raise NotImplementedError

    def on_node(self, target: Target) -> Node:
        """Returns a field of a schema after the rule; the same object if the rule leaves it alone.

        Raises:
            PlanError: No record of this schema can pass.
        """
        node, schema = target.node, target.node.schema
        try:
            rule = self.of_kind(kind_of_schema(schema))
        except DataError as error:
            return refused(node, error.problem.code, error.problem.statement, error.problem.hint)
        if rule is None:
            return node
        assert isinstance(node, Cell), "a rule takes no struct: refuse the kind, or leave it alone"
        if isinstance(rule, Constant):
            constant = Cell(schema, Const(rule.value, schema), frozenset())
            return node.call(KeepNull(), schema, constant, nullable=node.nullable)
        returns: Schema | None = getattr(rule, "returns", None)
        if returns is None:
            after = schema
        else:
            after = returns.with_(optional=schema.optional)
        return node.call(rule, after, nullable=node.nullable)


def masked(after: Node, before: Node) -> Node:
    """Returns a field with the mark of a masked one, beside the marks that it had."""
    if not isinstance(after, Cell):
        return after
    marks = before.marks if isinstance(before, Cell) else frozenset[str]()
    return replace(after, marks=marks | {"masked"})
