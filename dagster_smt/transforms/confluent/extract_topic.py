"""ExtractTopic: take the topic from the key or value, or from a field of it."""

from collections.abc import Iterator
from typing import Annotated, Any

from dagster_smt.authoring.edit import present, refused, struct_of
from dagster_smt.authoring.json_path import check_json_path
from dagster_smt.authoring.options import Flag, Text, option
from dagster_smt.authoring.reading import read_field
from dagster_smt.authoring.schemaless import require_map, value_at
from dagster_smt.authoring.texts import default_of
from dagster_smt.authoring.topics import needed_topic, routed
from dagster_smt.authoring.transform import Entry, Example, NullRule, Planning, SideFunction, Transform, refuse
from dagster_smt.authoring.validate import one_of
from dagster_smt.errors import PlanError, data_error
from dagster_smt.model.cell import Cell, Node
from dagster_smt.model.json_path import parse_json_path
from dagster_smt.model.path import FieldPath
from dagster_smt.model.record import PlanRecord, Record
from dagster_smt.model.runtime import kind_of
from dagster_smt.model.schema import STRING, Type, optional
from dagster_smt.values.texts import Filled

PLAIN, JSON_PATH = "PLAIN", "JSON_PATH"
_HINT = "convert it before, with Cast to string for one"


class ExtractTopic(Transform):
    """Replace the topic by the key or value, or by a field of it, which must be a text.

    With `field.format=JSON_PATH` the field is a path of names, such as `$["f1"]["f3"]` or `$.f1.f3`; what can lead to
    several values is refused. A PLAIN name is one of the top level: a dot is part of it. What is missing or null is
    refused, or (`skip.missing.or.null`) leaves the topic alone. Whether Kafka allows the name is not checked.
    Partition, key and value stay. `ExtractTopic$Header` is a class of its own here, ExtractTopicHeader.

    Not public, and so decided here: everything but a text is refused, also when skipping, and so is a key or value
    without fields if a field is named; the empty text counts as missing, and so does a field below what has none; with
    a schema a null is read as its default.
    """

    connect_class = "io.confluent.connect.transforms.ExtractTopic"
    purpose = "extract the topic"
    field: Text = option("Field that holds the topic; empty: the whole key or value.", "")
    field_format: Annotated[Text, one_of(PLAIN, JSON_PATH, "")] = option(
        "How the field is written. `PLAIN` or empty: its name; `JSON_PATH`: a path to it.", PLAIN
    )
    skip_missing_or_null: Flag = option(
        "Whether the topic stays where the field, key or value is missing or null; if not, the record fails.", False
    )
    examples = (
        Example("the whole value", {}, '"bills"', "bills", shows="topic", given="value"),
        Example("a field", {"field": "f2"}, '{"f1":7,"f2":"bills"}', "bills", shows="topic", given="value"),
        Example(
            "a field of a field",
            {"field": '$["f1"]["f3"]', "field.format": "JSON_PATH", "skip.missing.or.null": True},
            '{"f1":{"f3":"bills"}}',
            "bills",
            shows="topic",
            given="value",
        ),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        if self.field and self.field_format == JSON_PATH:
            yield from check_json_path("field", self.field, single=True)

    def on_null(self) -> NullRule:
        return "pass" if self.skip_missing_or_null else "reject"

    def ledger(self) -> tuple[Entry, ...]:
        return (Entry("routed", self.field or "(whole)", "topic", "topic"),)

    @property
    def _path(self) -> FieldPath:
        if self.field and self.field_format == JSON_PATH:
            return FieldPath(self.field, parse_json_path(self.field).names)
        return FieldPath(self.field, (self.field,))

    @property
    def _what(self) -> str:
        return f"the field '{self.field}'" if self.field else "the key or value"

    @property
    def _needed(self) -> Filled:
        return needed_topic(self._what)

    def _no_text(self, kind: str) -> str:
        return f"only a text can be a topic, but {self._what} is {kind}"

    def plan_record(self, record: PlanRecord, at: Planning) -> PlanRecord:
        node = record.key if at.side == "key" else record.value
        if node is None:
            return self.plan_absent(record)
        if self.field:
            group, path = struct_of(node, self.purpose), self._path
            try:
                node, parent = read_field(group, path)
            except PlanError:
                if not self.skip_missing_or_null:
                    raise
                at.miss(self.field, tuple(group.by_name), path.leaf)
                return record
            node = default_of(node, parent)
        return routed(record, self._as_text(node), self._needed, self.skip_missing_or_null, at)

    def _as_text(self, node: Node) -> Cell:
        if isinstance(node, Cell) and node.schema.type is Type.STRING:
            return node
        problem = ("SMT452", self._no_text(node.schema.label), _HINT)
        if not self.skip_missing_or_null or present(node) is None:
            raise refuse(*problem)
        return refused(node, *problem, schema=optional(STRING))

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        (bit,), path, needed = bits, self._path, self._needed

        def route(value: Any, record: Record) -> Any:
            found = value_at(require_map(value, self.purpose), path) if self.field else value
            if found is not None and type(found) is not str:
                raise data_error("SMT452", self._no_text(kind_of(found)), _HINT)
            if found:
                record.topic = found
                record.touched |= bit
            elif not self.skip_missing_or_null:
                raise needed.failure()
            return value

        return route
