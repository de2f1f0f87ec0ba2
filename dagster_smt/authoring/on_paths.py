"""Transforms that change what their paths lead to: the way from options to both forms, said once.

``FieldRules`` is where to start: a class names a value rule for each kind of value, and has everything else from here.
``OnPaths`` is for those with options, schemas or speed of their own.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar

from dagster_smt.authoring.bundles import NestedPaths, NullDefaults, by_syntax, check_paths
from dagster_smt.authoring.edit import Target, edited, refused, struct_of
from dagster_smt.authoring.field_changes import Change, FieldChange, speaks_for
from dagster_smt.authoring.options import option
from dagster_smt.authoring.schemaless import Act, all_visitor, require_map, value_visitor, visitor
from dagster_smt.authoring.splice import Texts
from dagster_smt.authoring.transform import AllFunction, Entry, Planning, SideFunction, Transform
from dagster_smt.authoring.validate import NonEmptyNames
from dagster_smt.errors import DataError
from dagster_smt.model.cell import Cell, Node, Rule
from dagster_smt.model.path import FieldPath
from dagster_smt.model.record import Record
from dagster_smt.model.runtime import kind_of, kind_of_schema
from dagster_smt.model.schema import Schema
from dagster_smt.values.lazy import look


class OnPaths(NullDefaults, NestedPaths, Transform):
    """Base of transforms that change values in place, wherever their paths lead.

    A class says which paths (``texts``), what becomes of a node (``changed``) and of a value (``acts``). With a schema,
    a path that leads nowhere is reported; without one, see ``fills``.
    """

    action: ClassVar[str] = "changed"
    """What the ledger says of each path."""
    fills: ClassVar[bool] = False
    """Whether, without a schema, a missing field of the top level becomes null, as in Kafka's transforms."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The paths as configured."""
        raise NotImplementedError

    @cached_property
    def paths(self) -> tuple[FieldPath, ...]:
        """The paths, parsed."""
        return tuple(map(self.path, self.texts))

    def changed(self, target: Target) -> Node:
        """What becomes of a node that a path leads to."""
        raise NotImplementedError

    def acts(self, bits: tuple[int, ...]) -> tuple[Act, ...]:
        """What becomes of a value without schema, for each path: it sets its bit where it changes something.

        An act looks at that value alone, and at nothing of the record but ``touched``.
        """
        raise NotImplementedError

    def same_texts(self, bits: tuple[int, ...]) -> tuple[Texts, ...]:
        """For each path what it makes of texts, if it makes the same of all: deep scans then stay in the bytes."""
        return ()

    def values_function(self, number: int, kind: str) -> Callable[[list[Any]], list[Any]] | None:
        """What becomes of many values of a kind (``string``, ``int64``) without schema, for the path of a number.

        Only where the act does just that to each, and sets its bit. None, or a ``DataError``: they go through the act.
        """
        return None

    def ledger(self) -> tuple[Entry, ...]:
        return tuple(Entry(self.action, text) for text in self.texts)

    def plan_side(self, node: Node, at: Planning) -> Node:
        def change(target: Target) -> Node:
            after = self.changed(target)
            if after is not target.node:
                target.touch()
            return after

        group = struct_of(node, self.purpose)
        return edited(group, self.paths, change, self.replace_null_with_default, at, self.strict)

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        acts, purpose = self.acts(bits), self.purpose
        visit = value_visitor(self.paths, acts, self.same_texts(bits)) if self.fills else visitor(self.paths, acts)

        def change(value: Any, record: Record) -> Any:
            visit(require_map(value, purpose), record)
            return value

        return change

    def schemaless_all(self, bits: tuple[int, ...]) -> AllFunction | None:
        return all_visitor(self.paths, self.acts(bits), self.fills)

    def field_changes(self, bits: tuple[int, ...]) -> tuple[FieldChange, ...] | None:
        if not self.paths:
            return None
        acts, same = self.acts(bits), self.same_texts(bits)
        texts = [text.new for text in same] if same else [None] * len(bits)
        together = speaks_for(type(self), "values_function", "acts")
        each = enumerate(zip(self.paths, acts, bits, texts, strict=True))
        return tuple(
            Change(path, act, bit, text, self.fills, partial(self.values_function, number) if together else None)
            for number, (path, act, bit, text) in each
        )


class OnFields(OnPaths):
    """Base of those whose paths are in the option ``fields``."""

    fields: Annotated[NonEmptyNames, by_syntax()] = option("Fields to change.")

    def check(self) -> Iterator[tuple[str, str, str]]:
        return check_paths("fields", self.fields, self.path)

    @property
    def texts(self) -> tuple[str, ...]:
        return self.fields


class FieldRules(OnFields):
    """Base of transforms that put the values of fields through a rule, chosen by the kind of the value.

    A null stays null, and is not counted. Kinds are Connect's types in lower case (``string``, ``int64``, ``map``,
    ``struct``, …) and its logical types (``Decimal``, ``Date``, ``Time``, ``Timestamp``). Without a schema objects are
    of the kind ``map``, whole numbers ``int64``, others ``float64``.
    """

    def rule(self, kind: str) -> Rule | None:
        """The rule for values of a kind; None leaves them alone. A ``data_error`` refuses them, unless null.

        A rule that gives another type says so (``returns``); it keeps of the schema whether it is optional.
        """
        raise NotImplementedError

    def changed(self, target: Target) -> Node:
        node, schema = target.node, target.node.schema
        try:
            rule = self.rule(kind_of_schema(schema))
        except DataError as error:
            return refused(node, error.problem.code, error.problem.statement, error.problem.hint)
        if rule is None:
            return node
        assert isinstance(node, Cell), "a rule takes no struct: refuse the kind, or leave it alone"
        returns: Schema | None = getattr(rule, "returns", None)
        after = schema if returns is None else returns.with_(optional=schema.optional)
        cell = node.call(rule, after, nullable=node.nullable)
        return replace(cell, marks=node.marks | {"masked"}) if self.action == "masked" else cell

    def values_function(self, number: int, kind: str) -> Callable[[list[Any]], list[Any]] | None:
        rule = self.rule(kind)
        return None if rule is None else rule.bind_many()

    def acts(self, bits: tuple[int, ...]) -> tuple[Act, ...]:
        functions: dict[str, Callable[[Any], Any] | None] = {}

        def function_of(kind: str) -> Callable[[Any], Any] | None:
            if kind not in functions:
                rule = self.rule(kind)
                functions[kind] = None if rule is None else rule.bind()
            return functions[kind]

        def act(bit: int) -> Act:
            def change(parent: Any, key: Any, record: Record) -> None:
                old = look(parent, key)
                run = None if old is None else function_of(kind_of(old))
                if run is not None:
                    parent[key] = run(old)
                    record.touched |= bit

            return change

        return tuple(map(act, bits))
