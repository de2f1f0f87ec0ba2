"""InsertField: add fields with the record's metadata, or with a fixed string."""

from collections.abc import Iterator
from functools import cached_property
from typing import Annotated

from dagster_smt.authoring.bundles import NestedPaths, NullDefaults, check_paths
from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.transform import PACKAGE, Example, Transform
from dagster_smt.authoring.validate import one_of
from dagster_smt.effects.effect import Effect, Insert, OnExisting, Rebuild, Source

_SOURCES: tuple[Source, ...] = ("topic", "partition", "offset", "timestamp", "static")
_ANY = "set topic.field, partition.field, offset.field, timestamp.field, or static.field with static.value"


class InsertField(NullDefaults, NestedPaths, Transform):
    """Add fields with the record's metadata, or with a fixed string.

    The last character of a field name says whether the new field is required: `source!` creates the required field
    `source`; `source?` and `source` create the optional field `source`. The new fields are appended in the order topic,
    partition, offset, timestamp, static. The topic is the current topic, after earlier routers. With a schema, the
    timestamp is a Timestamp; without a schema, the timestamp is a number of milliseconds.

    If a field with the new name already exists, a record with a schema is rejected; without a schema, the field is
    overwritten. A null key or value passes through unchanged.

    With `field.syntax.version=V2` or `extended`, fields can be inserted into inner structs. Missing parents are
    created, and existing fields are replaced, even with a schema. The options `field.on.missing.parent` and
    `field.on.existing.field` change these two rules. Nothing is inserted into a parent that is null or is not a struct.
    """

    connect_class = PACKAGE + "InsertField"

    purpose = "field insertion"
    null = "pass"
    topic_field: Text | None = option("Field that receives the topic.", None)
    partition_field: Text | None = option("Field that receives the partition.", None)
    offset_field: Text | None = option("Field that receives the offset.", None)
    timestamp_field: Text | None = option("Field that receives the record's timestamp.", None)
    static_field: Text | None = option("Field that receives `static.value`.", None)
    static_value: Text | None = option("The string for `static.field`.", None)
    field_on_missing_parent: Annotated[Text, one_of("create", "ignore")] = option(
        "The treatment of a missing parent: `create` creates it, `ignore` inserts nothing (not for `V1`).",
        "create",
    )
    field_on_existing_field: Annotated[Text, one_of("overwrite", "ignore")] = option(
        "The treatment of an existing field: `overwrite` replaces it, `ignore` keeps it (not for `V1`).", "overwrite"
    )
    examples = (
        Example(
            "topic and offset", {"topic.field": "t", "offset.field": "o"}, '{"a":1}', '{"a":1,"t":"orders","o":42}'
        ),
        Example("a fixed text", {"static.field": "env!", "static.value": "test"}, '{"a":1}', '{"a":1,"env":"test"}'),
        Example(
            "into a missing struct",
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
                yield f"{source}.field", f"'{text}' has steps that are not names", "write names only"

    @cached_property
    def inserted(self) -> tuple[tuple[Source, str, bool], ...]:
        """One triple for each new field, in order: the source of the value, the name of the field, and True if the
        field is required.
        """
        inserts = []
        for source in _SOURCES:
            text = getattr(self, f"{source}_field")
            if text is not None:
                # Connect cuts only one character: `f?!` is the required field `f?`
                marked = text.endswith(("!", "?"))
                inserts.append((source, text[:-1] if marked else text, text.endswith("!")))
        return tuple(inserts)

    def effects(self) -> tuple[Effect, ...]:
        return (Rebuild(), *(self._insert(*each) for each in self.inserted))

    def _insert(self, source: Source, name: str, required: bool) -> Insert:
        makes_parents = self.field_on_missing_parent == "create"
        existing: OnExisting = "overwrite" if self.field_on_existing_field == "overwrite" else "ignore"
        in_schema: OnExisting = existing if self.nested else "refuse"
        return Insert(self.path(name), source, self.static_value, required, makes_parents, existing, in_schema)
