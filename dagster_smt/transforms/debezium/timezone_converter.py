"""TimezoneConverter: the times of change events in another time zone."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any

from pydantic import AfterValidator

from dagster_smt.authoring.fields.edit import struct_of
from dagster_smt.authoring.options import Names, Text, option
from dagster_smt.authoring.transform import Entry, Example, Planning, SideFunction
from dagster_smt.effects.code import Code, CodeTransform
from dagster_smt.errors import PlanError
from dagster_smt.model.cell import Call, Cell, Const, Expr, Group, Node, with_fields
from dagster_smt.model.record import PlanRecord, Record
from dagster_smt.model.schema import STRING, Type
from dagster_smt.model.schema import TIMESTAMP as CONNECT_TIMESTAMP
from dagster_smt.transforms.debezium.events.examples import zoned_event
from dagster_smt.transforms.debezium.events.shape import said, text_field, there, whole_number
from dagster_smt.transforms.debezium.events.times import EPOCHS, PRECISIONS, ZONED_TIME, ZONED_TIMESTAMP, InZone
from dagster_smt.transforms.debezium.events.values import AnyThere, is_change_event
from dagster_smt.transforms.debezium.zones.rules import BLOCKS, SOURCE, ZoneRule, chosen, name_in, zone_rules
from dagster_smt.values.basic import Default, KeepNull, Refused
from dagster_smt.values.times.zones import has_one_offset, is_zone

_NAMED = (*PRECISIONS, ZONED_TIMESTAMP, ZONED_TIME, CONNECT_TIMESTAMP)
_TEXTS = (ZONED_TIMESTAMP, ZONED_TIME)


def _zone(text: str) -> str:
    if not is_zone(text):
        raise ValueError("it is no time zone such as America/Los_Angeles, and no offset such as +08:00")
    return text


class TimezoneConverter(CodeTransform):
    """Convert the times in the rows of change events to a time zone.

    A change event of Debezium is a value whose schema has a name that ends with `.Envelope`; others pass unchanged:
    those without a schema, heartbeats. In the rows before and after the change these types are converted, at the top
    level of the row; schemas stay:

    | type | what it becomes |
    |---|---|
    | `io.debezium.time.ZonedTimestamp` | the same instant, as a text with the offset of the zone |
    | `io.debezium.time.ZonedTime` | the same, of a time of the day |
    | `io.debezium.time.Timestamp`, `MicroTimestamp`, `NanoTimestamp` | the number, less the offset |
    | `org.apache.kafka.connect.data.Timestamp` | the same |
    | `ts_ms`, `ts_us`, `ts_ns` in `source`, if a rule names something there | the number and the offset |

    So a number is read as what a clock in the zone shows, and those in `source` become what it shows.

    The offset of a ZonedTimestamp is that of its own date and time, whatever offset that has: near a change of the
    clock it can be the one on the other side. Dates and times of other types stay, and a null becomes its default.

    Without a list all rows are converted. `include.list` and `exclude.list` say which are, or are not: `topic:name` and
    `source:table` with all their fields, `topic:name:field` and `source:table:field` with one. `topic` and `source`
    hold for the rules that follow, too; a rule `name:field` before them is about a topic or table. A field is one of
    the row before and after, or with `before.`, `after.` or `source.` before its name only of that. Topics count before
    tables. A rule that names no field adds none to others of the same name.

    Differences to the original (Debezium 3.6.1): it gives a ZonedTime the offset that the zone has when it runs, so
    another run can give another text. Here it is the offset at the `ts_ms` of the event; one without it is refused,
    unless the zone is an offset. It fails where `source` is null; here such an event has no table. It refuses names
    with other signs than letters, digits, `_`, `.` and blanks, and rules of three parts behind the first rule. Offsets
    beyond 18 hours and short names such as `PST`, with which it fails later, are refused at once, and so are rules
    `name:field:more`. The rules of time zones are those of the machine.
    """

    connect_class = "io.debezium.transforms.TimezoneConverter"
    sided = False
    purpose = "convert times to a time zone"
    null = "pass"
    converted_timezone: Annotated[Text, AfterValidator(_zone)] = option(
        "The time zone, such as `America/Los_Angeles`, or an offset such as `+08:00`."
    )
    include_list: Names = option("Rules that say what is converted, and nothing else is.", ())
    exclude_list: Names = option("Rules that say what is not converted.", ())
    examples = (
        Example(
            "all times of a row",
            {"converted.timezone": "Pacific/Easter"},
            zoned_event("2011-01-11T16:40:30.123456789+00:00"),
            zoned_event("2011-01-11T11:40:30.123456789-05:00"),
        ),
        Example(
            "all but one",
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
                yield key, "the list is empty", "leave the option out"
        if self.include_list and self.exclude_list:
            yield "exclude.list", "include.list is given, too", "leave one of them out"

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
        after = {name: self._converted(name, block, event, record.topic, at) for name, block in blocks.items()}
        self._report(blocks, at)
        if after == blocks:
            return record
        fields = tuple((name, after.get(name, child)) for name, child in event.fields)
        return replace(record, value=with_fields(event, fields, event.schema))

    def _converted(self, name: str, block: Group, event: Group, topic: Cell, at: Planning) -> Group:
        """A row, or the source of an event, with its times converted."""
        fields, touched = [], []
        for field, node in block.fields:
            rule = chosen(self._rules, bool(self.exclude_list), not self.include_list, name, field)
            kind = _kind(name, field, node)
            if rule is not None and kind:
                which = Call(rule, (topic.expr, _table(event), there(block)))
                touched.append(which if node.schema.default is not None else Call(KeepNull(), (there(node), which)))
                node = self._in_zone(block, field, kind, event, which)
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
            around = (which,) if node.schema.default is not None else (which, node.expr)
            args = (*args, said(whole_number(event, "ts_ms", Type.INT64).expr, "when it was", *around))
        rule = InZone(self.converted_timezone, kind, node.schema.default)
        return replace(node, expr=Call(rule, args), copied=False)

    def _check(self, block: Group, field: str, kind: str, node: Node) -> None:
        """Refuse a field whose type is not that of its name."""
        if kind in _TEXTS:
            text_field(block, field)
        elif node.schema.logical != "Timestamp":
            whole_number(block, field, Type.INT64)

    def _report(self, blocks: dict[str, Group], at: Planning) -> None:
        """Fields to include that no event of this schema has."""
        names = {name: block.by_name for name, block in blocks.items()}
        known = tuple(dict.fromkeys(field for fields in names.values() for field in fields))
        wanted = {field for rule in self._rules if self.include_list for field in rule.fields}
        for field in sorted(wanted):
            if not any(name_in(field, block) in fields for block, fields in names.items()):
                at.miss(field, known, field.rpartition(".")[2])

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        def keep(value: Any, record: Record) -> None:
            """It is no change event."""

        return keep


def _unless_null(node: Node, which: Call, error: PlanError) -> Cell:
    """A field of another type than its name says: a null stays, other values are refused where they are converted."""
    if not isinstance(node, Cell) or not node.schema.optional or node.schema.default is not None:
        raise error
    problem = error.problems[0]
    refused = Refused(problem.code, problem.statement, problem.hint)
    refusal = Call(refused, (Call(KeepNull(), (node.expr, which)),))
    return replace(node, expr=Call(Default(), (refusal, node.expr)), copied=False)


def _kind(block: str, field: str, node: Node) -> str:
    """What ``InZone`` calls the type of a field; empty if it is not converted."""
    name = node.schema.name
    if name is None:
        if block == SOURCE and field in EPOCHS:
            return field
        return ""
    if name in _NAMED:
        return name
    return ""


def _table(event: Group) -> Expr:
    """The table that an event says it is about; null if it says none."""
    source = event.by_name.get(SOURCE)
    if source is not None and source.schema.type is Type.STRUCT:
        fields = struct_of(source, SOURCE).by_name
    else:
        fields = {}
    table = fields.get("table")
    if isinstance(table, Cell) and table.schema.type is Type.STRING:
        return table.expr
    return Const(None, STRING)
