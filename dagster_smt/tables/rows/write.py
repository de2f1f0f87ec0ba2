"""Converts a row back into a record. This is the last stage of a chain if the topic table has columns and the sink
holds records.
"""

from dataclasses import replace
from typing import Any

from dagster_smt.authoring.options import option
from dagster_smt.authoring.transform import Part, Planning, SideFunction, refuse
from dagster_smt.effects.code import Code
from dagster_smt.errors import data_error
from dagster_smt.model.cell import Call, Cell, Const, Expr, Group, Node, Ref, Rule, field_nodes, open_struct, schemas_of
from dagster_smt.model.record import VALUE_DIRTY, PlanRecord, Record
from dagster_smt.model.schema import Schema, Type
from dagster_smt.model.topics.columns import Column, HeaderValue, Metadata, decoder, header_form
from dagster_smt.tables.rows.header_rules import HeadersFrom, NoHeaders, PutHeader
from dagster_smt.tables.rows.row_transform import RowTransform
from dagster_smt.values.headers.fields import DropNamed
from dagster_smt.values.partitions import ChosenPartition
from dagster_smt.values.times.timestamps import RecordTime

_STRUCT = Schema(Type.STRUCT, optional=True)
_READ = Ref(("headers_read",))
_RULES: dict[str, dict[str, Rule]] = {
    "timestamp": {"Timestamp": RecordTime("Timestamp", "Timestamp"), "int64": RecordTime("unix", "Timestamp")},
    "partition": {"int32": ChosenPartition()},
}
"""Contains the rules that write a column into the timestamp or the partition of a record. The keys of the outer dict
are these two parts, and the keys of the inner dicts are the types of the column.

Headers have rules of their own.
"""


class WriteRow(RowTransform):
    """Writes the columns of a row to the parts of a record: key, value, headers, timestamp and partition.

    A record without a key still has no key afterwards.

    - Headers: a column is written only if a stage has changed it. Otherwise, the header keeps its bytes, unless a stage
      has changed the header itself. If the chain drops the column of a header, the header is removed. A column that
      holds all headers is written first, so a column for a single header takes precedence.
    - Timestamp: if the chain drops the column, the timestamp is null.
    - Partition: if the column is null, or the chain drops it, the producer chooses the partition.
    """

    purpose = "writing the columns of a topic table"
    whole: bool = option("Whether the value is one column instead of a struct of them.", False)
    unwrapped: bool = option("Whether it must be.", False)

    def effects(self) -> tuple[Code, ...]:
        reads, writes = set(self.sides), set[Part]()
        for column in self._persisted:
            if column.origin.startswith("headers"):
                reads.add("headers")
            elif column.origin == "timestamp":
                writes.add("timestamp")
            elif _is_partition(column):
                writes.add("partition")
        return (Code(reads=frozenset(reads), writes=frozenset(writes)),)

    @property
    def _persisted(self) -> tuple[Column, ...]:
        """The columns that become the headers, the timestamp or the partition of the written record. A column that
        holds all headers of a record comes first.
        """
        columns = [c for c in self.row.others if not c.virtual]
        return tuple(sorted(columns, key=lambda c: c.origin != "headers"))

    def plan_record(self, record: PlanRecord, at: Planning) -> PlanRecord:
        node = record.value
        # a tombstone, or a chain that replaces the row by a single value: no columns are left to write
        if node is None or node.schema.type is not Type.STRUCT:
            return record
        group = open_struct(node)
        fields = dict(field_nodes(node))
        for column in self._persisted:
            record = self._beside(column, fields.get(column.name), record)
        record = replace(record, value=self._value(fields, group))
        if "key" in self.sides:
            return replace(record, key=self._key(fields, record.key, group))
        return record

    def _beside(self, column: Column, node: Node | None, record: PlanRecord) -> PlanRecord:
        cell = node if isinstance(node, Cell) else None
        if column.origin == "timestamp":
            expr = Const(None, record.timestamp.schema) if cell is None else _metadata(column, cell)
            return replace(record, timestamp=replace(record.timestamp, expr=expr))
        if _is_partition(column):
            expr = Const(None, record.target_partition.schema) if cell is None else _metadata(column, cell)
            return replace(record, target_partition=replace(record.target_partition, expr=expr))
        rule = _header_rule(column, there=cell is not None)
        if rule is None:
            return record
        headers = record.headers.expr
        args: tuple[Expr, ...] = (headers,) if cell is None else (headers, _READ, cell.expr)
        return replace(record, headers=replace(record.headers, expr=Call(rule, args)))

    def _key(self, fields: dict[str, Node], key: Node | None, group: Group) -> Node | None:
        names = [name for name in self.row.key_fields if name in fields]
        if not names or key is None:
            return key
        only = self.row.key_column
        if only is None:
            inside = None
        else:
            inside = key.schema.by_name.get(self.row.key_name(only.name))
        # the only key column is the whole key, not a field in it
        if key.schema.type is not Type.STRUCT or (only is not None and self.row.is_key(only, inside)):
            return fields[names[0]]
        parts = tuple((self.row.key_name(name), fields[name]) for name in names)
        schema = _STRUCT.with_(fields=schemas_of(parts))
        return Group(schema, parts, group.present, group.sources, group.nullable)

    def _value(self, fields: dict[str, Node], group: Group) -> Node:
        in_value = []
        for name, node in fields.items():
            if self._in_value(name):
                in_value.append((name, node))
        columns = tuple(in_value)
        if self.whole and len(columns) == 1:
            return columns[0][1]
        if self.unwrapped:
            hint = "drop the others with ReplaceField, or leave it out"
            raise refuse("SMT269", f"WRAP_SINGLE_VALUE is false, and the value has {len(columns)} columns", hint)
        schema = group.schema.with_(fields=schemas_of(columns))
        return replace(group, schema=schema, fields=columns)

    def _in_value(self, name: str) -> bool:
        return name not in {c.name for c in self.row.others} and self.row.in_value(name)

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        gone = [column.name for column in self.row.others]
        headers, moments, places = [], [], []
        for c in self._persisted:
            put, drop = _header_rule(c, there=True), _header_rule(c, there=False)
            if put is not None:
                headers.append((c.name, put.bind(), drop.bind()))
            elif c.origin == "timestamp":
                moments.append(c.name)
            elif _is_partition(c):
                places.append(c.name)

        def write(value: Any, record: Record) -> Any:
            if not isinstance(value, dict):
                return
            for name, put, drop in headers:
                if name in value:
                    record.headers = put(record.headers, record.headers_read, value[name])
                else:
                    record.headers = drop(record.headers)
            for name in moments:
                record.timestamp = _number("timestamp", name, value.get(name))
            for name in places:
                record.target_partition = _number("partition", name, value.get(name))
            for name in gone:
                value.pop(name, None)
            record.dirty |= VALUE_DIRTY

        return write


def _is_partition(column: Column) -> bool:
    """Returns True if ``column`` is the record's partition as ``INT``. A partition column with a different type is only
    read, never written.
    """
    return column.origin == "partition" and column.schema.type is Type.INT32


def _metadata(column: Column, cell: Cell) -> Expr:
    """Returns an expression that converts ``column`` into a record's timestamp or partition.

    Args:
        column: The column.
        cell: The column's value after the chain.
    """
    rule = _RULES[column.origin].get(cell.schema.logical or cell.schema.type.value)
    if rule is None:
        raise refuse(*_other(column.origin, column.name, cell.schema.label))
    return Call(rule, (cell.expr,))


def _number(origin: str, name: str, value: Any) -> int | None:
    """Converts ``value`` into the timestamp or the partition of a record. The row that contains ``value`` has no
    schema.

    Args:
        origin: ``timestamp`` or ``partition``.
        name: The name of the column, for the error if the value is not an integer.
        value: The value. None stays None.
    """
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool):
        raise data_error(*_other(origin, name, "no number"))
    return int(_RULES[origin]["int64" if origin == "timestamp" else "int32"].python(value))


def _other(origin: str, name: str, kind: str) -> tuple[str, str, str]:
    statement = f"the column '{name}' is the record's {origin}, but the chain makes it {kind}"
    return "SMT278", statement, f"keep it {' or '.join(_RULES[origin])}, or declare it VIRTUAL"


def _header_rule(column: Column, *, there: bool) -> Any:
    """Returns the rule that writes ``column`` to the headers. Returns None if the column was not read from headers.

    If ``there`` is False, the chain has dropped the column. The rule then removes the column's headers.
    """
    source = column.source
    if isinstance(source, HeaderValue):
        header_decoder = decoder(source.decode)
        assert header_decoder is not None
        if there:
            return PutHeader(source.key, source.match, header_decoder, column.schema)
        return DropNamed((source.key,))
    if not isinstance(source, Metadata) or source.key != "headers":
        return None
    if not there:
        return NoHeaders()
    return HeadersFrom(source.duplicates, header_form(column.schema, source.duplicates) == "map")
