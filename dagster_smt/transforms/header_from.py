"""HeaderFrom: move or copy fields into headers."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any

from dagster_smt.authoring.bundles import NestedPaths, NullDefaults, by_syntax, check_paths
from dagster_smt.authoring.copying import copied
from dagster_smt.authoring.edit import Target, all_sources, edited_branch, struct_of, under
from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.paths import planned
from dagster_smt.authoring.reading import read_field
from dagster_smt.authoring.schemaless import collector, require_map, value_at
from dagster_smt.authoring.transform import PACKAGE, Entry, Example, Planning, SideFunction, Transform
from dagster_smt.authoring.validate import SomeNames, one_of
from dagster_smt.model.cell import Call, Cell, Group, Node
from dagster_smt.model.path import FieldPath
from dagster_smt.model.record import Header, PlanRecord, Record
from dagster_smt.values.headers import AppendHeader
from dagster_smt.values.lazy import whole


class HeaderFrom(NullDefaults, NestedPaths, Transform):
    """Move or copy fields of the key or value into headers.

    The headers are appended in the order of the options; headers of the same name stay, and a field may go into
    several. With a schema a field must exist and the header keeps its schema; without one a missing field gives a
    header that is null. After `move` the rest is a required struct, as after ReplaceField. A null key or value is
    refused: guard the stage with `RecordIsTombstone`.
    """

    connect_class = PACKAGE + "HeaderFrom"
    purpose = "copying fields to headers"
    null = "reject"
    reads_headers = True
    fields: Annotated[SomeNames, by_syntax()] = option("Fields to take.")
    headers: SomeNames = option("Names of the headers, one for each of `fields`.")
    operation: Annotated[Text, one_of("move", "copy")] = option("`move` drops the fields, `copy` leaves them.")
    examples = (
        Example(
            "copy",
            {"fields": "id,shop", "headers": "order-id,shop", "operation": "copy"},
            '{"id":7,"shop":"a"}',
            '[{"key":"order-id","value":7},{"key":"shop","value":"a"}]',
            "headers",
            "value",
        ),
        Example(
            "what move leaves", {"fields": "id", "headers": "id", "operation": "move"}, '{"id":7,"x":1}', '{"x":1}'
        ),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        if len(self.fields) != len(self.headers):
            statement = f"has {len(self.headers)} names, but fields has {len(self.fields)}"
            yield "headers", statement, "name one header for each field"
        yield from check_paths("fields", self.fields, self.path, single=True)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """(field, header) in order."""
        return tuple(zip(self.fields, self.headers, strict=True))

    @property
    def _moved(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.fields)) if self.operation == "move" else ()

    def ledger(self) -> tuple[Entry, ...]:
        added = tuple(Entry("added", header, field, "headers") for field, header in self.pairs)
        return (*added, *(Entry("dropped", field) for field in self._moved))

    def plan_record(self, record: PlanRecord, at: Planning) -> PlanRecord:
        node = record.key if at.side == "key" else record.value
        assert node is not None  # null is refused
        group = struct_of(node, self.purpose)
        headers = record.headers
        for field, header in self.pairs:
            headers = _appended(headers, header, self._value(group, self.path(field)))
        for number in range(len(self.ledger())):
            at.touch(number, group.present)
        record = replace(record, headers=headers)
        if not self._moved:
            return record
        rest = self._without(group, at)
        return replace(record, key=rest) if at.side == "key" else replace(record, value=rest)

    def _value(self, group: Group, path: FieldPath) -> Node:
        node, parent = read_field(group, path, self.strict)
        return copied(path.leaf, node, parent, self.replace_null_with_default)

    def _without(self, group: Group, at: Planning) -> Group:
        def drop(target: Target) -> None:
            """It is in a header now."""

        paths = map(self.path, self._moved)
        moved = planned(group.schema, paths, at, self.strict, len(self.pairs))
        after = edited_branch(group, moved, drop, self.replace_null_with_default, at)
        return under(group, replace(after, schema=group.schema.with_fields(after.schema.fields)))

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        added, moved = sum(bits[: len(self.pairs)]), bits[len(self.pairs) :]
        taken = tuple((self.path(field), header) for field, header in self.pairs)
        collect = collector(tuple(map(self.path, self._moved)))

        def take(value: Any, record: Record) -> Any:
            fields = require_map(value, self.purpose)
            made = [Header(header, None, whole(value_at(fields, path))) for path, header in taken]
            record.headers = [*record.headers, *made]
            record.touched |= added
            for number, parent, key in collect(fields) if moved else ():
                del parent[key]
                record.touched |= moved[number]
            return fields

        return take


def _appended(headers: Cell, key: str, node: Node) -> Cell:
    expr = node.expr if isinstance(node, Cell) else node.present
    assert expr is not None  # the fields of a stage's input come from references
    call = Call(AppendHeader(key, node.schema), (headers.expr, expr))
    return Cell(headers.schema, call, headers.sources | all_sources(node))
