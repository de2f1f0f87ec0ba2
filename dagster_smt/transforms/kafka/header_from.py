"""HeaderFrom: move or copy fields into headers."""

from collections.abc import Iterator
from typing import Annotated

from dagster_smt.authoring.bundles import NestedPaths, NullDefaults, by_syntax, check_paths
from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.transform import PACKAGE, Example, Transform
from dagster_smt.authoring.validate import SomeNames, one_of
from dagster_smt.effects.effect import CopyToHeader, Drop, Effect


class HeaderFrom(NullDefaults, NestedPaths, Transform):
    """Move or copy fields of the key or value into headers.

    The headers are appended in the order of the options. Existing headers of the same name stay. One field may fill
    several headers. With a schema, a field must exist, and the header has the field's schema. Without a schema, a
    missing field gives a null header. After `move` the key or value is a required struct, as after ReplaceField.

    A null key or value is rejected. If the topic contains tombstones, a stage on the value therefore needs the
    predicate `RecordIsTombstone` with `negate=true`.
    """

    connect_class = PACKAGE + "HeaderFrom"
    purpose = "copying fields to headers"
    null = "reject"
    fields: Annotated[SomeNames, by_syntax()] = option("Fields to move or copy.")
    headers: SomeNames = option("Names of the headers, one for each of `fields`.")
    operation: Annotated[Text, one_of("move", "copy")] = option("`move` drops the fields, `copy` keeps them.")
    examples = (
        Example(
            "copy",
            {"fields": "id,shop", "headers": "order-id,shop", "operation": "copy"},
            '{"id":7,"shop":"a"}',
            '[{"key":"order-id","value":7},{"key":"shop","value":"a"}]',
            "headers",
            "value",
        ),
        Example(
            "the value after move", {"fields": "id", "headers": "id", "operation": "move"}, '{"id":7,"x":1}', '{"x":1}'
        ),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        if len(self.fields) != len(self.headers):
            statement = f"has {len(self.headers)} names, but fields has {len(self.fields)}"
            yield "headers", statement, "name one header for each field"
        yield from check_paths("fields", self.fields, self.path, single=True)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs of a field and its header, in the order of the options."""
        return tuple(zip(self.fields, self.headers, strict=True))

    def effects(self) -> tuple[Effect, ...]:
        to_headers = []
        for field, header in self.pairs:
            to_headers.append(CopyToHeader(self.path(field), header))
        copies = tuple(to_headers)
        # a field may fill several headers, but can be dropped only once
        moved = dict.fromkeys(self.fields) if self.operation == "move" else ()
        return (*copies, *(Drop(self.path(field)) for field in moved))
