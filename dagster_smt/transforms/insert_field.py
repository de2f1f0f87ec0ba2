"""InsertField: add fields taken from the record's metadata, or from a fixed text."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from dagster_smt.errors import SCHEMA_BUILDER_EXCEPTION, data_error
from dagster_smt.model.cell import Cell, Const, Node, with_fields
from dagster_smt.model.record import Record
from dagster_smt.model.runtime import JavaInteger
from dagster_smt.model.schema import STRING
from dagster_smt.spec.bundles import NullDefaults
from dagster_smt.spec.copying import copied, copied_fields
from dagster_smt.spec.edit import struct_of, under
from dagster_smt.spec.options import Text, option
from dagster_smt.spec.schemaless import require_map
from dagster_smt.spec.transform import PACKAGE, Effect, Example, Planning, SideFunction, Transform, refuse

_SOURCES = ("topic", "partition", "offset", "timestamp", "static")
_NO_OFFSET = ("SMT409", "only records read from Kafka have an offset", "drop offset.field for source records")


class InsertField(NullDefaults, Transform):
    """Add fields from the record's metadata, or with a fixed text.

    A name that ends with `!` makes a required field, with `?` (or nothing) an optional one; one such mark is cut off.
    The fields are appended in the order topic, partition, offset, timestamp, static. The topic is the current one,
    after routers. The timestamp is a Timestamp with a schema and milliseconds without. With a schema a name that
    exists is refused, without one it is overwritten. A null key or value passes.
    """

    connect_class = PACKAGE + "InsertField"
    purpose = "field insertion"
    null = "pass"
    topic_field: Text | None = option("Field that receives the topic.", None)
    partition_field: Text | None = option("Field that receives the partition.", None)
    offset_field: Text | None = option("Field that receives the offset.", None)
    timestamp_field: Text | None = option("Field that receives the record's timestamp.", None)
    static_field: Text | None = option("Field that receives `static.value`.", None)
    static_value: Text | None = option("The text for `static.field`.", None)
    examples = (
        Example("topic and offset", {"topic.field": "t", "offset.field": "o"}, '{"a":1}', '{"a":1,"t":"orders","o":42}'),
        Example("a fixed text", {"static.field": "env!", "static.value": "test"}, '{"a":1}', '{"a":1,"env":"test"}'),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        if not self.inserted:
            yield "", "nothing to insert", "set at least one of topic.field, partition.field, offset.field, " \
                "timestamp.field, or static.field with static.value"
        if self.static_field is not None and self.static_value is None:
            yield "static.field", "has no static.value", "set static.value"

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

    def ledger(self) -> tuple[Effect, ...]:
        return tuple(Effect("added", name, source) for source, name, _ in self.inserted)

    def plan_side(self, node: Node, at: Planning) -> Node:
        group = struct_of(node, self.purpose)
        fields = dict(copied_fields(group, self.replace_null_with_default, group.fields))
        for number, (source, name, required) in enumerate(self.inserted):
            if name in fields:
                hint = "choose another name, or rename the old field first with ReplaceField"
                raise refuse("SMT110", f"field '{name}' exists already", hint, SCHEMA_BUILDER_EXCEPTION)
            if source == "offset" and at.record.kind != "sink":
                raise refuse(*_NO_OFFSET)
            at.touch(number, group.present)
            cell = self._cell(source, at)
            schema = cell.schema.with_(optional=not required)
            missing = cell.may_be_null and required
            cell = Cell(schema, cell.expr, cell.sources, cell.copied, missing)
            fields[name] = copied(name, cell, group.present, False) if source == "topic" else cell
        return under(group, with_fields(group, fields.items(), group.schema.with_fields(())))

    def _cell(self, source: str, at: Planning) -> Cell:
        if source == "static":
            return Cell(STRING, Const(self.static_value, STRING), frozenset())
        cell: Cell = getattr(at.record, source)
        return cell

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        inserted = tuple((s, name, bit) for (s, name, _), bit in zip(self.inserted, bits, strict=True))

        def insert(value: Any, record: Record) -> Any:
            fields = require_map(value, self.purpose)
            for source, name, bit in inserted:
                found: Any = self.static_value if source == "static" else getattr(record, source)
                if source == "offset" and record.kind != "sink":
                    raise data_error(*_NO_OFFSET)
                if found is None and source in ("partition", "timestamp"):
                    continue
                fields[name] = JavaInteger(found) if source == "partition" else found
                record.touched |= bit
            return fields

        return insert
