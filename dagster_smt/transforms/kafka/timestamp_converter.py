"""TimestampConverter: convert timestamps between strings, numbers and Connect's date types."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from dagster_smt.authoring.bundles import NestedPaths, NullDefaults, by_syntax, check_paths
from dagster_smt.authoring.fields.edit import Target
from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.transform import PACKAGE, Example, Transform, refuse
from dagster_smt.authoring.validate import DatePattern, UniqueNames, one_of
from dagster_smt.effects.effect import Change, Effect
from dagster_smt.effects.field_rule import FieldRule
from dagster_smt.errors import CONNECT_EXCEPTION, data_error
from dagster_smt.model.cell import Call, Cell, Node
from dagster_smt.model.paths.connect import EXTENDED, FieldPath, split_paths
from dagster_smt.model.runtime import java_class_of
from dagster_smt.model.schema import Schema, Type
from dagster_smt.values.times.timestamps import PRECISIONS, TARGETS, ConvertTime, NoTimestamp

# without a schema, Connect accepts a Long, a String or a `java.util.Date`, but no Integer
_KINDS = {"int64": "unix", "string": "string", "Timestamp": "Timestamp"}


@dataclass(frozen=True)
class ConvertField(FieldRule):
    """A rule that converts a timestamp to another kind of time."""

    name = "time"
    target_type: str
    format: str
    precision: str

    def of_kind(self, kind: str) -> ConvertTime:
        if kind not in _KINDS:
            statement = f"{java_class_of(kind)} is not a timestamp"
            raise data_error("SMT424", statement, "use a text or a whole number")
        return self._from(_KINDS[kind])

    def on_node(self, target: Target) -> Node:
        """Returns the field at ``target`` after the conversion. If the type of the field is not a time, the record is
        rejected, unless the struct around the field is null.
        """
        node = target.node
        source = _source(node.schema)
        schema = TARGETS[self.target_type].with_(optional=node.schema.optional)
        if source and isinstance(node, Cell):
            return node.call(self._from(source), schema, nullable=node.nullable)
        problem = ("SMT211", f"{node.schema.label} is not a timestamp", "use a date type, a string or an int64")
        if target.parent is None:
            raise refuse(*problem, CONNECT_EXCEPTION)
        return Cell(schema, Call(NoTimestamp(*problem), (target.parent,)), node.sources, nullable=node.nullable)

    def _from(self, source: str) -> ConvertTime:
        return ConvertTime(source, self.target_type, self.format, self.precision)


class TimestampConverter(NullDefaults, NestedPaths, Transform):
    """Convert a field, or the whole key or value, between strings, Unix time and Connect's Date, Time and Timestamp.

    With a schema, the field must be a Date, Time or Timestamp, a string, or an int64 (Unix time). Any other type is
    rejected, even if the field is null. Without a schema, the field must be a string or a whole number. Java's
    SimpleDateFormat parses strings in UTC. SimpleDateFormat is lenient: a month above 12 or a day above 31 overflows
    (`2020-13-45` is 14 February 2021). Text after the timestamp is ignored. With the pattern `SSS`, `.123456` means
    123456 milliseconds.

    The converted field has a new schema, which is optional if the old schema was optional. If the field is missing, a
    record with a schema stays as it is. In a record without a schema, the field is added with the value null. A null
    key or value stays null, with the new schema.
    """

    connect_class = PACKAGE + "TimestampConverter"
    purpose = "converting timestamp formats"
    field: Text = option(
        "The field to convert. If empty, the whole key or value is converted, unless `fields` is set.", ""
    )
    fields: Annotated[UniqueNames, by_syntax()] = option(
        "Several fields to convert. Set either `fields` or `field`.", ()
    )
    target_type: Annotated[Text, one_of(*TARGETS)] = option(
        "The new type: `string`, `unix`, `Date`, `Time` or `Timestamp`."
    )
    format: DatePattern = option("Pattern (Java's SimpleDateFormat) of strings, for parsing and formatting.", "")
    unix_precision: Annotated[Text, one_of(*PRECISIONS)] = option("The unit of Unix time.", "milliseconds")
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
            yield "format", "is required for target.type=string", "set a pattern such as yyyy-MM-dd"
        if self.field and self.fields:
            yield "fields", "is set, and so is field", "list all fields in fields, and remove field"
        yield from check_paths("fields" if self.fields else "field", self.texts, self.path)

    @property
    def texts(self) -> tuple[str, ...]:
        """The configured paths; empty for the whole key or value."""
        if self.field and self.field_syntax_version == EXTENDED:
            return tuple(split_paths(self.field, ",", EXTENDED))
        return self.fields or ((self.field,) if self.field else ())

    def effects(self) -> tuple[Effect, ...]:
        rule = ConvertField(self.target_type, self.format, self.unix_precision)
        paths = tuple(map(self.path, self.texts)) or (FieldPath("", ()),)
        return tuple(Change(path, rule, "cast", self.target_type, fills=True) for path in paths)


def _source(schema: Schema) -> str | None:
    """Returns the kind of time that values of ``schema`` contain: ``string`` for a string, ``unix`` for an int64, or
    ``Date``, ``Time`` or ``Timestamp``. Returns None for all other types.
    """
    if schema.logical:
        if schema.logical in TARGETS:
            return schema.logical
        return None
    return {Type.STRING: "string", Type.INT64: "unix"}.get(schema.type)
