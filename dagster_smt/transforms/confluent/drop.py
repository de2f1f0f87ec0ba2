"""Drop: a null key or value."""

from typing import Annotated

from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.transform import Example, Transform
from dagster_smt.authoring.validate import one_of
from dagster_smt.effects.effect import Effect, Nullify

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

    def effects(self) -> tuple[Effect, ...]:
        return (Nullify(self.schema_behavior),)
