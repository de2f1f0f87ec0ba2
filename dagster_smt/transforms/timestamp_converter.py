"""TimestampConverter: convert timestamps between texts, numbers and Connect's date types."""

from collections.abc import Callable, Iterator
from typing import Annotated, Any

from dagster_smt.authoring.bundles import by_syntax, check_paths
from dagster_smt.authoring.edit import Target, present
from dagster_smt.authoring.field_changes import FieldChange
from dagster_smt.authoring.on_paths import OnPaths
from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.schemaless import Act
from dagster_smt.authoring.transform import PACKAGE, AllFunction, Entry, Example, Planning, SideFunction, refuse
from dagster_smt.authoring.validate import DatePattern, UniqueNames, one_of
from dagster_smt.errors import CONNECT_EXCEPTION, data_error
from dagster_smt.model.cell import Call, Cell, Expr, Node
from dagster_smt.model.extended_path import WHOLE
from dagster_smt.model.path import EXTENDED, split_paths
from dagster_smt.model.record import Record
from dagster_smt.model.runtime import java_class, kind_of
from dagster_smt.model.schema import Schema, Type
from dagster_smt.values.lazy import look
from dagster_smt.values.timestamps import PRECISIONS, TARGETS, ConvertTime, NoTimestamp

_KINDS = {"int64": "unix", "string": "string", "Timestamp": "Timestamp"}


class TimestampConverter(OnPaths):
    """Convert a field, or the whole key or value, between texts, Unix time and Connect's Date, Time and Timestamp.

    With a schema the source is a Date, Time or Timestamp, a string, or an int64 (Unix time); nothing else, not even
    when it is null. Without one it is a text or a whole number. Texts follow Java's SimpleDateFormat in UTC, leniently:
    fields overflow (`2020-13-45` is 14 February 2021), text at the end does not count, and `.123456` with `SSS` means
    123456 milliseconds. The converted field keeps of its schema only whether it is optional. A missing field changes
    nothing with a schema, and becomes null without one. A null key or value passes, under the new schema.
    """

    connect_class = PACKAGE + "TimestampConverter"
    purpose = "converting timestamp formats"
    fills = True
    field: Text = option("The field to convert; empty: the whole key or value, unless `fields` names some.", "")
    fields: Annotated[UniqueNames, by_syntax()] = option("Several fields to convert, instead of `field`.", ())
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
        if self.field and self.fields:
            yield "fields", "is set, and so is field", "name all of them in fields"
        yield from check_paths("fields" if self.fields else "field", self.texts, self.path)

    @property
    def texts(self) -> tuple[str, ...]:
        """The configured paths; none: the whole key or value."""
        if self.field and self.field_syntax_version == EXTENDED:
            return tuple(split_paths(self.field, ",", EXTENDED))
        return self.fields or ((self.field,) if self.field else ())

    def _rule(self, source: str) -> ConvertTime:
        return ConvertTime(source, self.target_type, self.format, self.unix_precision)

    def ledger(self) -> tuple[Entry, ...]:
        return tuple(Entry("cast", text, self.target_type) for text in self.texts or (WHOLE,))

    def plan_side(self, node: Node, at: Planning) -> Node:
        if not self.paths:
            at.touch(0, present(node))
            return self._converted(node, None)

        return super().plan_side(node, at)

    def changed(self, target: Target) -> Node:
        return self._converted(target.node, target.parent)

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

    def _convert(self) -> Callable[[Any, Record, int], Any]:
        rules = {kind: self._rule(source).bind() for kind, source in _KINDS.items()}

        def convert(value: Any, record: Record, bit: int) -> Any:
            if value is None:
                return None
            rule = rules.get(kind_of(value))
            if rule is None:
                statement = f"{java_class(value)} stands for no timestamp"
                raise data_error("SMT424", statement, "use a text or a whole number")
            record.touched |= bit
            return rule(value)

        return convert

    def values_function(self, number: int, kind: str) -> Callable[[list[Any]], list[Any]] | None:
        return self._rule(_KINDS[kind]).bind_many() if kind in _KINDS else None

    def acts(self, bits: tuple[int, ...]) -> tuple[Act, ...]:
        convert = self._convert()

        def converter(bit: int) -> Act:
            def convert_field(parent: Any, key: Any, record: Record) -> None:
                parent[key] = convert(look(parent, key), record, bit)

            return convert_field

        return tuple(map(converter, bits))

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        convert = self._convert()
        if not self.paths:
            return lambda value, record: convert(value, record, bits[0])
        change = super().schemaless(bits)
        return lambda value, record: None if value is None else change(value, record)

    def schemaless_all(self, bits: tuple[int, ...]) -> AllFunction | None:
        return super().schemaless_all(bits) if self.paths else None

    def field_changes(self, bits: tuple[int, ...]) -> tuple[FieldChange, ...] | None:
        return super().field_changes(bits)  # ``schemaless`` has a way of its own for whole values alone


def _source(schema: Schema) -> str | None:
    """What a schema's values are, among the kinds of ``ConvertTime``."""
    if schema.logical:
        return schema.logical if schema.logical in TARGETS else None
    return {Type.STRING: "string", Type.INT64: "unix"}.get(schema.type)
