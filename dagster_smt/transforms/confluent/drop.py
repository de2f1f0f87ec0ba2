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

    `schema.behavior` determines what happens to the schema. A key or value without a schema becomes null under each of
    the four settings. A null value makes the record a tombstone.

    Confluent does not document the following rules, so this project chose them. If the key or value is already null,
    the option still changes or checks its schema. The run report does not count such a record as changed. With
    `schema.behavior=validate`, a rejected record fails with a `DataException`. The value of the option must be in lower
    case.

    `force_optional` makes the schema optional and keeps its default. With `retain`, a record can contain a null whose
    schema requires a value. A format that writes schemas rejects such a record. If the schema has a default, JSON
    writes the default instead of the null, as in Connect, unless the format has `replace.null.with.default=false`.

    In a table of columns (one column for each field of the value), a key or value that is already null has no schema.
    `validate` therefore does not reject it. The column of a dropped value keeps its type and contains null. If the
    dropped value is a struct, no row would remain, so the record is rejected.
    """

    connect_class = "io.confluent.connect.transforms.Drop"
    purpose = "drop the key or value"
    schema_behavior: Annotated[Text, one_of("nullify", "retain", "validate", "force_optional")] = option(
        "The treatment of the schema. `nullify` removes the schema; `retain` keeps it; `validate` also keeps it, but "
        "rejects a record whose schema requires a value; `force_optional` makes the schema optional.",
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
