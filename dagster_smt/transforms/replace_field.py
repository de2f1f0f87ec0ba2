"""ReplaceField: drop, keep and rename fields."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Annotated, Any

from dagster_smt.authoring.bundles import NestedPaths, NullDefaults, by_syntax, check_paths
from dagster_smt.authoring.edit import Changed, Renamed, Target, edited_branch, kept, struct_of, under
from dagster_smt.authoring.field_changes import Drop, FieldChange, Keep, Rename
from dagster_smt.authoring.options import Pairs, option
from dagster_smt.authoring.paths import planned
from dagster_smt.authoring.schemaless import Act, Visit, collector, objects, pruner, require_map, visitor
from dagster_smt.authoring.transform import PACKAGE, AllFunction, Entry, Example, Planning, SideFunction, Transform
from dagster_smt.authoring.validate import UniqueNames
from dagster_smt.model.cell import Expr, Node
from dagster_smt.model.path import V2, FieldPath, parse_path
from dagster_smt.model.path_steps import Index, Match
from dagster_smt.model.record import Record
from dagster_smt.values.containers import NewName


class ReplaceField(NullDefaults, NestedPaths, Transform):
    """Keep only some fields, drop fields, rename fields.

    `include` and `exclude` mean the names before renaming; `exclude` wins. All renames happen at once, so two fields
    can swap names. Names that a record does not have change nothing. The result is a required struct.
    A null key or value passes. A nested field that is included brings the structs around it along; one that is
    dropped can leave an empty struct. A new name is a plain name beside the old one.
    """

    connect_class = PACKAGE + "ReplaceField"
    purpose = "field replacement"
    null = "pass"
    former_options = (("blacklist", "exclude"), ("whitelist", "include"))  # KIP-629
    exclude: Annotated[UniqueNames, by_syntax()] = option("Fields to drop.", ())
    include: Annotated[UniqueNames, by_syntax()] = option("The only fields to keep; empty keeps all.", ())
    renames: Annotated[Pairs, by_syntax(",:")] = option(
        "Pairs `old:new`. Where `old` ends with a pattern, `new` may hold groups of it: `$1`.", ()
    )
    examples = (
        Example(
            "drop one, rename one",
            {"exclude": "note", "renames": "amount:total"},
            '{"id":1,"note":"x","amount":2}',
            '{"id":1,"total":2}',
        ),
        Example("keep only what is named", {"include": "id"}, '{"id":1,"note":"x"}', '{"id":1}'),
        Example(
            "nested fields",
            {"include": "user.name,id", "renames": "user.name:full", "field.syntax.version": "V2"},
            '{"id":1,"user":{"name":"Ann","pin":7}}',
            '{"id":1,"user":{"full":"Ann"}}',
        ),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        for option_, texts in (("exclude", self.exclude), ("include", self.include), ("renames", dict(self.renames))):
            yield from check_paths(option_, texts, self.path)
        quoted = [new for _, new in self.renames if self.nested and new.startswith("`")]
        yield from check_paths("renames", quoted, lambda text: parse_path(text, V2))
        for path in map(self.path, self.include):
            if any(isinstance(step, Index) for step in path.steps):
                yield "include", f"'{path}' would keep single elements of an array", "keep all: [*]"
        for path in map(self.path, dict(self.renames)):
            if path.steps and not isinstance(path.steps[-1], str | Match):
                yield "renames", f"'{path}' ends with no name", "let it end with a name or a pattern"
        for new in dict(self.renames).values() if self.nested else ():
            if new.startswith("`") and len(parse_path(new, V2).steps) != 1:
                yield "renames", f"the new name '{new}' is a path", "write the name alone"

    def ledger(self) -> tuple[Entry, ...]:
        kept = (Entry("dropped", "all but " + ", ".join(self.include), named=False),) if self.include else ()
        dropped = tuple(Entry("dropped", name) for name in self.exclude)
        return (*dropped, *(Entry("renamed", old, new) for old, new in dict(self.renames).items()), *kept)

    def _paths(self, texts: Iterable[str]) -> tuple[FieldPath, ...]:
        return tuple(map(self.path, texts))

    def _new_names(self) -> tuple[NewName, ...]:
        return tuple(self._new_name(*pair) for pair in dict(self.renames).items())

    def _new_name(self, old: str, new: str) -> NewName:
        last = self.path(old).steps[-1]
        quoted = self.nested and new.startswith("`")
        return NewName(parse_path(new, V2).leaf if quoted else new, last if isinstance(last, Match) else None)

    def plan_side(self, node: Node, at: Planning) -> Node:
        group, drops, names = struct_of(node, self.purpose), len(self.exclude), self._new_names()
        excluded = planned(group.schema, self._paths(self.exclude), at, self.strict)
        renamed = planned(group.schema, self._paths(dict(self.renames)), at, self.strict, drops)
        included = planned(group.schema, self._paths(self.include), at, self.strict, drops + len(names), together=True)

        def drop(target: Target) -> None:
            target.touch_place()

        def rename(target: Target) -> Changed:
            target.touch_place(drops + target.number)
            return Renamed(names[target.number], target.node)

        def drop_others(parent: Expr | None, at: Planning) -> None:
            at.touch(drops + len(names), parent)

        # what was dropped does not come back under a new name, as it does in Kafka (difference D2)
        after = edited_branch(group, excluded, drop, None, at)
        after = kept(after, included, drop_others, at) if self.include else after
        after = edited_branch(after, renamed, rename, self.replace_null_with_default, at)
        return under(group, replace(after, schema=group.schema.with_fields(after.schema.fields)))

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        drops = len(self.exclude)
        drop = visitor(self._paths(self.exclude), tuple(map(_drop, bits[:drops])), once=True)
        prune, others = pruner(self._paths(self.include)), bits[-1] if self.include else 0
        renames = bool(self.renames)
        rename = _renamer(self._paths(dict(self.renames)), self._new_names(), bits[drops:])

        def change(value: Any, record: Record) -> Any:
            fields = value if type(value) is dict else require_map(value, self.purpose)
            if drops:
                drop(fields, record)
            if others and prune(fields):
                record.touched |= others
            if renames:
                rename(fields, record)
            return fields

        return change

    def schemaless_all(self, bits: tuple[int, ...]) -> AllFunction | None:
        dropped, renamed = self._paths(self.exclude), self._paths(dict(self.renames))
        if self.include or not all(path.flat for path in (*dropped, *renamed)):
            return None
        drops = tuple((path.leaf, bit) for path, bit in zip(dropped, bits, strict=False))
        rename = _renamer(renamed, self._new_names(), bits[len(drops) :])

        def change_all(records: Iterator[Record], other: Callable[[Record], object]) -> None:
            for record in objects(records, other):
                value = record.value
                for name, bit in drops:
                    if name in value:
                        del value[name]
                        record.touched |= bit
                if renamed:
                    rename(value, record)

        return change_all

    def field_changes(self, bits: tuple[int, ...]) -> tuple[FieldChange, ...] | None:
        dropped, kept, old = map(self._paths, (self.exclude, self.include, dict(self.renames)))
        if not all(path.flat for path in (*kept, *old)):
            return None
        drops, names = len(dropped), [name(path.leaf) for name, path in zip(self._new_names(), old, strict=True)]
        changes: list[FieldChange] = [Drop(path, bit) for path, bit in zip(dropped, bits, strict=False)]
        if kept:
            changes.append(Keep(frozenset(path.leaf for path in kept), bits[-1]))
        renames = zip((path.leaf for path in old), names, bits[drops:], strict=False)
        return (*changes, Rename(tuple(renames)))


def _drop(bit: int) -> Act:
    def drop(parent: Any, key: Any, record: Record) -> None:
        del parent[key]
        record.touched |= bit

    return drop


def _renamer(paths: tuple[FieldPath, ...], names: tuple[NewName, ...], bits: tuple[int, ...]) -> Visit:
    """All renames at once: fields are taken out before any is put back."""
    collect = collector(paths)
    tops = tuple((p.leaf, name(p.leaf), bit) for p, name, bit in zip(paths, names, bits, strict=False))

    def rename_one(fields: Any, record: Record) -> None:
        old, new, bit = tops[0]
        if old in fields:
            fields[new] = fields.pop(old)
            record.touched |= bit

    def rename_top(fields: Any, record: Record) -> None:
        for new, child, bit in [(new, fields.pop(old), bit) for old, new, bit in tops if old in fields]:
            fields[new] = child
            record.touched |= bit

    def rename(fields: Any, record: Record) -> None:
        moved = [(number, parent, key, parent.pop(key)) for number, parent, key in collect(fields)]
        for number, parent, key, child in moved:
            parent[names[number](key)] = child
            record.touched |= bits[number]

    if not all(path.flat for path in paths):
        return rename
    return rename_one if len(tops) == 1 else rename_top
