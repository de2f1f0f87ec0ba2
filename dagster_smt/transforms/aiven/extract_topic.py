"""ExtractTopic: take the topic from the key or value, or from a field of it."""

from typing import Any

from dagster_smt.authoring.edit import field_of, struct_of
from dagster_smt.authoring.options import Flag, Text, option
from dagster_smt.authoring.schemaless import require_map
from dagster_smt.authoring.texts import java_text_of, with_default
from dagster_smt.authoring.topics import needed_topic, routed
from dagster_smt.authoring.transform import Entry, Example, NullRule, Planning, SideFunction, Transform, refuse
from dagster_smt.errors import DataError, data_error
from dagster_smt.model.cell import Cell
from dagster_smt.model.record import PlanRecord, Record
from dagster_smt.model.runtime import kind_of
from dagster_smt.model.schema import STRING, Type
from dagster_smt.values.lazy import look
from dagster_smt.values.texts import Filled, is_blank, java_text

_TYPES = (
    *(Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64),
    *(Type.BOOLEAN, Type.STRING),
)
_KINDS = frozenset(t.value for t in _TYPES)


class ExtractTopic(Transform):
    """Replace the topic by the key or value, or by a field of it: a text, number or boolean, as Java writes it.

    What is null or empty is refused, or leaves the topic alone (`skip.missing.or.null`); without a schema a text of
    blanks counts as empty, with one it is a topic. With a schema a null field is read as its default, and a Date, Time
    or Timestamp becomes the text of `java.util.Date` in UTC. Structs, arrays, maps, bytes and decimals are refused,
    also when skipping, and so is a null key or value if a field is named. The field is a name of the top level: a dot
    is part of it. Whether Kafka allows the name is not checked. Partition, key and value stay.
    """

    connect_class = "io.aiven.kafka.connect.transforms.ExtractTopic"
    purpose = "extract the topic"
    field_name: Text = option("Field that holds the topic; empty: the whole key or value.", "")
    skip_missing_or_null: Flag = option("Whether the topic stays where the new one is missing, null or empty.", False)
    examples = (
        Example("a field", {"field.name": "kind"}, '{"kind":"bills","id":7}', "bills", shows="topic", given="value"),
        Example("the whole value", {}, "7", "7", shows="topic", given="value"),
    )

    def on_null(self) -> NullRule:
        return "apply" if self.skip_missing_or_null and not self.field_name else "reject"

    @property
    def _what(self) -> str:
        return f"the field '{self.field_name}'" if self.field_name else "the key or value"

    def _wrong(self, kind: str) -> str:
        return f"only a text, number or boolean can be a topic, but {self._what} is {kind}"

    @property
    def _needed(self) -> Filled:
        return needed_topic(self._what)

    def ledger(self) -> tuple[Entry, ...]:
        return (Entry("routed", self.field_name or "(whole)", "topic", "topic"),)

    def plan_record(self, record: PlanRecord, at: Planning) -> PlanRecord:
        node = record.key if at.side == "key" else record.value
        if node is None:
            return self.plan_absent(record)
        if self.field_name:
            group = struct_of(node, self.purpose)
            if self.skip_missing_or_null and self.field_name not in group.by_name:
                at.miss(self.field_name, tuple(group.by_name))
                return record
            node = with_default(field_of(group, self.field_name), group)
        if node.schema.type not in _TYPES:
            raise refuse("SMT452", self._wrong(node.schema.label), "name a field that is one")
        marks = node.marks if isinstance(node, Cell) else frozenset[str]()
        text = Cell(STRING, java_text_of(node), node.sources, marks=marks)
        return routed(record, text, self._needed, self.skip_missing_or_null, at)

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        (bit,) = bits

        def route(value: Any, record: Record) -> Any:
            text = self._text(value)
            if text is not None:
                record.topic = text
                record.touched |= bit
            elif not self.skip_missing_or_null:
                raise self._needed.failure()
            return value

        return route

    def _text(self, value: Any) -> str | None:
        """The topic in a value without a schema; None if it is missing, null or blank."""
        if self.field_name:
            fields = require_map(value, self.purpose)
            value = look(fields, self.field_name) if self.field_name in fields else None
        if value is None:
            return None
        if kind_of(value) not in _KINDS:
            raise self._refused(kind_of(value))
        text = java_text(None, value)
        return None if is_blank(text) else text

    def _refused(self, kind: str) -> DataError:
        return data_error("SMT452", self._wrong(kind), "name a field that is one")
