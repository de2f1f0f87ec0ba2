"""ValueToKey: build the key from fields of the value."""

from collections.abc import Iterator
from typing import Annotated

from dagster_smt.authoring.bundles import NestedPaths, NullDefaults, by_syntax, check_paths, named_twice
from dagster_smt.authoring.options import option
from dagster_smt.authoring.transform import PACKAGE, Example, Transform
from dagster_smt.authoring.validate import NonEmptyNames
from dagster_smt.effects.effect import Effect, MakeKey
from dagster_smt.model.paths.connect import FieldPath


class ValueToKey(NullDefaults, NestedPaths, Transform):
    """Replace the key with a struct (without a schema: an object) of fields of the value.

    The key is a required struct without a name. Its fields keep their schemas and follow the order of the option. Even
    a single field is put into a struct; `ExtractField$Key` in the next stage extracts the field again. The value stays
    as it is. With a schema, every field must exist; without a schema, a missing field gives null. In the key, a nested
    field has the last name on its path: `customer.id` becomes `id`. A null value is rejected. If the topic contains
    tombstones, the stage therefore needs the predicate `RecordIsTombstone` with `negate=true`.
    """

    connect_class = PACKAGE + "ValueToKey"
    sided = False
    purpose = "copying fields from value to key"
    null = "reject"
    fields: Annotated[NonEmptyNames, by_syntax()] = option("Fields of the value for the key, in this order.")
    examples = (
        Example(
            "two fields", {"fields": "shop,id"}, '{"id":7,"shop":"a","x":1}', '{"shop":"a","id":7}', "key", "value"
        ),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        problems = tuple(check_paths("fields", self.fields, self.path, single=True))
        yield from problems or named_twice("fields", self.paths)

    @property
    def paths(self) -> tuple[FieldPath, ...]:
        return tuple(map(self.path, self.fields))

    def effects(self) -> tuple[Effect, ...]:
        return (MakeKey(self.paths),)
