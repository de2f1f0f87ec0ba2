"""TimezoneConverter: convert the times of change events to a time zone."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Annotated

from pydantic import AfterValidator

from dagster_smt.authoring.fields.edit import struct_of
from dagster_smt.authoring.options import Names, Text, option
from dagster_smt.authoring.transform import Entry, Example, Planning, SideFunction
from dagster_smt.effects.code import Code, CodeTransform
from dagster_smt.errors import PlanError
from dagster_smt.model.cell import Call, Cell, Const, Expr, Group, Node, with_fields
from dagster_smt.model.record import PlanRecord
from dagster_smt.model.schema import STRING, Type
from dagster_smt.model.schema import TIMESTAMP as CONNECT_TIMESTAMP
from dagster_smt.transforms.debezium.events.examples import zoned_event
from dagster_smt.transforms.debezium.events.shape import needed_value, presence, text_field, whole_number
from dagster_smt.transforms.debezium.events.times import EPOCHS, PRECISIONS, ZONED_TIME, ZONED_TIMESTAMP, InZone
from dagster_smt.transforms.debezium.events.values import AnyThere, is_change_event, keep_value
from dagster_smt.transforms.debezium.zones.zone_rules import (
    BLOCKS,
    SOURCE,
    ZoneRule,
    name_in,
    rule_of_field,
    zone_rules,
)
from dagster_smt.values.times.zones import has_one_offset, is_zone
from dagster_smt.values.value_rule import Default, KeepNull, Refused

_TIME_TYPES = (*PRECISIONS, ZONED_TIMESTAMP, ZONED_TIME, CONNECT_TIMESTAMP)
_TEXTS = (ZONED_TIMESTAMP, ZONED_TIME)


def _zone(text: str) -> str:
    if not is_zone(text):
        raise ValueError("expected a time zone such as America/Los_Angeles, or an offset such as +08:00")
    return text


class TimezoneConverter(CodeTransform):
    """Convert the times in the rows of change events to a time zone.

    A change event of Debezium is a value whose schema's name ends with `.Envelope`. Other values pass through
    unchanged, such as heartbeats and values without a schema. The transform converts fields of the following types, at
    the top level of the rows before and after the change. The schemas stay as they are.

    | type | result |
    |---|---|
    | `io.debezium.time.ZonedTimestamp` | the same instant, as a string with the offset of the zone |
    | `io.debezium.time.ZonedTime` | the same time, as a string with the offset of the zone |
    | `io.debezium.time.Timestamp`, `MicroTimestamp`, `NanoTimestamp` | the number minus the offset |
    | `org.apache.kafka.connect.data.Timestamp` | the number minus the offset |
    | `ts_ms`, `ts_us`, `ts_ns` in `source`, if a rule names a field there | the number plus the offset |

    In other words, a number in a row is read as local time in the zone. A number in `source` is converted to local time
    in the zone.

    A zone can have two offsets, for summer and winter. For a ZonedTimestamp, the date and time in the string determine
    which of the two applies, even if the string has a different offset. Within hours of a change of the clock, the
    result can therefore have the wrong offset. Fields of other types stay as they are, and a null becomes its default.

    Without `include.list` and `exclude.list`, all rows are converted. `include.list` contains rules for the fields to
    convert, and `exclude.list` contains rules for the fields to leave as they are:

    - `topic:name` and `source:table` apply to all fields of a topic or table.
    - `topic:name:field` and `source:table:field` apply to one field of a topic or table.
    - The prefix `topic` or `source` of a rule also applies to the later rules without such a prefix.
    - `name:field`, before the first rule with such a prefix, applies to topics and to tables.
    - A field is a field of the rows before and after the change. With `before.`, `after.` or `source.` in front, the
      field belongs to only this one of the three structs.

    Rules for topics take precedence over rules for tables. If one rule names a whole table and another rule names a
    field of the same table, only the field is listed: `source:customers,source:customers:created_at` means
    `source:customers:created_at`. The same is true of topics.

    Differences from Debezium 3.6.1:

    - Debezium gives a ZonedTime the zone's offset at the time of the run, so another run can produce a different
      string. Here the offset is the zone's offset at the event's `ts_ms`. An event without `ts_ms` is rejected, unless
      the zone is an offset.
    - Debezium fails if `source` is null. Here an event whose `source` is null is treated as an event without a table.
    - Debezium rejects names with characters other than letters, digits, `_`, `.` and spaces. After the first rule,
      Debezium also rejects rules of three parts, such as `source:customers:created_at`. Here these names and these
      rules are accepted.
    - Three mistakes make Debezium fail only when it converts a value: offsets beyond 18 hours, short names such as
      `PST`, and rules with too many parts, such as `name:field:more`. Here they are rejected when the chain is parsed.

    The time zone data is that of the machine.
    """

    connect_class = "io.debezium.transforms.TimezoneConverter"
    sided = False
    purpose = "convert times to a time zone"
    null = "pass"
    converted_timezone: Annotated[Text, AfterValidator(_zone)] = option(
        "The time zone, such as `America/Los_Angeles`, or an offset such as `+08:00`."
    )
    include_list: Names = option("Rules for the fields to convert. All other fields stay.", ())
    exclude_list: Names = option("Rules for the fields to leave as they are.", ())
    examples = (
        Example(
            "all times of a row",
            {"converted.timezone": "Pacific/Easter"},
            zoned_event("2011-01-11T16:40:30.123456789+00:00"),
            zoned_event("2011-01-11T11:40:30.123456789-05:00"),
        ),
        Example(
            "all fields except one",
            {"converted.timezone": "+05:30", "exclude.list": "source:customers:created_at"},
            zoned_event("2011-01-11T16:40:30Z"),
            zoned_event("2011-01-11T16:40:30Z"),
        ),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        for attribute in ("include_list", "exclude_list"):
            key, items = attribute.replace("_", "."), getattr(self, attribute)
            try:
                zone_rules(items)
            except ValueError as error:
                yield key, str(error), "write topic:name:field, source:table:field or name:field"
            if attribute in self.model_fields_set and not any(items):
                yield key, "the list is empty", "remove the option"
        if self.include_list and self.exclude_list:
            yield "exclude.list", "include.list is set, too", "remove one of the two"

    @cached_property
    def _rules(self) -> tuple[ZoneRule, ...]:
        return zone_rules(self.include_list or self.exclude_list)

    def effects(self) -> tuple[Code, ...]:
        entries = (Entry("changed", block, self.converted_timezone, "value", explicit=False) for block in BLOCKS)
        return (Code(tuple(entries), frozenset({"value"})),)

    def plan_record(self, record: PlanRecord, at: Planning) -> PlanRecord:
        node = record.value
        if node is None or not is_change_event(node.schema):
            return record
        event = struct_of(node, self.purpose)
        blocks = {}
        for n, c in event.fields:
            if n in BLOCKS and c.schema.type is Type.STRUCT:
                blocks[n] = struct_of(c, n)
        after = {}
        for name, block in blocks.items():
            after[name] = self._converted(name, block, event, record.topic, at)
        self._report(blocks, at)
        # the original record, so that it does not count as changed and keeps its bytes
        if after == blocks:
            return record
        fields = tuple((name, after.get(name, child)) for name, child in event.fields)
        return replace(record, value=with_fields(event, fields, event.schema))

    def _converted(self, name: str, block: Group, event: Group, topic: Cell, at: Planning) -> Group:
        """Returns the struct ``block`` of the event, with converted times. ``name`` is the name of the struct: one of
        the rows, or ``source``.
        """
        fields: list[tuple[str, Node]] = []
        touched: list[Expr] = []
        for field, node in block.fields:
            rule = rule_of_field(self._rules, bool(self.exclude_list), not self.include_list, name, field)
            kind = _kind(name, field, node)
            if rule is not None and kind:
                is_chosen = Call(rule, (topic.expr, _table(event), presence(block)))
                if node.schema.default is not None:
                    # a null becomes the default, and then changes as well
                    touched.append(is_chosen)
                else:
                    touched.append(Call(KeepNull(), (presence(node), is_chosen)))
                node = self._in_zone(block, field, kind, event, is_chosen)
            fields.append((field, node))
        if not touched:
            return block
        at.touch(BLOCKS.index(name), Call(AnyThere(), tuple(touched)))
        return with_fields(block, fields, block.schema)

    def _in_zone(self, block: Group, field: str, kind: str, event: Group, which: Call) -> Cell:
        node = block.by_name[field]
        try:
            self._check(block, field, kind, node)
        except PlanError as error:
            return _unless_null(node, which, error)
        assert isinstance(node, Cell)
        args: tuple[Expr, ...] = (node.expr, which)
        if kind == ZONED_TIME and not has_one_offset(self.converted_timezone):
            # a null without a default is not converted, so it does not need `ts_ms`
            around = (which,) if node.schema.default is not None else (which, node.expr)
            args = (*args, needed_value(whole_number(event, "ts_ms", Type.INT64).expr, "ts_ms", *around))
        rule = InZone(self.converted_timezone, kind, node.schema.default)
        return replace(node, expr=Call(rule, args), copied=False)

    def _check(self, block: Group, field: str, kind: str, node: Node) -> None:
        """Raises an error if the type of the field ``field`` does not fit the name of its schema."""
        if kind in _TEXTS:
            text_field(block, field)
        elif node.schema.logical != "Timestamp":
            whole_number(block, field, Type.INT64)

    def _report(self, blocks: dict[str, Group], at: Planning) -> None:
        """Reports each field in ``include.list`` that is missing in all structs of the event."""
        names = {}
        for name, block in blocks.items():
            names[name] = block.by_name
        all_fields: list[str] = []
        for fields in names.values():
            all_fields.extend(fields)
        known = tuple(dict.fromkeys(all_fields))
        fields_to_include = set[str]()
        for rule in self._rules:
            if self.include_list:
                fields_to_include.update(rule.fields)
        for field in sorted(fields_to_include):
            if not any(name_in(field, block) in fields for block, fields in names.items()):
                at.miss(field, known, field.rpartition(".")[2])

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        return keep_value


def _unless_null(node: Node, which: Call, error: PlanError) -> Cell:
    """Returns the field ``node``, after a check. The schema of the field has the name of a time type, but the wrong
    data type.

    A value in this field rejects its record with ``error``. There are two exceptions: a null stays null, and a value
    stays if the event is not selected (``which`` is null).

    Raises:
        PlanError: ``error`` itself, if the field is a struct, is required, or has a default.
    """
    if not isinstance(node, Cell) or not node.schema.optional or node.schema.default is not None:
        raise error
    problem = error.problems[0]
    refused = Refused(problem.code, problem.statement, problem.hint)
    refusal = Call(refused, (Call(KeepNull(), (node.expr, which)),))
    return replace(node, expr=Call(Default(), (refusal, node.expr)), copied=False)


def _kind(block: str, field: str, node: Node) -> str:
    """Returns the kind of time in a field, for ``InZone.kind``. The kind is the name of the field's schema, such as
    ``io.debezium.time.Timestamp``. For a field of ``source`` that is in ``EPOCHS``, such as ``ts_ms``, and has a schema
    without a name, the kind is the name of the field. Returns an empty string if the field is not a time.
    """
    name = node.schema.name
    if name is None:
        if block == SOURCE and field in EPOCHS:
            return field
        return ""
    if name in _TIME_TYPES:
        return name
    return ""


def _table(event: Group) -> Expr:
    """Returns an expression for the name of the table to which an event belongs. The expression is null if the event
    does not name a table.
    """
    source = event.by_name.get(SOURCE)
    if source is not None and source.schema.type is Type.STRUCT:
        fields = struct_of(source, SOURCE).by_name
    else:
        fields = {}
    table = fields.get("table")
    if isinstance(table, Cell) and table.schema.type is Type.STRING:
        return table.expr
    return Const(None, STRING)
