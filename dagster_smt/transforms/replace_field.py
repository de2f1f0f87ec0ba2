"""ReplaceField: drop, keep and rename fields."""

from typing import Any

from dagster_smt.errors import SCHEMA_BUILDER_EXCEPTION
from dagster_smt.model.cell import Node, with_fields
from dagster_smt.model.record import Record
from dagster_smt.spec.bundles import NullDefaults
from dagster_smt.spec.copying import copied
from dagster_smt.spec.edit import struct_of, under
from dagster_smt.spec.options import Pairs, option
from dagster_smt.spec.schemaless import require_map
from dagster_smt.spec.transform import PACKAGE, Effect, Example, Planning, SideFunction, Transform, refuse
from dagster_smt.spec.validate import UniqueNames


class ReplaceField(NullDefaults, Transform):
    """Keep only some fields, drop fields, rename fields.

    `include` and `exclude` mean the names before renaming; `exclude` wins. All renames happen at once, so two fields
    can swap names. Names that a record does not have change nothing. The result is a required struct.
    A null key or value passes.
    """

    connect_class = PACKAGE + "ReplaceField"
    purpose = "field replacement"
    null = "pass"
    exclude: UniqueNames = option("Fields to drop.", ())
    include: UniqueNames = option("The only fields to keep; empty keeps all.", ())
    renames: Pairs = option("Pairs `old:new`.", ())
    examples = (
        Example(
            "drop one, rename one",
            {"exclude": "note", "renames": "amount:total"},
            '{"id":1,"note":"x","amount":2}',
            '{"id":1,"total":2}',
        ),
        Example("keep only what is named", {"include": "id"}, '{"id":1,"note":"x"}', '{"id":1}'),
    )

    def ledger(self) -> tuple[Effect, ...]:
        kept = (Effect("dropped", "all but " + ", ".join(self.include)),) if self.include else ()
        dropped = tuple(Effect("dropped", name) for name in self.exclude)
        return (*dropped, *(Effect("renamed", old, new) for old, new in dict(self.renames).items()), *kept)

    def _keeps(self, name: str) -> bool:
        return name not in self.exclude and (not self.include or name in self.include)

    def plan_side(self, node: Node, at: Planning) -> Node:
        group = struct_of(node, self.purpose)
        renames, number = dict(self.renames), self._numbers()
        fields: dict[str, Node] = {}
        for name, child in group.fields:
            if not self._keeps(name):
                at.touch(number[name] if name in number else len(number), group.present)
                continue
            new = renames.get(name, name)
            if name in renames:
                at.touch(number[(name,)], group.present)
            if new in fields:
                statement = f"two fields would be named '{new}'"
                raise refuse("SMT111", statement, "rename or drop one of them", SCHEMA_BUILDER_EXCEPTION)
            fields[new] = copied(name, child, group.present, self.replace_null_with_default)
        for name in (*self.exclude, *self.include, *renames):
            if name not in group.by_name:
                at.miss(name, tuple(group.by_name))
        return under(group, with_fields(group, fields.items(), group.schema.with_fields(())))

    def _numbers(self) -> dict[Any, int]:
        """Ledger numbers: an excluded name by itself, a rename by its old name in a tuple."""
        return {key: i for i, key in enumerate((*self.exclude, *((old,) for old in dict(self.renames))))}

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        number = self._numbers()
        dropped = tuple((name, bits[number[name]]) for name in self.exclude)
        renamed = tuple((old, new, bits[number[(old,)]]) for old, new in dict(self.renames).items())
        included, others = frozenset(self.include) - frozenset(self.exclude), bits[-1] if self.include else 0

        def replace(value: Any, record: Record) -> Any:
            fields = require_map(value, self.purpose)
            for name, bit in dropped:
                if name in fields:
                    del fields[name]
                    record.touched |= bit
            if others and not fields.keys() <= included:
                record.touched |= others
                fields = {name: child for name, child in fields.items() if name in included}
            moved = [(new, fields.pop(old), bit) for old, new, bit in renamed if old in fields]
            for new, child, bit in moved:
                fields[new] = child
                record.touched |= bit
            return fields

        return replace
