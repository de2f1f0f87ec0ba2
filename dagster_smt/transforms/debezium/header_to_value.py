"""HeaderToValue: move or copy headers into fields of the value."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

from pydantic import AfterValidator

from dagster_smt.authoring.copying import copied
from dagster_smt.authoring.fields.edit import clash, struct_of
from dagster_smt.authoring.options import Names, Text, java_split, option
from dagster_smt.authoring.transform import Entry, Example, Planning, SideFunction, refuse
from dagster_smt.authoring.validate import AnyCase, one_of
from dagster_smt.effects.code import Code, CodeTransform
from dagster_smt.errors import SCHEMA_BUILDER_EXCEPTION, data_error
from dagster_smt.model.cell import Call, Cell, Group, Node, Ref, open_struct, with_fields
from dagster_smt.model.record import PlanRecord, Record
from dagster_smt.model.runtime import kind_of
from dagster_smt.model.schema import Schema, Type
from dagster_smt.transforms.debezium.events.shape import new_schema, no_variant, presence
from dagster_smt.values.headers.fields import DropNamed, HeaderValueRule
from dagster_smt.values.value_rule import Required


def _items(names: tuple[str, ...]) -> tuple[str, ...]:
    # as in Java's `String.split`, empty items at the end do not count
    while names and not names[-1]:
        names = names[:-1]
    if not names:
        raise ValueError("the list is empty")
    if "" in names:
        raise ValueError("the list has an empty item")
    if any(" " in name for name in names):
        raise ValueError("an item has a blank inside")
    return names


_Items = Annotated[Names, AfterValidator(_items)]
_Operation = Annotated[Text, one_of("move", "copy"), AnyCase]
_Fields = dict[str, Node]
_SCHEMAS = {kind.value: Schema(kind) for kind in (Type.STRING, Type.INT64, Type.FLOAT64, Type.BOOLEAN)}
_NULL = "null"
_NO_SCHEMA = Schema(Type.STRING, name="none")
"""The placeholder for the schema of a header value without a schema: a null, an array or an object. No field has this
schema.
"""


@dataclass(frozen=True)
class _Header:
    """A header whose value becomes a field.

    Attributes:
        key: The name of the header.
        kind: For a header without a schema, the kind of its value, such as ``array``; otherwise empty.
        cell: The value.
    """

    key: str
    kind: str
    cell: Cell


class HeaderToValue(CodeTransform):
    """Move or copy headers into fields of the value, which must be a struct. A null value passes through unchanged.

    Each listed header fills its field, with the header's schema and in the order of the record's headers. Missing
    headers are skipped. The operation `move` then drops all headers with the listed names. In `fields`, `a.b` means the
    field `b` of the struct `a`; the struct is created if the value does not have it. For example,
    `headers=event_timestamp,key` with `fields=timestamp,source.id` adds the field `timestamp`, and the field `id` in
    `source`. An existing field is replaced and keeps its schema, so the types must be equal. Structs on a path become
    required and lose their defaults; nothing is added to a null struct. A null in a field that is not listed becomes
    the default of the field.

    The schema of a record depends on its headers. The transform therefore works in sinks of records and is rejected for
    tables of columns (one column for each field of the value).

    Debezium caches the new schema, with only the old schema as the cache key. If a later record has different headers,
    Debezium therefore fails (decision 13). Debezium also confuses structs whose names have a common part. If the value
    has no struct `a`, Debezium loses a header that belongs into `a.b.c`, because two new structs would be needed. Here
    names are compared step by step, and only a struct at the top level can be new: the path `a.b.c` is rejected if the
    value has no struct `a.b`.
    """

    connect_class = "io.debezium.transforms.HeaderToValue"
    sided = False
    purpose = "add headers to the value"
    null = "pass"
    headers: _Items = option("Names of the headers.")
    fields: _Items = option("Fields for the headers, one for each of `headers`.")
    operation: _Operation = option("`move` drops the headers, `copy` keeps them.")
    examples = (
        Example(
            "a tombstone has no fields, so its headers stay",
            {"headers": "event_timestamp,key", "fields": "timestamp,source.id", "operation": "move"},
            '[{"key":"key","value":"100"}]',
            '[{"key":"key","value":"100"}]',
            shows="headers",
        ),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        if len(self.fields) != len(self.headers):
            statement = f"has {len(self.fields)} items, but headers has {len(self.headers)}"
            yield "fields", statement, "name one field for each header"
        for field in self.fields:
            if not java_split(field, "."):
                yield "fields", f"'{field}' has no name", "name a field"

    @cached_property
    def _field_of(self) -> dict[str, tuple[int, tuple[str, ...]]]:
        """Maps each header to two items: its position in the option ``headers``, and the path of its field. If a header
        is listed twice, the first entry applies.
        """
        pairs = enumerate(zip(self.headers, self.fields, strict=True))
        fields = {}
        for n, (header, field) in reversed(list(pairs)):
            fields[header] = (n, tuple(java_split(field, ".")))
        return fields

    @property
    def _moved(self) -> tuple[str, ...]:
        if self.operation == "move":
            return tuple(dict.fromkeys(self.headers))
        return ()

    def effects(self) -> tuple[Code, ...]:
        pairs = zip(self.headers, self.fields, strict=True)
        added = (Entry("added", field, header, "value") for header, field in pairs)
        dropped = (Entry("dropped", header, "", "headers") for header in self._moved)
        return (Code((*added, *dropped), frozenset({"value", "headers"})),)

    def variant(self, record: Record) -> Hashable:
        """Returns a triple for each listed header that ``record`` has: the header's position, name and schema. If the
        header has no schema, the third item is the kind of its value, such as ``string``.
        """
        variant = []
        for position, header in enumerate(record.headers):
            if header.key in self._field_of:
                variant.append((position, header.key, header.schema or _kind(header.value)))
        return tuple(variant)

    def plan_record(self, record: PlanRecord, at: Planning) -> PlanRecord:
        assert record.value is not None  # a null passes through unchanged
        event = struct_of(record.value, self.purpose)
        if not isinstance(at.variant, tuple):
            raise no_variant()
        if not at.variant:
            return record
        entries = []
        for position, key, schema in at.variant:
            number, path = self._field_of[key]
            at.touch(number, event.present)
            entries.append((path, self._header(position, key, schema)))
        headers = record.headers
        if self._moved:
            keys = {key for _, key, _ in at.variant}
            for number, header in enumerate(self._moved, len(self.headers)):
                if header in keys:
                    at.touch(number, event.present)
            headers = replace(headers, expr=Call(DropNamed(self._moved), (headers.expr,)))
        return replace(record, value=_with(event, entries, True), headers=headers)

    def _header(self, position: int, key: str, schema: Schema | str) -> _Header:
        kind = schema if isinstance(schema, str) else ""
        if isinstance(schema, str):
            known = _SCHEMAS.get(kind, _NO_SCHEMA)
        else:
            known = schema
        cell = Cell(known, Call(HeaderValueRule(position), (Ref(("headers",)),)), frozenset({"headers"}))
        return _Header(key, kind, cell)

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        def refuse_values(value: Any, record: Record) -> None:
            hint = "declare the schema of the value, or drop the stage"
            raise data_error("SMT221", f"a schema is required for [{self.purpose}]", hint)

        return refuse_values


def _kind(value: Any) -> str:
    """Returns the kind of ``value``, which has no schema, such as ``string``. See ``model.runtime.kind_of``."""
    if value is None:
        return _NULL
    return kind_of(value)


def _with(group: Group, entries: list[tuple[tuple[str, ...], _Header]], root: bool = False) -> Group:
    """Returns the struct ``group`` with the values of headers in its fields.

    Each of ``entries`` is a pair: the path of a field inside ``group``, such as ``("source", "id")``, and the header
    for this field. If ``group`` lacks the struct ``source``, the function creates it, but only if ``group`` is the
    whole value (``root``).

    Raises:
        PlanError: SMT480: a missing struct cannot be created, because ``group`` is not the whole value, or because two
            structs are missing; two headers have the same field; a header does not fit its field.
    """
    fields: _Fields = {}
    for name, child in group.fields:
        below = []
        for path, header in entries:
            if len(path) > 1 and path[0] == name:
                below.append((path[1:], header))
        fields[name] = _with(_opened(name, child), below) if below else _copied(name, child, group)
    for path, header in entries:
        if len(path) == 1:
            fields[path[0]] = _put(path[0], header, fields.get(path[0]), group)
    # new structs are added after all existing fields, in the order of their first header
    new_structs: dict[str, _Fields] = {}
    for path, header in entries:
        if len(path) > 1 and path[0] not in group.by_name:
            if len(path) > 2 or not root:
                statement = (
                    f"the struct of the field '{path[-1]}' is missing, and only a struct at the top can be added"
                )
                raise refuse("SMT480", statement, "name a field of an existing struct", "")
            if path[0] in fields or path[1] in new_structs.get(path[0], {}):
                raise clash(path[0] if path[0] in fields else path[1])
            new_structs.setdefault(path[0], {})[path[1]] = _put(path[1], header, None, group)
    for name, inner in new_structs.items():
        fields[name] = with_fields(Group(Schema(Type.STRUCT), (), None), inner.items(), Schema(Type.STRUCT, True))
    after = with_fields(group, fields.items(), new_schema(group))
    return replace(after, nullable=group.may_be_null)


def _opened(name: str, child: Node) -> Group:
    return open_struct(struct_of(child, f"add a header to '{name}'"))


def _copied(name: str, child: Node, group: Group) -> Node:
    """Returns a copy of the field ``child``. If the field is null and has a default, the copy gets the default.

    If a required field without a default is null, the copy is also null. As in Debezium, this is not an error.
    """
    optional = child.schema.optional or child.schema.default is not None
    if optional:
        return copied(name, child, group.present, True)
    return child


def _put(name: str, header: _Header, old: Node | None, group: Group) -> Cell:
    """Returns the field ``name`` with the value of ``header``. ``old`` is the existing field of this name, whose schema
    stays; None if the field is new.
    """
    cell = header.cell
    if old is None and header.kind:
        value = "is null" if header.kind == _NULL else f"is {header.kind}"
        statement = f"the header '{header.key}' {value}, without a schema for the new field '{name}'"
        raise refuse("SMT479", statement, "name an existing field, or drop the header", SCHEMA_BUILDER_EXCEPTION)
    schema = cell.schema if old is None else old.schema
    if header.kind == _NULL:
        return _required(name, replace(cell, schema=schema), True, group)
    same = schema.type is cell.schema.type and schema.logical == cell.schema.logical
    if not same or (schema.type is Type.STRUCT and schema.fields != cell.schema.fields):
        statement = f"the field '{name}' is {schema.label}, but the header is {header.kind or cell.schema.label}"
        raise refuse("SMT481", statement, "name another field")
    return _required(name, replace(cell, schema=schema), cell.schema.optional, group)


def _required(name: str, cell: Cell, may_be_null: bool, group: Group) -> Cell:
    """Returns ``cell`` as the field ``name``. A record is rejected if the cell is null but its schema requires a value.
    ``may_be_null`` is False if the cell is never null, so that no check is needed.
    """
    if cell.schema.optional or not may_be_null:
        return cell
    return replace(cell, expr=Call(Required(name), (cell.expr, presence(group))))
