"""Converts a record into a row. This is the first stage of a chain if the topic table has columns."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from dagster_smt.authoring.copying import copied
from dagster_smt.authoring.options import option
from dagster_smt.authoring.transform import Entry, Part, Planning, SideFunction, refuse
from dagster_smt.chain.plan import input_record
from dagster_smt.effects.code import Code
from dagster_smt.errors import data_error
from dagster_smt.interpret.closures import expr_function
from dagster_smt.model.cell import Call, Cell, Const, Expr, Group, Node, Rule, field_nodes, open_struct, schemas_of
from dagster_smt.model.paths.extended import below
from dagster_smt.model.record import VALUE_DIRTY, PlanRecord, Record
from dagster_smt.model.reports.run_report import MISMATCHED
from dagster_smt.model.schema import BOOLEAN, JavaDate, Schema, Type
from dagster_smt.model.topics.change_formats import ROW, is_change, metadata_key
from dagster_smt.model.topics.columns import Column, HeaderValue, Metadata, decoder, header_form
from dagster_smt.model.topics.format import Format
from dagster_smt.tables.rows.column_rules import (
    AsInt,
    AsLong,
    AsMillis,
    AsText,
    Decoded,
    HeaderList,
    HeaderMap,
    HeaderNamed,
    Mismatched,
    Same,
    Undecoded,
)
from dagster_smt.tables.rows.fitting import comparable, fitted
from dagster_smt.tables.rows.row_transform import RowTransform
from dagster_smt.values.value_rule import IsNull

_PARTS: dict[str, Part] = {
    "partition": "metadata",
    "offset": "metadata",
    "timestamp": "metadata",
    "timestamp-type": "timestamp_type",
    "leader-epoch": "leader_epoch",
}
"""Maps the origin of a column, such as ``offset``, to the part of a record that contains it, such as ``metadata``."""
_CELLS = {"timestamp-type": "timestamp_type", "leader-epoch": "leader_epoch"}
_CASTS: dict[tuple[str, Any], Rule] = {
    ("partition", Type.INT64): AsLong(),
    ("partition", Type.STRING): AsText(),
    ("offset", Type.INT32): AsInt(),
    ("offset", Type.STRING): AsText(),
    ("timestamp", Type.INT64): AsMillis(),
}


class ReadRow(RowTransform):
    """Replaces the record's value with a row of the topic table. The columns of the row come from the value, key,
    metadata and headers.
    """

    purpose = "reading the columns of a topic table"
    form: Format = option("The format of the values.", Format())

    def effects(self) -> tuple[Code, ...]:
        entries = []
        for c in self.row.others:
            entries.append(Entry("added", below("", c.name), self._origin_of(c), side="value"))
        added = tuple(entries)
        undecoded = (Entry("undecoded", below("", c.name), side="value") for c in self._lenient)
        mismatched = (Entry(MISMATCHED, below("", c.name), "key", side="value") for c in self._compared)
        parts: set[Part] = set()
        for column in self.row.others:
            parts.add("headers" if _of_headers(column) else _PARTS.get(column.origin, "value"))
        return (Code((*added, *undecoded, *mismatched), self.sides | parts),)

    @property
    def _compared(self) -> tuple[Column, ...]:
        """The columns that are in both the key and the value, if ``fields_verify_integrity`` is ``check``; otherwise no
        columns.

        The stage compares the key with the value, and the run counts the records in which they differ.
        """
        if self.row.verify_integrity == "check":
            return self.row.in_both
        return ()

    def _origin_of(self, column: Column) -> str:
        key = metadata_key(self.form, column.origin)
        if key is None:
            return column.origin
        return f"value.{key}"

    @property
    def _lenient(self) -> tuple[Column, ...]:
        """The header columns that are not strict. If the bytes of the header cannot be decoded, such a column becomes
        null.
        """
        sources = ((c, c.source) for c in self.row.others)
        columns = []
        for c, s in sources:
            if isinstance(s, HeaderValue) and s.decode != "bytes" and not s.strict:
                columns.append(c)
        return tuple(columns)

    def plan_record(self, record: PlanRecord, at: Planning) -> PlanRecord:
        if record.value is None:
            return record
        group = _opened(record.value)
        nodes = {}
        for c in self.row.columns:
            nodes[c.name] = self._column_node(c, record, group, at)
        if not self.row.physical:
            nodes = {**_undeclared_fields(record.value, nodes, group), **nodes}
        fields = tuple(nodes.items())
        schema = Schema(Type.STRUCT, group.schema.optional, fields=schemas_of(fields))
        self._touch(record, group, at)
        return replace(record, value=Group(schema, fields, group.present, group.sources, group.nullable))

    def _column_node(self, column: Column, record: PlanRecord, group: Group, at: Planning) -> Node:
        if column.source is None:
            return self._physical(column, record, group)
        metadata = metadata_key(self.form, column.origin)
        if metadata is not None:
            # a change data format is read as a struct of the row and the metadata (``declared_formats``)
            cell = _field(record.value, metadata)
        else:
            cell = _cell_of(column, record)
        assert cell is not None
        return copied(column.name, cell, group.present, False)

    def _physical(self, column: Column, record: PlanRecord, group: Group) -> Node:
        if not self.row.in_value(column.name):
            # a record without a key becomes a row with nulls, whereas Flink skips such a record
            empty: Node = Cell(column.schema, Const(None, column.schema), frozenset(), nullable=True)
            if record.key is not None:
                said = self._in_key(column, record)
                empty = fitted(said, column.schema, below("", column.name), group.present)
            return copied(column.name, empty, group.present, False)
        node = copied(column.name, self._inside(column, record, group), group.present, False)
        if self.row.verify_integrity is not True or column not in self.row.in_both:
            return node
        same = Call(Same(column.name), (_presence(node), self._mismatched(column, node, record, group)))
        if isinstance(node, Group):
            return replace(node, present=same)
        return replace(node, expr=same)

    def _in_key(self, column: Column, record: PlanRecord) -> Node | None:
        if column.name not in self.row.key_fields:
            return None
        node = _field(record.key, self.row.key_name(column.name))
        if self.row.is_key(column, None if node is None else node.schema):
            return record.key
        return node

    def _mismatched(self, column: Column, value: Node, record: PlanRecord, group: Group) -> Call:
        """Returns an expression that compares ``column`` in the record's key with ``column`` in the record's value.

        Args:
            column: A column that is both in the key and in the value.
            value: The column in the record's value.
            record: The record in the plan.
            group: The record's value as a struct. If it is null, the column is not compared.
        """
        absent = Call(IsNull(), (_presence(group),))
        return Call(Mismatched(_has_map(column.schema)), (absent, *_parts(value, self._in_key(column, record))))

    def _inside(self, column: Column, record: PlanRecord, group: Group) -> Node:
        """Returns the field of the record's value for ``column``, converted into the column's type.

        Args:
            column: A column that is read from the value, not from metadata or headers.
            record: The record in the plan.
            group: The record's value as a struct.
        """
        if self.form.is_column:
            return fitted(record.value, column.schema, below("", column.name), group.present)
        if is_change(self.form):
            inside = _field(record.value, ROW)
        else:
            inside = record.value
        return fitted(_field(inside, column.name), column.schema, below("", column.name), group.present)

    def _touch(self, record: PlanRecord, group: Group, at: Planning) -> None:
        names = [column.name for column in self.row.others]
        # the numbers are the positions of the entries in effects(): first added, then undecoded, then mismatched
        for number, column in enumerate(self.row.others):
            at.touch(number, _raw(column, record) if isinstance(column.source, HeaderValue) else group.present)
        for number, column in enumerate(self._compared, len(names) + len(self._lenient)):
            at.touch(number, self._mismatched(column, self._inside(column, record, group), record, group))
        for number, column in enumerate(self._lenient, len(names)):
            raw, value = _raw(column, record), _cell_of(column, record)
            many = isinstance(column.source, HeaderValue) and column.source.match == "all"
            at.touch(number, Call(Undecoded(many), (raw, value.expr)))

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        if self.row.physical:
            return _refused
        # the expressions of metadata and header columns do not depend on the schemas of key and value
        record = input_record(None, None)
        added = []
        for c in self.row.others:
            added.append((c.name, expr_function(_cell_of(c, record).expr)))
        at = Planning(record, "value")
        self._touch(record, Group(Schema(Type.STRUCT), (), None), at)
        touches = []
        for t in at.touches:
            touches.append((bits[t.entry], None if t.when is None else expr_function(t.when)))
        return _adding(added, touches)


def _adding(
    added: Sequence[tuple[str, Callable[[Record], Any]]],
    touches: Sequence[tuple[int, Callable[[Record], Any] | None]],
) -> SideFunction:
    def add(value: Any, record: Record) -> Any:
        if not isinstance(value, dict):
            hint = "declare metadata and header columns only where values are objects"
            raise data_error("SMT434", "the value is not an object, so it cannot have columns", hint)
        for name, make in added:
            if name in value:
                raise _exists(name)
            result = make(record)
            # in a record without a schema, a date is a number
            value[name] = int(result) if type(result) is JavaDate else result
        record.dirty |= VALUE_DIRTY
        for bit, when in touches:
            record.touched |= bit if when is None or when(record) is not None else 0

    return add


def _refused(value: Any, record: Record) -> Any:
    raise data_error("SMT434", "the value has no schema, but the columns declare one", "choose a format with a schema")


def _exists(name: str) -> Any:
    hint = "give the column another name, and the key with METADATA FROM '…' or HEADER('…')"
    return data_error("SMT435", f"the value has a field '{name}' already", hint)


def _opened(node: Node) -> Group:
    """Returns ``node``, the record's value, as a struct.

    A value that is not a struct becomes a struct without fields. This struct is null if the value is null.
    """
    if node.schema.type is Type.STRUCT:
        return open_struct(node)
    assert isinstance(node, Cell)
    return Group(Schema(Type.STRUCT, True), (), node.expr, node.sources, node.nullable)


def _undeclared_fields(node: Node, declared: dict[str, Node], group: Group) -> dict[str, Node]:
    """Returns the fields of ``node``, a record's value, for a topic table that does not declare the fields of the
    value.

    Raises an error if ``declared`` already has a column with the name of a field, or if the value is not a struct.
    """
    if node.schema.type is not Type.STRUCT:
        raise refuse(
            "SMT434", "the value is not a struct, so it cannot have columns", "declare one physical column for it"
        )
    for name, _ in field_nodes(node):
        if name in declared:
            raise _exists(name)
    copies = {}
    for name, child in field_nodes(node):
        copies[name] = copied(name, child, group.present, False)
    return copies


def _field(node: Node | None, name: str) -> Node | None:
    """Returns the field ``name`` of ``node``, a key or value. If ``node`` is not a struct, it is returned unchanged."""
    if node is None:
        return None
    if node.schema.type is not Type.STRUCT:
        return node
    return dict(field_nodes(node)).get(name)


def _parts(value: Node, key: Node | None) -> list[Expr]:
    """Returns the parts of a column in a record's value and in its key: the first part in the value, the same part in
    the key, the second part in the value, and so on.

    A plain column has one part. A struct has one part that shows whether the struct is null, and the parts of its
    fields. Values of different types, such as a number and a string, are equal only if both are null.

    Args:
        value: The column in the record's value.
        key: The column in the record's key; None if the key does not have it.
    """
    if value.schema.type is not Type.STRUCT:
        if key is not None and comparable(value.schema, key.schema):
            return [_presence(value), _presence(key)]
        absent: list[Expr] = [_presence(value), Const(None, value.schema)]
        # Spark would cast a string to a number, and a cast that fails would end the run
        return absent if key is None else [*absent, *_nullness(value, key)]
    parts = _nullness(value, key)
    # a struct that the records do not have is a cell with a null
    if isinstance(value, Group):
        for name, child in value.fields:
            inside = None
            if key is not None and key.schema.type is Type.STRUCT:
                inside = _field(key, name)
            parts.extend(_parts(child, inside))
    return parts


def _nullness(value: Node, key: Node | None) -> list[Expr]:
    return [Call(IsNull(), (_presence(value),)), Call(IsNull(), (_presence(key),))]


def _presence(node: Node | None) -> Expr:
    """Returns an expression that is null in exactly the records in which ``node`` is null."""
    if node is None:
        return Const(None, BOOLEAN)
    if isinstance(node, Cell):
        return node.expr
    return Const(True, BOOLEAN) if node.present is None else node.present


def _has_map(schema: Schema) -> bool:
    inner = [child for _, child in schema.fields]
    if schema.values is not None:
        inner.append(schema.values)
    return schema.type is Type.MAP or any(map(_has_map, inner))


def _of_headers(column: Column) -> bool:
    return isinstance(column.source, HeaderValue) or column.origin == "headers"


def _cell_of(column: Column, record: PlanRecord) -> Cell:
    """Returns the plan's description of ``column``, a metadata column or a header column: its schema and an
    expression.
    """
    source, schema = column.source, column.schema
    sources = frozenset({column.origin})
    if isinstance(source, HeaderValue):
        raw, header_decoder = _raw(column, record), decoder(source.decode)
        assert header_decoder is not None
        expr: Expr = raw
        if header_decoder.name != "bytes":
            expr = Call(Decoded(header_decoder, schema, source.match == "all", source.strict, column.name), (raw,))
        return Cell(schema, expr, sources, nullable=True)
    assert isinstance(source, Metadata)
    if source.key == "headers":
        listed = header_form(schema, source.duplicates) == "list"
        rule: Rule = HeaderList() if listed else HeaderMap(source.duplicates)
        return Cell(schema, Call(rule, (record.headers.expr,)), sources)
    cell: Cell = getattr(record, _CELLS.get(source.key, source.key))
    cast = _CASTS.get((source.key, schema.logical or schema.type))
    expr = cell.expr if cast is None else Call(cast, (cell.expr,))
    return Cell(schema, expr, sources, copied=cast is None, nullable=cell.may_be_null)


def _raw(column: Column, record: PlanRecord) -> Expr:
    assert isinstance(column.source, HeaderValue)
    return Call(HeaderNamed(column.source.key, column.source.match), (record.headers.expr,))
