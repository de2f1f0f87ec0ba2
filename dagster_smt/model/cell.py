"""Symbolic records. A symbolic record describes what the stages of a chain do to every record of one schema.

A symbolic record consists of nodes. A node describes one value after a stage. A ``Cell`` is a node for a value of any
type. Its expression says how to compute the value from the input of the stage. A ``Group`` is a node for a struct that
is split into its fields, because a stage changes one of them.

Expressions are plain data that can be printed and pickled. Spark columns and Python functions are built from them in
other modules.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from dagster_smt.errors import DataError
from dagster_smt.model.paths.extended import below
from dagster_smt.model.paths.steps import Every, Index, Match
from dagster_smt.model.schema import Schema, Type


class Rule(Protocol):
    """A function of one or several values, such as "remove the spaces". It has two versions: Python code and a Spark
    column expression (see the package ``values``).
    """

    @property
    def may_fail(self) -> bool: ...
    def python(self, *args: Any) -> Any: ...
    def bind(self) -> Callable[..., Any]: ...
    def bind_many(self) -> Callable[[list[Any]], list[Any]]: ...
    def column(self, F: Any, *args: Any) -> Any: ...
    def other_failures(self) -> tuple[DataError, ...]: ...


UNSET = "unset"
"""A mark in the plan (``Cell.marks``) for a value that can be null although its schema requires a value. A struct also
has this mark if its required fields can be null.
"""


@dataclass(frozen=True, slots=True)
class Ref:
    """An expression that refers to a value of the stage's input: ``("value", "a", "b")``, ``("topic",)``,
    ``("headers",)``.
    """

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Const:
    """An expression that always has the same value. ``value`` is a Python value of the type that ``schema`` describes,
    such as 3 for INT32.
    """

    value: Any
    schema: Schema


@dataclass(frozen=True, slots=True)
class Call:
    """An expression that applies a rule, such as "remove the spaces", to the values of other expressions."""

    rule: Rule
    args: tuple["Expr", ...]


@dataclass(frozen=True, slots=True)
class Key:
    """A selection of one value of a map: the value under the key ``name`` (see ``Each``)."""

    name: str


Select = Every | Index | Key | Match
"""A selection of array elements or map values. ``Every`` selects all, and ``Index`` selects by position. ``Key``
selects one map key. ``Match`` selects the map keys that a regular expression matches.
"""


@dataclass(frozen=True, slots=True)
class Each:
    """An expression for an array or map in which selected elements are changed. All other elements stay as they are,
    and null stays null.

    Attributes:
        container: The array or map.
        schema: The schema of the array or map before the change.
        select: The elements to change.
        item: The name by which ``body`` refers to the element: ``Ref((item, ...))``.
        body: The expression for the new element; None removes the element.
    """

    container: "Expr"
    schema: Schema
    select: Select
    item: str
    body: "Node | None"


@dataclass(frozen=True, slots=True)
class AnyItem:
    """An expression that checks the selected elements of an array or map. ``when`` is an expression about one element.
    The result is true if ``when`` is not null for at least one selected element. Otherwise the result is null.
    """

    container: "Expr"
    schema: Schema
    select: Select
    item: str
    when: "Expr"


Expr = Ref | Const | Call | Each | AnyItem


@dataclass(frozen=True, slots=True)
class Cell:
    """A value in a plan, described by an expression.

    Attributes:
        schema: The Connect schema of the value.
        expr: The expression that computes the value from the stage's input.
        sources: The fields of the chain's input on which the value depends, such as ``value.a.b`` or ``topic``.
        copied: True if the value is an unchanged copy of its only source.
        nullable: True if the value can be null although its schema requires a value.
        marks: Words for what stages have done to the value, such as ``masked``. ``masked.key`` means that stages masked
            only the element ``key``. ``sealed`` in addition to ``masked`` means that a holder of the key can decrypt
            the value. ``opened`` means that a stage has decrypted the value.
        items: If a stage has changed all elements of an array or map: the node that describes each element. Otherwise
            None.
    """

    schema: Schema
    expr: Expr
    sources: frozenset[str]
    copied: bool = False
    nullable: bool = False
    marks: frozenset[str] = frozenset()
    items: "Node | None" = None

    @property
    def may_be_null(self) -> bool:
        return self.schema.optional or self.nullable

    def call(self, rule: Rule, schema: Schema, *others: "Cell", nullable: bool = False) -> "Cell":
        """Applies ``rule`` to this value and to the values of ``others``. Returns a new cell (a description of a value)
        with the schema ``schema``. The new cell has the sources (the input fields on which it depends) of all these
        cells.
        """
        sources = self.sources.union(*(c.sources for c in others))
        expr = Call(rule, (self.expr, *(c.expr for c in others)))
        return Cell(schema, expr, sources, nullable=nullable, marks=self.marks)


@dataclass(frozen=True, slots=True)
class Group:
    """A struct in a plan that is split into its fields.

    Attributes:
        schema: The Connect schema of the struct; it always agrees with ``fields``.
        fields: Pairs of a field's name and its node (the description of its value), in order.
        present: An expression that is null in exactly the records in which this struct is null. It usually refers to a
            struct of the stage's input. ``None`` if the struct is never null.
        sources: The fields of the chain's input on which ``present`` depends.
        nullable: True if the struct can be null although its schema requires a value.
    """

    schema: Schema
    fields: "tuple[tuple[str, Node], ...]"
    present: Expr | None
    sources: frozenset[str] = frozenset()
    nullable: bool = False

    @property
    def may_be_null(self) -> bool:
        return self.present is not None and (self.schema.optional or self.nullable)

    @property
    def by_name(self) -> Mapping[str, "Node"]:
        return dict(self.fields)


Node = Cell | Group


def field_nodes(node: Node) -> tuple[tuple[str, Node], ...]:
    """Returns pairs of a name and a node (the description of a value), one for each field of the struct ``node``. If
    ``node`` is a ``Cell``, which is not split into fields, the function creates the nodes of the fields. Each new node
    refers to a field of the stage's input, such as ``Ref(("value", "id"))``.
    """
    if isinstance(node, Group):
        return node.fields
    # a required field is null as well if its struct is null: the field b of {"a": null}
    under_null = node.may_be_null
    return tuple((name, _child(node, name, schema, under_null)) for name, schema in node.schema.fields)


def _child(parent: Cell, name: str, schema: Schema, under_null: bool) -> Cell:
    if not isinstance(parent.expr, Ref):
        raise TypeError("only a value of the stage's input can be split into fields")
    # only in a copy, the field a of the struct comes from the field a of the source. In a struct that a stage has
    # computed, each field may depend on every source
    if parent.copied:
        sources = frozenset(below(s, name) for s in parent.sources)
    else:
        sources = parent.sources
    return Cell(schema, Ref((*parent.expr.path, name)), sources, parent.copied, under_null)


def open_struct(node: Node) -> Group:
    """Returns ``node``, a struct, as a ``Group``: a struct that is split into its fields. A ``Group`` is returned
    unchanged.
    """
    if isinstance(node, Group):
        return node
    return Group(node.schema, field_nodes(node), node.expr, node.sources, node.nullable)


def with_fields(group: Group, fields: Iterable[tuple[str, Node]], schema: Schema) -> Group:
    """Returns a copy of ``group`` with the fields ``fields`` instead of its own. The copy has the schema ``schema``.
    The fields in this schema are replaced as well, so that they agree with ``fields``.
    """
    nodes = tuple(fields)
    return replace(group, fields=nodes, schema=schema.with_(fields=schemas_of(nodes)))


def schemas_of(fields: Iterable[tuple[str, Node]]) -> tuple[tuple[str, Schema], ...]:
    """Returns ``fields`` as the fields of a struct schema: pairs of a name and a schema. ``fields`` are pairs of a name
    and a node (the description of a value).
    """
    return tuple((name, node.schema) for name, node in fields)


def inner_marks(node: Node, place: str) -> frozenset[str]:
    """Converts the marks of ``node``, an element of an array or map, into marks of the whole array or map. ``place`` is
    the location of the element. For example, the mark ``masked`` of the element at ``.key`` becomes ``masked.key``.
    """
    if isinstance(node, Group):
        marks_of_fields = []
        for name, child in node.fields:
            marks_of_fields.append(inner_marks(child, below(place, name)))
        return frozenset[str]().union(*marks_of_fields)
    placed_marks = []
    for word, rest in map(split_mark, node.marks):
        placed_marks.append(f"{word}{place}{rest}")
    own = frozenset(placed_marks)
    if node.items is None:
        return own
    return own | inner_marks(node.items, f"{place}[]")


def split_mark(mark: str) -> tuple[str, str]:
    """Splits ``mark`` into its word and its path: ``masked.key.id`` into ``masked`` and ``.key.id``. The path is empty
    if the mark applies to the whole value.
    """
    # a path begins with a dot or a bracket, and a word contains neither
    word = mark.partition("[")[0].partition(".")[0]
    return word, mark[len(word) :]


def find(node: Node | None, steps: tuple[str, ...]) -> Node | None:
    """Returns the node (the description of a value) at the path ``steps`` inside ``node``. A path is a tuple of names,
    such as ``("address", "city")``. Returns None if the path leads to no field.
    """
    for step in steps:
        if node is None or node.schema.type is not Type.STRUCT:
            return None
        node = dict(field_nodes(node)).get(step)
    return node


def restart(node: Node | None, path: tuple[str, ...]) -> Node | None:
    """Returns ``node``, a key or value after a stage, as the input of the next stage. Fields, schemas and sources (the
    input fields of each value) stay the same. Each expression is replaced with a reference such as
    ``Ref(("value", "id"))``.
    """
    if node is None:
        return None
    return restarted(node, path)


def restarted(node: Node, path: tuple[str, ...]) -> Node:
    """Returns a copy of ``node``, which is at the path ``path``. In the copy, each expression is a reference to its own
    path. With the path ``("value",)``, the field ``id`` gets the expression ``Ref(("value", "id"))``.
    """
    if isinstance(node, Cell):
        return replace(node, expr=Ref(path), items=None if node.items is None else restarted(node.items, ("item",)))
    children = []
    for name, child in node.fields:
        children.append((name, restarted(child, (*path, name))))
    fields = tuple(children)
    return replace(node, fields=fields, present=Ref(path))


def refs_in(expr: "Expr | None") -> list[Ref]:
    """Returns all ``Ref`` expressions (references to values of the stage's input) inside ``expr``. The expressions for
    elements of arrays and maps are included.
    """
    if isinstance(expr, Ref):
        return [expr]
    if isinstance(expr, Each):
        return refs_in(expr.container) + ([] if expr.body is None else refs_in_node(expr.body))
    if isinstance(expr, AnyItem):
        return refs_in(expr.container) + refs_in(expr.when)
    if isinstance(expr, Call):
        refs = []
        for arg in expr.args:
            refs.extend(refs_in(arg))
        return refs
    return []


def refs_in_node(node: Node) -> list[Ref]:
    """Returns all ``Ref`` expressions (references to values of the stage's input) in ``node`` and in the fields of
    ``node``. ``node`` is the description of a value.
    """
    if isinstance(node, Cell):
        return refs_in(node.expr)
    refs_of_fields = []
    for _, child in node.fields:
        refs_of_fields.extend(refs_in_node(child))
    return [*refs_in(node.present), *refs_of_fields]


def calls_in(node: Node | None) -> list[Call]:
    """Returns all ``Call`` expressions (applications of a rule) in ``node``, the description of a value, and in its
    fields. The expressions for elements of arrays and maps are included.
    """
    if node is None:
        return []
    if isinstance(node, Group):
        inner = [] if node.present is None else _calls(node.present)
        calls_of_fields = []
        for _, child in node.fields:
            calls_of_fields.extend(calls_in(child))
        return inner + calls_of_fields
    return _calls(node.expr)


def _calls(expr: Expr) -> list[Call]:
    if isinstance(expr, Call):
        calls_of_arguments = []
        for arg in expr.args:
            calls_of_arguments.extend(_calls(arg))
        return [*calls_of_arguments, expr]
    if isinstance(expr, Each):
        return _calls(expr.container) + calls_in(expr.body)
    if isinstance(expr, AnyItem):
        return _calls(expr.container) + _calls(expr.when)
    return []
