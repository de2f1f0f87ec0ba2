"""Drop: replace the key or value with null."""

from typing import Annotated

from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.transform import Example, Transform
from dagster_smt.authoring.validate import one_of
from dagster_smt.effects.effect import Effect, Nullify

_BEFORE = '{"schema":{"type":"string","optional":false},"payload":"Ann"}'
_AFTER = '{"schema":{"type":"string","optional":true},"payload":null}'


class Drop(Transform):
    """Set the whole key or value to null, whatever it contains. The record stays.

    The option decides about the schema. A key or value without a schema becomes null under each of its four values. A
    null value makes the record a tombstone.

    The documentation does not cover a key or value that is already null. Here its schema, if it has one, is treated
    like any other, and the ledger does not count the record. The documentation does not name the exception, or say
    whether the case of the option matters. Here the exception is a `DataException`, and other spellings are refused.

    `force_optional` only makes the schema optional; a default stays. With `retain`, a null can have a schema that
    requires a value: a format that writes schemas refuses the record. If the schema has a default, JSON writes the
    default instead of the null, as Connect does, unless the format has `replace.null.with.default=false`.

    In a table of columns a null has no schema. The column of a dropped value is null and keeps its type, and `validate`
    does not refuse a null. A dropped value that was a struct would leave no row, so the record is refused.
    """

    connect_class = "io.confluent.connect.transforms.Drop"
    purpose = "drop the key or value"
    schema_behavior: Annotated[Text, one_of("nullify", "retain", "validate", "force_optional")] = option(
        "The treatment of the schema. `nullify` removes it; `retain` keeps it; `validate` keeps it, but refuses one "
        "that requires a value; `force_optional` makes it optional.",
        "nullify",
    )
    examples = (
        Example("a value", {}, '{"id":7}', "null"),
        Example("a value with a schema", {}, _BEFORE, "null"),
        Example("a schema that requires a value", {"schema.behavior": "force_optional"}, _BEFORE, _AFTER),
        Example("a schema that allows null", {"schema.behavior": "validate"}, _AFTER.replace("null", '"Ann"'), _AFTER),
    )

    def effects(self) -> tuple[Effect, ...]:
        return (Nullify(self.schema_behavior),)
