"""Field rules, which change the value of a field. The same rule works for records with and without a schema."""

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal

from dagster_smt.authoring.fields.edit import Target, refused
from dagster_smt.errors import DataError
from dagster_smt.model.cell import Cell, Const, Node, Rule
from dagster_smt.model.runtime import kind_of_schema
from dagster_smt.model.schema import Schema
from dagster_smt.values.value_rule import KeepNull

Protection = Literal["", "seals", "opens"]
"""A word for the encryption that a rule performs. ``seals``: the rule encrypts values, and a holder of the key can
decrypt them. ``opens``: the rule decrypts such values. Empty: the rule neither encrypts nor decrypts.
"""


@dataclass(frozen=True, slots=True)
class Constant:
    """A fixed value with which a rule replaces all values of one kind, such as ``0`` for all numbers of the kind
    ``int64``.

    Attributes:
        value: The Python value, as ``model.runtime`` represents values of this kind.
    """

    value: Any


class FieldRule:
    """A rule that computes the new value of a field. A null stays null, and the ledger does not count it.

    A subclass is a frozen dataclass. Its fields are the parameters of the rule. A subclass with a ``name`` can also be
    run by engines that are not written in Python. These engines read ``name`` and ``parameters`` (see the module
    ``as_data``).

    Usually a subclass defines only ``of_kind``. If Connect treats values with a schema differently, the subclass also
    overrides ``on_node``. In that case ``of_kind`` is only for values without a schema.
    """

    name: ClassVar[str] = ""
    """The name of the rule for engines that are not written in Python; empty if only Python can run the rule."""
    constant: ClassVar[bool] = False
    """True if the rule replaces every value with a constant, or rejects it. For every kind, ``of_kind`` then returns a
    ``Constant`` or raises an error.
    """

    @property
    def protection(self) -> Protection:
        """``seals`` if the rule encrypts values with a key, ``opens`` if it decrypts such values, otherwise empty."""
        return ""

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the rule by name. Another engine needs only ``name`` and these parameters to run the
        rule.
        """
        values = {}
        for field in fields(self):  # type: ignore[arg-type]  # each rule is a dataclass
            values[field.name] = getattr(self, field.name)
        return values

    def of_kind(self, kind: str) -> Rule | Constant | None:
        """Returns the rule or the constant for values of the kind ``kind``, or None to leave the values as they are.

        Args:
            kind: A type of Connect as schema JSON spells it (``string``, ``int64``, ``double``, ``map``, …), or a
                logical type (``Decimal``, ``Date``, ``Time``, ``Timestamp``). ``model.runtime.kind_of`` and
                ``kind_of_schema`` return kinds.

        Raises:
            DataError: Values of this kind are rejected, unless they are null.
        """
        raise NotImplementedError

    def on_node(self, target: Target) -> Node:
        """Returns the description of a field after the rule has been applied. ``target`` contains the description of
        the field before. If the rule does not change the field, returns the same object.

        Raises:
            PlanError: No record of this schema can pass the stage.
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


def masked(after: Node, before: Node, protection: Protection) -> Node:
    """Returns ``after``, a field that a stage has masked, with the mark ``masked``. ``before`` is the field before that
    stage. The marks of ``before`` are copied to the result, except ``sealed`` and ``opened``.

    If ``protection`` is ``seals``, the field also gets the mark ``sealed``, because a holder of the key can decrypt its
    value. There is one exception: an earlier stage masked the field without a key. Then no key can restore the original
    value, so the field does not get the mark ``sealed``.
    """
    if not isinstance(after, Cell):
        return after
    marks = _marks(before)
    opens_to_clear = protection == "seals" and not _is_masked_for_good(marks)
    sealed = frozenset({"sealed"} if opens_to_clear else ())
    return replace(after, marks=(marks - {"sealed", "opened"}) | {"masked"} | sealed)


def opened(after: Node, before: Node) -> Node:
    """Returns ``after``, a field that a stage has decrypted, with the mark ``opened`` instead of ``masked``. ``before``
    is the field before that stage. If an earlier stage masked the field without a key, ``after`` is returned unchanged.
    """
    if not isinstance(after, Cell) or _is_masked_for_good(_marks(before)):
        return after
    return replace(after, marks=(_marks(before) - {"masked", "sealed"}) | {"opened"})


def _marks(node: Node) -> frozenset[str]:
    return node.marks if isinstance(node, Cell) else frozenset[str]()


def _is_masked_for_good(marks: frozenset[str]) -> bool:
    return "masked" in marks and "sealed" not in marks
