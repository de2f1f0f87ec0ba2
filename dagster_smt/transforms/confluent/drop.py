"""Drop: a null key or value."""

from dataclasses import replace
from typing import Annotated, Any, Literal

from dagster_smt.authoring.edit import present
from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.transform import Entry, Example, Planning, SideFunction, Transform, refuse
from dagster_smt.authoring.validate import one_of
from dagster_smt.model.cell import Cell, Const, Node
from dagster_smt.model.extended_path import WHOLE
from dagster_smt.model.record import PlanRecord, Record
from dagster_smt.model.schema import optional

_BEFORE = '{"schema":{"type":"string","optional":false},"payload":"Ann"}'
_AFTER = '{"schema":{"type":"string","optional":true},"payload":null}'


class Drop(Transform):
    """Set the whole key or value to null, whatever is in it; the record stays.

    The option says what becomes of its schema. Without a schema there is none to check: the key or value is null under
    each of the four. A value that is null makes the record a tombstone.

    The documentation does not say what a key or value meets that is null already. Here its schema, if it has one, is
    treated as that of others, and the ledger does not count it. Nor does it say which exception is thrown, or whether
    the case of the option matters: here it is a `DataException`, and other spellings are refused.

    `force_optional` changes nothing else of the schema; a default stays. With `retain` a null can be left under a
    schema that requires a value: a format that writes the schema refuses it. Where the schema has a default, JSON
    writes that in place of the null, as Connect does, unless `replace.null.with.default=false` is set there.

    In a table of columns a null has no schema: the column of a dropped value is null and keeps its type, and `validate`
    finds nothing to check in a null. A value that was a struct leaves no row there, so the record is refused.
    """

    connect_class = "io.confluent.connect.transforms.Drop"
    purpose = "drop the key or value"
    schema_behavior: Annotated[Text, one_of("nullify", "retain", "validate", "force_optional")] = option(
        "What becomes of the schema: `nullify`: there is none; `retain`: it stays; `validate`: it stays, and one that "
        "requires a value is refused; `force_optional`: it allows null.",
        "nullify",
    )
    examples = (
        Example("a value", {}, '{"id":7}', "null"),
        Example("a value with a schema", {}, _BEFORE, "null"),
        Example("a schema that requires a value", {"schema.behavior": "force_optional"}, _BEFORE, _AFTER),
        Example("a schema that allows null", {"schema.behavior": "validate"}, _AFTER.replace("null", '"Ann"'), _AFTER),
    )

    def ledger(self) -> tuple[Entry, ...]:
        return (Entry("dropped", WHOLE),)

    def plan_record(self, record: PlanRecord, at: Planning) -> PlanRecord:
        node = record.key if at.side == "key" else record.value
        if node is None:
            return self.plan_absent(record)
        after = self.plan_side(node, at)
        schema: Literal[False] | None = None if self.schema_behavior == "nullify" else False
        if at.side == "key":
            return replace(record, key=after, null_key=schema)
        return replace(record, value=after, null_value=schema)

    def plan_side(self, node: Node, at: Planning) -> Node:
        """For columns a null of ``nullify`` has a type, too: there is no column without."""
        schema, behavior = node.schema, self.schema_behavior
        if behavior == "validate" and not schema.optional:
            hint = "let the schema allow null, or set schema.behavior to nullify or force_optional"
            raise refuse("SMT222", f"the schema requires a value, so none can be dropped: {schema.label}", hint)
        at.touch(0, present(node))
        after = schema if behavior == "retain" else optional(schema)
        return Cell(after, Const(None, after), frozenset(), nullable=True)

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        (bit,) = bits

        def drop(value: Any, record: Record) -> None:
            if value is not None:
                record.touched |= bit

        return drop
