"""Describes the internal columns that hold the values of a record between two stages.

Only structs that a stage addresses are split into columns. Any other value stays one opaque column.
"""

from dataclasses import dataclass, field
from typing import Union

from dagster_smt.model.schema import Schema
from dagster_smt.spark import sql as F
from dagster_smt.spark.sql import Column
from dagster_smt.spark.types import internal_names


@dataclass(frozen=True)
class Leaf:
    """A value in a single column, whose type is the internal type of ``schema``.

    ``column`` may also name a field inside a struct that the reader created (``side.field``): a field that no stage has
    changed stays in this struct.
    """

    column: str
    schema: Schema


@dataclass(frozen=True)
class Struct:
    """A struct whose fields are separate columns.

    ``present`` is a column that is null if the struct is null. It is None if the struct is never null.
    """

    schema: Schema
    present: str | None
    fields: dict[str, "Layout"] = field(default_factory=dict)


Layout = Union[Leaf, Struct]  # noqa: UP007 - Struct names Layout before it exists


def field_of(column: Column, schema: Schema, name: str) -> Column:
    """Returns the field ``name`` of the struct ``column``, which is not split into columns."""
    names = internal_names(schema)
    return column.getField(names[schema.field_names.index(name)])


def columns_of(layout: Layout | None) -> set[str]:
    """Returns the internal columns that ``layout`` uses."""
    if layout is None:
        return set()
    if isinstance(layout, Leaf):
        return {layout.column.partition(".")[0]}
    below = set[str]().union(*map(columns_of, layout.fields.values()))
    return below | ({layout.present} if layout.present else set())


@dataclass(frozen=True)
class Place:
    """The location of a value that an expression refers to. ``layout`` is the smallest part of the layout that contains
    the value. ``below`` is the path from there to the value, if the value is inside a struct in a single column.
    """

    layout: Layout
    below: tuple[str, ...] = ()

    @property
    def exact(self) -> str | None:
        """The column that holds exactly the value of the reference; None if there is no such column."""
        if isinstance(self.layout, Leaf) and not self.below:
            return self.layout.column
        return None


def find_place(layout: Layout, steps: tuple[str, ...]) -> Place:
    """Returns the part of ``layout`` to which the field names in ``steps`` lead."""
    for number, step in enumerate(steps):
        if isinstance(layout, Leaf):
            return Place(layout, steps[number:])
        layout = layout.fields[step]
    return Place(layout)


def value_of(place: Place) -> Column:
    """Returns a column with the value at ``place``."""
    if isinstance(place.layout, Struct):
        return built(place.layout)
    column, schema = F.col(place.layout.column), place.layout.schema
    for name in place.below:
        column, schema = field_of(column, schema, name), schema.by_name[name]
    return column


def presence_of(place: Place) -> Column:
    """Returns a column that is null if and only if the value at ``place`` is null."""
    if isinstance(place.layout, Struct):
        if place.layout.present:
            return F.col(place.layout.present)
        return F.lit(True)
    return value_of(place)


def built(layout: Layout) -> Column:
    """Returns a column that joins the columns of ``layout``, a split struct, into one struct in the internal form."""
    if isinstance(layout, Leaf):
        return F.col(layout.column)
    names = internal_names(layout.schema)
    parts = zip(names, layout.fields.values(), strict=True)
    fields = []
    for name, child in parts:
        fields.append(built(child).alias(name))
    struct = F.struct(*fields)
    if layout.present:
        return F.when(F.col(layout.present).isNotNull(), struct)
    return struct
