"""Hash: put the digest of a text in its place."""

from dataclasses import replace
from typing import Annotated

from dagster_smt.authoring.edit import field_of, present, struct_of
from dagster_smt.authoring.options import Flag, Text, option
from dagster_smt.authoring.transform import Entry, Example, NullRule, Planning, SideFunction, Transform, refuse
from dagster_smt.authoring.validate import one_of
from dagster_smt.errors import data_error
from dagster_smt.model.cell import Call, Cell, Expr, Node, with_fields
from dagster_smt.model.schema import Type
from dagster_smt.values.hashes import HashText
from dagster_smt.values.needs import Needed

_PLAIN = '{"schema":{"type":"string","optional":false},"payload":"%s"}'


class Hash(Transform):
    """Replace a text, or one text field of a struct, by its digest in lower-case hexadecimal digits.

    The text is read as UTF-8; no salt is added, so equal texts have equal digests. The schema stays as it is. The
    field is a name of the top level: a dot is part of it. A default does not stand in for a null.

    A key or value without a schema is refused, as are types other than STRING; `skip.missing.or.null` does not change
    that, and does not let a null struct pass. Aiven refuses a null without a schema, even when it skips; here it
    passes then like one with a schema, since a null that was read has none.
    """

    connect_class = "io.aiven.kafka.connect.transforms.Hash"
    purpose = "hash texts"
    field_name: Text = option("Field to hash; empty: the whole key or value.", "")
    skip_missing_or_null: Flag = option(
        "Whether a record passes unchanged where there is nothing to hash: a null, or no such field.", False
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
        return "pass" if self.skip_missing_or_null and not self.field_name else "reject"

    def ledger(self) -> tuple[Entry, ...]:
        return (Entry("masked", self.field_name or "(whole)"),)

    def plan_side(self, node: Node, at: Planning) -> Node:
        if not self.field_name:
            return self._hashed(node, at)
        group = struct_of(node, self.purpose)
        if self.skip_missing_or_null and self.field_name not in group.by_name:
            at.miss(self.field_name, tuple(group.by_name))
            return node
        hashed = self._hashed(field_of(group, self.field_name), at)
        fields = ((name, hashed if name == self.field_name else child) for name, child in group.fields)
        return with_fields(group, fields, group.schema)

    def _hashed(self, text: Node, at: Planning) -> Cell:
        if text.schema.type is not Type.STRING or not isinstance(text, Cell):
            what = f"the field '{self.field_name}'" if self.field_name else "the key or value"
            raise refuse("SMT452", f"only a string can be hashed, but {what} is {text.schema.label}", "cast it first")
        at.touch(0, present(text))
        expr: Expr = text.expr
        if text.may_be_null and self.field_name and not self.skip_missing_or_null:
            hint = "set skip.missing.or.null=true, or guard the stage with a predicate"
            expr = Call(Needed("SMT451", f"the field '{self.field_name}' is null", hint), (expr,))
        return replace(text, expr=Call(HashText(self.function), (expr,)), copied=False, marks=text.marks | {"masked"})

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        def refused(value: object, record: object) -> object:
            hint = "declare the schema of the topic, or use a format that has one"
            raise data_error("SMT450", "a key or value without a schema cannot be hashed", hint)

        return refused
