"""Describes the columns that hold the values of a record between two stages of a chain.

If a stage works on a field inside a struct, the struct is split into one column per field. Any other struct, array or
map stays in a single column.
"""

from dataclasses import dataclass, field
from typing import Union

from dagster_smt.model.schema import Schema
from dagster_smt.spark import sql as F
from dagster_smt.spark.sql import Column
from dagster_smt.spark.types import internal_names


@dataclass(frozen=True)
class Leaf:
    """A value that is in one single column. The column has the Spark type that values of ``schema`` have between two
    stages.

    ``column`` is the column's name. It may also be ``side.field``: a field inside a struct column that the reader
    created. A field stays in this struct until a stage changes it.
    """

    column: str
    schema: Schema


@dataclass(frozen=True)
class Struct:
    """A struct that is split into columns, at least one for each field.

    ``present`` is the name of a column that is null exactly if the struct is null. ``present`` is None if the struct is
    never null.
    """

    schema: Schema
    present: str | None
    fields: dict[str, "Layout"] = field(default_factory=dict)


Layout = Union[Leaf, Struct]  # noqa: UP007 - Struct names Layout before it exists


def field_of(column: Column, schema: Schema, name: str) -> Column:
    """Returns the field ``name`` of ``column``, which holds a whole struct of the schema ``schema``."""
    names = internal_names(schema)
    return column.getField(names[schema.field_names.index(name)])


def columns_of(layout: Layout | None) -> set[str]:
    """Returns the names of the columns that hold the values in ``layout``. For a struct, these are the columns of its
    fields, and the column that shows whether the struct is null.
    """
    if layout is None:
        return set()
    if isinstance(layout, Leaf):
        # ``read_value.f0`` is a field of the column ``read_value``
        return {layout.column.partition(".")[0]}
    below = set[str]().union(*map(columns_of, layout.fields.values()))
    return below | ({layout.present} if layout.present else set())


@dataclass(frozen=True)
class Place:
    """The location of a value in the columns of a record.

    For example, the value is ``address.city``. If ``address`` is split into columns, ``layout`` is the column of
    ``city``, and ``below`` is empty. If ``address`` is one single column, ``layout`` is this column, and ``below`` is
    ``("city",)``.
    """

    layout: Layout
    below: tuple[str, ...] = ()

    @property
    def exact(self) -> str | None:
        """The name of the column that holds this value and nothing else. None if the value is inside a column, or
        spread over several columns.
        """
        if isinstance(self.layout, Leaf) and not self.below:
            return self.layout.column
        return None


def find_place(layout: Layout, steps: tuple[str, ...]) -> Place:
    """Returns the location of a value in ``layout``, the columns of a record. ``steps`` are the field names on the path
    to the value, such as ``("address", "city")``.
    """
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
    """Returns one column with the whole value of ``layout``. If ``layout`` is a struct that is split into columns,
    Spark joins the columns into a struct again.
    """
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
