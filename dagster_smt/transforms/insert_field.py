"""InsertField: add fields taken from the record's metadata, or from a fixed text."""

from collections.abc import Iterator
from functools import cached_property
from typing import Annotated, Any

from dagster_smt.authoring.bundles import NestedPaths, NullDefaults, check_paths
from dagster_smt.authoring.copying import copied
from dagster_smt.authoring.edit import struct_of, under
from dagster_smt.authoring.field_changes import FieldChange, Insert
from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.paths import Branch
from dagster_smt.authoring.schemaless import made_parent, require_map
from dagster_smt.authoring.transform import PACKAGE, Entry, Example, Planning, SideFunction, Transform, refuse
from dagster_smt.authoring.validate import one_of
from dagster_smt.errors import SCHEMA_BUILDER_EXCEPTION, data_error
from dagster_smt.model.cell import UNSET, Cell, Const, Group, Node, open_struct, with_fields
from dagster_smt.model.path import FieldPath
from dagster_smt.model.record import Record
from dagster_smt.model.runtime import JavaInteger
from dagster_smt.model.schema import STRING, Schema, Type

_SOURCES = ("topic", "partition", "offset", "timestamp", "static")
_ANY = "set topic.field, partition.field, offset.field, timestamp.field, or static.field with static.value"
_NO_OFFSET = ("SMT409", "only records read from Kafka have an offset", "drop offset.field for source records")


class InsertField(NullDefaults, NestedPaths, Transform):
    """Add fields from the record's metadata, or with a fixed text.

    A name that ends with `!` makes a required field, with `?` (or nothing) an optional one; one such mark is cut off.
    The fields are appended in the order topic, partition, offset, timestamp, static. The topic is the current one,
    after routers. The timestamp is a Timestamp with a schema and milliseconds without. With a schema a name that
    exists is refused, without one it is overwritten. A null key or value passes.

    From `field.syntax.version=V2` on, fields can go into structs inside: their parents are made where the schema
    (without one: the record) does not have them, and fields that exist are replaced, with a schema too; two options
    change that. Nothing is inserted into a parent that is null, or that is no struct.
    """

    connect_class = PACKAGE + "InsertField"
    former_types = ("InsertIn{}",)
    former_options = tuple((name, f"{name}.field") for name in ("topic", "partition", "offset", "timestamp"))
    purpose = "field insertion"
    null = "pass"
    topic_field: Text | None = option("Field that receives the topic.", None)
    partition_field: Text | None = option("Field that receives the partition.", None)
    offset_field: Text | None = option("Field that receives the offset.", None)
    timestamp_field: Text | None = option("Field that receives the record's timestamp.", None)
    static_field: Text | None = option("Field that receives `static.value`.", None)
    static_value: Text | None = option("The text for `static.field`.", None)
    field_on_missing_parent: Annotated[Text, one_of("create", "ignore")] = option(
        "`create` or `ignore`: whether a parent that does not exist is made, or nothing is inserted (not for `V1`).",
        "create",
    )
    field_on_existing_field: Annotated[Text, one_of("overwrite", "ignore")] = option(
        "`overwrite` or `ignore`: what happens to a field that exists already (not for `V1`).", "overwrite"
    )
    examples = (
        Example(
            "topic and offset", {"topic.field": "t", "offset.field": "o"}, '{"a":1}', '{"a":1,"t":"orders","o":42}'
        ),
        Example("a fixed text", {"static.field": "env!", "static.value": "test"}, '{"a":1}', '{"a":1,"env":"test"}'),
        Example(
            "into a struct that does not exist",
            {"topic.field": "meta.source", "field.syntax.version": "V2"},
            '{"a":1}',
            '{"a":1,"meta":{"source":"orders"}}',
        ),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        if not self.inserted:
            yield "", "nothing to insert", _ANY
        if self.static_field is not None and self.static_value is None:
            yield "static.field", "has no static.value", "set static.value"
        for option_ in ("field_on_missing_parent", "field_on_existing_field"):
            if option_ in self.model_fields_set and not self.nested:
                yield option_.replace("_", "."), "has no effect under V1", "set field.syntax.version=V2"
        for source, text, _ in self.inserted if self.nested else ():
            problems = tuple(check_paths(f"{source}.field", (text,), self.path))
            yield from problems
            if not problems and not self.path(text).plain:
                yield f"{source}.field", f"'{text}' has steps that are no names", "name each step"

    @property
    def reads_metadata(self) -> bool:  # type: ignore[override]
        return any(source not in ("topic", "static") for source, _, _ in self.inserted)

    @cached_property
    def inserted(self) -> tuple[tuple[str, str, bool], ...]:
        """(source, field name, required) of what is inserted, in order."""
        found = []
        for source in _SOURCES:
            text = getattr(self, f"{source}_field")
            if text is not None:
                marked = text.endswith(("!", "?"))
                found.append((source, text[:-1] if marked else text, text.endswith("!")))
        return tuple(found)

    def ledger(self) -> tuple[Entry, ...]:
        return tuple(Entry("added", name, source) for source, name, _ in self.inserted)

    @cached_property
    def _paths(self) -> tuple[FieldPath, ...]:
        return tuple(self.path(name) for _, name, _ in self.inserted)

    def plan_side(self, node: Node, at: Planning) -> Node:
        group, root = struct_of(node, self.purpose), Branch()
        for number, path in enumerate(self._paths):
            root.add(tuple(str(step) for step in path.steps), number)
        fields = self._fields(group, root, at)
        if at.record.kind != "sink" and any(source == "offset" for source, _, _ in self.inserted):
            raise refuse(*_NO_OFFSET)
        return under(group, with_fields(group, fields.items(), group.schema.with_fields(())))

    def _fields(self, group: Group, branch: Branch, at: Planning) -> dict[str, Node]:
        """The fields of a struct, copied, with what is inserted into it and below."""
        fields: dict[str, Node] = {}
        for name, child in group.fields:
            below = branch.below.get(name, Branch())
            if below.below and child.schema.type is Type.STRUCT:
                child = open_struct(child)
            fields[name] = copied(name, child, group.present, self.replace_null_with_default)
        for step, below in branch.below.items():
            name = str(step)
            if below.below and name not in fields and self.field_on_missing_parent == "create":
                fields[name] = Group(Schema(Type.STRUCT, optional=True), (), None)
            parent = fields.get(name)
            if below.below and isinstance(parent, Group):
                fields[name] = with_fields(parent, self._fields(parent, below, at).items(), parent.schema)
            elif below.below:
                at.miss(str(self._paths[below.first]), tuple(group.by_name), name)
            for number in below.ends:
                self._insert(name, number, fields, group, at)
        return fields

    def _insert(self, name: str, number: int, fields: dict[str, Node], group: Group, at: Planning) -> None:
        if name in fields and not self.nested:
            hint = "choose another name, or rename the old field first with ReplaceField"
            raise refuse("SMT110", f"field '{name}' exists already", hint, SCHEMA_BUILDER_EXCEPTION)
        if name in fields and self.field_on_existing_field == "ignore":
            return
        at.touch(number, group.present)
        source, _, required = self.inserted[number]
        cell = self._cell(source, at)
        schema = cell.schema.with_(optional=not required)
        unset = cell.may_be_null and required
        cell = Cell(schema, cell.expr, cell.sources, cell.copied, unset, frozenset({UNSET} if unset else ()))
        fields[name] = copied(name, cell, group.present, False) if source == "topic" else cell

    def _cell(self, source: str, at: Planning) -> Cell:
        if source == "static":
            return Cell(STRING, Const(self.static_value, STRING), frozenset())
        cell: Cell = getattr(at.record, source)
        return cell

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        inserted = tuple(
            (source, path.steps[:-1], path.leaf, bit)
            for (source, _, _), path, bit in zip(self.inserted, self._paths, bits, strict=True)
        )
        overwrites = self.field_on_existing_field == "overwrite"

        def insert(value: Any, record: Record) -> Any:
            require_map(value, self.purpose)
            for source, above, name, bit in inserted:
                found: Any = self.static_value if source == "static" else getattr(record, source)
                if source == "offset" and record.kind != "sink":
                    raise data_error(*_NO_OFFSET)
                if found is None and source in ("partition", "timestamp"):
                    continue
                fields = made_parent(value, above, self.field_on_missing_parent == "create") if above else value
                if fields is not None and (overwrites or name not in fields):
                    fields[name] = JavaInteger(found) if source == "partition" else found
                    record.touched |= bit
            return value

        return insert

    def field_changes(self, bits: tuple[int, ...]) -> tuple[FieldChange, ...] | None:
        if not all(path.flat for path in self._paths):
            return None
        overwrites = self.field_on_existing_field == "overwrite"
        return tuple(
            Insert(path.leaf, source, self.static_value, bit, overwrites)
            for (source, _, _), path, bit in zip(self.inserted, self._paths, bits, strict=True)
        )
