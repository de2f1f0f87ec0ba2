"""ExtractTimestamp: take the record's timestamp from a field."""

from dataclasses import replace
from typing import Annotated, Any

from dagster_smt.authoring.edit import field_of, struct_of
from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.schemaless import require_map
from dagster_smt.authoring.texts import with_default
from dagster_smt.authoring.transform import Entry, Example, Planning, SideFunction, Transform, refuse
from dagster_smt.authoring.validate import NonEmptyText, one_of
from dagster_smt.errors import data_error
from dagster_smt.model.cell import Call, Cell, Expr, Node
from dagster_smt.model.record import PlanRecord, Record
from dagster_smt.model.runtime import kind_of
from dagster_smt.model.schema import Type, optional
from dagster_smt.values.containers import MapValue
from dagster_smt.values.lazy import look
from dagster_smt.values.needs import Needed
from dagster_smt.values.timestamps import RecordTime

_HINT = "guard the stage with a predicate, or fill the field first"


class ExtractTimestamp(Transform):
    """Replace the record's timestamp by a field of the key or value.

    The field is a whole number of 64 bits, in the unit of `timestamp.resolution`, or a Timestamp, Date or Time of
    Connect, which that option does not change. Any other type is refused, narrower numbers too, as is a field that is
    missing or null; with a schema a null is read as its default. The field is a name of the top level: a dot is part of
    it. The key and value stay as they are; a null one is refused.

    A timestamp that Spark cannot hold (beyond the year 294247) is refused.
    """

    connect_class = "io.aiven.kafka.connect.transforms.ExtractTimestamp"
    purpose = "extract the timestamp"
    null = "reject"
    writes_timestamp = True
    reads_metadata = True
    field_name: NonEmptyText = option("Field that holds the timestamp.")
    timestamp_resolution: Annotated[Text, one_of("milliseconds", "seconds")] = option(
        "Unit of a number: `milliseconds` or `seconds`.", "milliseconds"
    )
    examples = (
        Example("the value stays", {"field.name": "at", "timestamp.resolution": "seconds"}, '{"at":7}', '{"at":7}'),
    )

    def ledger(self) -> tuple[Entry, ...]:
        return (Entry("extracted", self.field_name, "timestamp"),)

    @property
    def _missing(self) -> Needed:
        return Needed("SMT451", f"the field '{self.field_name}' is null", _HINT)

    def plan_record(self, record: PlanRecord, at: Planning) -> PlanRecord:
        node = record.key if at.side == "key" else record.value
        assert node is not None  # null is refused
        field = self._field(node)
        kind = field.schema.logical or field.schema.type.value
        if kind not in ("int64", "Timestamp", "Date", "Time") or not isinstance(field, Cell):
            raise refuse("SMT452", self._wrong(field.schema.label), "convert it with TimestampConverter or Cast first")
        at.touch(0)
        expr: Expr = Call(self._missing, (field.expr,)) if field.may_be_null else field.expr
        timestamp = Call(self._rule(kind), (expr,))
        return replace(record, timestamp=replace(record.timestamp, expr=timestamp, sources=field.sources, copied=False))

    def _field(self, node: Node) -> Node:
        """The field of a struct, or the entry of a map."""
        keys, values = node.schema.keys, node.schema.values
        if isinstance(node, Cell) and keys is not None and values is not None and keys.type is Type.STRING:
            found = Call(MapValue(self.field_name), (node.expr,))
            return Cell(optional(values), found, node.sources, nullable=True)
        group = struct_of(node, self.purpose)
        return with_default(field_of(group, self.field_name), group)

    def _rule(self, kind: str) -> RecordTime:
        return RecordTime("unix" if kind == "int64" else kind, "Timestamp", precision=self.timestamp_resolution)

    def _wrong(self, kind: str) -> str:
        return f"only int64 or a date can be a timestamp, but the field '{self.field_name}' is {kind}"

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        (bit,), name = bits, self.field_name
        number, date = self._rule("int64"), self._rule("Timestamp")

        def extract(value: Any, record: Record) -> Any:
            fields = require_map(value, self.purpose)
            found = look(fields, name) if name in fields else None
            if found is None:
                raise self._missing.failure()
            kind = kind_of(found)
            if kind not in ("int64", "Timestamp"):
                raise data_error("SMT452", self._wrong(kind), "convert it with TimestampConverter or Cast first")
            record.timestamp = int((number if kind == "int64" else date).python(found))
            record.touched |= bit
            return value

        return extract
