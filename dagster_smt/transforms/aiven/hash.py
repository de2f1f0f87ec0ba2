"""Hash: replace a string with its digest."""

from dataclasses import dataclass
from typing import Annotated

from dagster_smt.authoring.fields.edit import Target
from dagster_smt.authoring.options import Flag, Text, option
from dagster_smt.authoring.transform import Example, NullRule, Transform, refuse
from dagster_smt.authoring.validate import one_of
from dagster_smt.effects.effect import Change, Effect, NeedsSchema
from dagster_smt.effects.field_rule import FieldRule
from dagster_smt.model.cell import Cell, Node
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.model.schema import Type
from dagster_smt.values.hashes import HashText
from dagster_smt.values.needs import Needed

_PLAIN = '{"schema":{"type":"string","optional":false},"payload":"%s"}'


@dataclass(frozen=True)
class HashField(FieldRule):
    """A rule that replaces a string with its digest. Values without a schema are rejected before (``NeedsSchema``).

    Attributes:
        function: ``md5``, ``sha1`` or ``sha256``.
        field: The name of the field; empty for the whole key or value.
        skips: True if a null field stays null, False if it is rejected.
    """

    name = "hash"
    function: str
    field: str
    skips: bool

    def on_node(self, target: Target) -> Node:
        text = target.node
        if text.schema.type is not Type.STRING or not isinstance(text, Cell):
            subject = f"the field '{self.field}'" if self.field else "the key or value"
            statement = f"only a string can be hashed, but {subject} is {text.schema.label}"
            raise refuse("SMT452", statement, "cast it to string first")
        if text.may_be_null and self.field and not self.skips:
            hint = "set skip.missing.or.null=true, or guard the stage with a predicate"
            needed = Needed("SMT451", f"the field '{self.field}' is null", hint)
            text = text.call(needed, text.schema, nullable=text.nullable)
        return text.call(HashText(self.function), text.schema, nullable=text.nullable)


class Hash(Transform):
    """Replace a string, or one string field of a struct, with its digest in lower-case hexadecimal digits.

    The string is encoded as UTF-8. No salt is added, so equal strings have equal digests. The schema stays as it is.
    The field is a top-level name: a dot is part of the name. A null is not replaced by its default.

    A key or value that is not null must have a schema, and the field, key or value to hash must have the type STRING.
    Otherwise the record is rejected, even with `skip.missing.or.null`. If `field.name` is set, a null key or value is
    also always rejected. If `field.name` is empty, every null key or value passes through unchanged with
    `skip.missing.or.null`. Aiven's class would reject a null without a schema in this case. Here the null passes
    through, because nulls that Kafka stores never have a schema.
    """

    connect_class = "io.aiven.kafka.connect.transforms.Hash"
    purpose = "hash texts"
    field_name: Text = option("Field to hash. If empty, the whole key or value is hashed.", "")
    skip_missing_or_null: Flag = option(
        "If `true`, a record without a string to hash (a null, or a missing field) passes through unchanged.", False
    )
    function: Annotated[Text, one_of("md5", "sha1", "sha256")] = option("The digest: `md5`, `sha1` or `sha256`.")
    examples = (
        Example(
            "a whole value",
            {"function": "md5"},
            _PLAIN % "jerry@big-corp.com",
            _PLAIN % "10e5756d5d4c9c1cadd5e1b952071378",
        ),
        Example(
            "a field",
            {"field.name": "email", "function": "sha1"},
            '{"schema":{"type":"struct","optional":false,"fields":[{"field":"email","type":"string","optional":false}]},'
            '"payload":{"email":"jerry@big-corp.com"}}',
            '{"schema":{"type":"struct","optional":false,"fields":[{"field":"email","type":"string","optional":false}]},'
            '"payload":{"email":"dd9ab6e93603bf618db0894a82da64f1623a94b6"}}',
        ),
    )

    def on_null(self) -> NullRule:
        if self.skip_missing_or_null and not self.field_name:
            return "pass"
        return "reject"

    def effects(self) -> tuple[Effect, ...]:
        hint = "declare the schema of the topic, or use a format that has one"
        needs = NeedsSchema("SMT450", "a key or value without a schema cannot be hashed", hint)
        name, skips = self.field_name, self.skip_missing_or_null
        path = FieldPath(name, (name,) if name else ())
        return needs, Change(path, HashField(self.function, name, skips), "masked", required=not skips, in_place=True)
