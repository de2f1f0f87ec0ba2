"""TimestampConverter: convert timestamps between texts, numbers and Connect's date types."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any

from dagster_smt.errors import CONNECT_EXCEPTION, data_error
from dagster_smt.model.cell import Call, Cell, Expr, Group, Node, find, open_struct
from dagster_smt.model.path import FieldPath
from dagster_smt.model.record import Record
from dagster_smt.model.runtime import java_class, kind_of
from dagster_smt.model.schema import Schema, Type
from dagster_smt.spec.bundles import NestedPaths, NullDefaults, check_paths
from dagster_smt.spec.edit import branches, edited, present, struct_of
from dagster_smt.spec.options import Text, option
from dagster_smt.spec.schemaless import parent_of, require_map
from dagster_smt.spec.transform import PACKAGE, Effect, Example, Planning, SideFunction, Transform, refuse
from dagster_smt.spec.validate import DatePattern, one_of
from dagster_smt.values.lazy import look
from dagster_smt.values.timestamps import PRECISIONS, TARGETS, ConvertTime, NoTimestamp

_KINDS = {"int64": "unix", "string": "string", "Timestamp": "Timestamp"}


class TimestampConverter(NullDefaults, NestedPaths, Transform):
    """Convert a field, or the whole key or value, between texts, Unix time and Connect's Date, Time and Timestamp.

    With a schema the source is a Date, Time or Timestamp, a string, or an int64 (Unix time); nothing else, not even
    when it is null. Without one it is a text or a whole number. Texts follow Java's SimpleDateFormat in UTC, leniently:
    fields overflow (`2020-13-45` is 14 February 2021), text at the end does not count, and `.123456` with `SSS` means
    123456 milliseconds. The converted field keeps of its schema only whether it is optional. A missing field changes
    nothing with a schema, and becomes null without one. A null key or value passes, under the new schema.
    """

    connect_class = PACKAGE + "TimestampConverter"
    purpose = "converting timestamp formats"
    field: Text = option("The field to convert; empty: the whole key or value.", "")
    target_type: Annotated[Text, one_of(*TARGETS)] = option("`string`, `unix`, `Date`, `Time` or `Timestamp`.")
    format: DatePattern = option("Pattern (Java's SimpleDateFormat) of texts, read and written.", "")
    unix_precision: Annotated[Text, one_of(*PRECISIONS)] = option("Unit of Unix time.", "milliseconds")
    examples = (
        Example(
            "milliseconds to text",
            {"field": "at", "target.type": "string", "format": "yyyy-MM-dd"},
            '{"at":1556204536123}',
            '{"at":"2019-04-25"}',
        ),
        Example(
            "text to seconds",
            {"field": "at", "target.type": "unix", "format": "dd/MM/yyyy HH:mm", "unix.precision": "seconds"},
            '{"at":"25/04/2019 15:02"}',
            '{"at":1556204520}',
        ),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        if self.target_type == "string" and not self.format:
            yield "format", "is needed for target.type=string", "set a pattern such as yyyy-MM-dd"
        if self.field:
            yield from check_paths("field", (self.field,), self.path)

    @property
    def target(self) -> FieldPath:
        return self.path(self.field)

    def _rule(self, source: str) -> ConvertTime:
        return ConvertTime(source, self.target_type, self.format, self.unix_precision)

    def ledger(self) -> tuple[Effect, ...]:
        return (Effect("cast", self.field or "(whole)", self.target_type),)

    def plan_side(self, node: Node, at: Planning) -> Node:
        if not self.field:
            at.touch(0, present(node))
            return self._converted(node, None)
        group = struct_of(node, self.purpose)
        parent = find(node, self.target.steps[:-1])
        above = open_struct(parent).present if parent and parent.schema.type is Type.STRUCT else None

        def convert(index: int, target: Node) -> Node:
            at.touch(index, present(target))
            return self._converted(target, above)

        after = edited(group, branches((self.target,)), convert, self.replace_null_with_default, at)
        return self._with_default(group, after)

    def _converted(self, node: Node, above: Expr | None) -> Cell:
        """The converted node. ``above``: the struct it is read from; a null one spares it the refusal."""
        source = _source(node.schema)
        schema = TARGETS[self.target_type].with_(optional=node.schema.optional)
        if source and isinstance(node, Cell):
            return node.call(self._rule(source), schema, nullable=node.nullable)
        problem = ("SMT211", f"{node.schema.label} stands for no timestamp", "use a date type, a string or an int64")
        if above is None:
            raise refuse(*problem, CONNECT_EXCEPTION)
        return Cell(schema, Call(NoTimestamp(*problem), (above,)), node.sources, nullable=node.nullable)

    def _with_default(self, before: Group, after: Group) -> Group:
        """Convert the field in the default of the whole struct, too."""
        default, name = before.schema.default, self.target.leaf
        if default is None or len(self.target.steps) > 1 or default.get(name) is None:
            return after
        source = _source(before.schema.by_name[name])
        if source is None:
            return after
        converted = {**default, name: self._rule(source).python(default[name])}
        return replace(after, schema=after.schema.with_(default=converted))

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        rules = {kind: self._rule(source) for kind, source in _KINDS.items()}
        above, leaf = self.target.steps[:-1], self.target.leaf if self.field else ""

        def convert(value: Any, record: Record) -> Any:
            if value is None:
                return None
            rule = rules.get(kind_of(value))
            if rule is None:
                statement = f"{java_class(value)} stands for no timestamp"
                raise data_error("SMT424", statement, "use a text or a whole number")
            record.touched |= bits[0]
            return rule.python(value)

        def convert_field(value: Any, record: Record) -> Any:
            if value is None:
                return None
            parent = parent_of(require_map(value, self.purpose), above)
            if parent is not None and (leaf in parent or not above):
                parent[leaf] = convert(look(parent, leaf) if leaf in parent else None, record)
            return value

        return convert_field if self.field else convert


def _source(schema: Schema) -> str | None:
    """What a schema's values are, among the kinds of ``ConvertTime``."""
    if schema.logical:
        return schema.logical if schema.logical in TARGETS else None
    return {Type.STRING: "string", Type.INT64: "unix"}.get(schema.type)
