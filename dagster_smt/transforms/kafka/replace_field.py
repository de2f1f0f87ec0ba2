"""ReplaceField: drop, keep and rename fields."""

from collections.abc import Iterator
from typing import Annotated

from dagster_smt.authoring.bundles import NestedPaths, NullDefaults, by_syntax, check_paths
from dagster_smt.authoring.options import Pairs, option
from dagster_smt.authoring.transform import PACKAGE, Example, Transform
from dagster_smt.authoring.validate import UniqueNames
from dagster_smt.effects.effect import Drop, Effect, Keep, Rebuild, Rename
from dagster_smt.model.paths.connect import V2, parse_path
from dagster_smt.model.paths.steps import Index, Match
from dagster_smt.values.containers import NewName


class ReplaceField(NullDefaults, NestedPaths, Transform):
    """Keep, drop or rename fields.

    `include` and `exclude` refer to the names before renaming. If both list a field, `exclude` wins. All renames happen
    at once, so two fields can swap names. Names that a record does not have are ignored. The result is a required
    struct. A null key or value passes through unchanged.

    If `include` lists a nested field, the structs around the field also stay. If `exclude` lists the only field of a
    struct, the struct stays and is empty. A new name in `renames` is not a path: a renamed field stays in its struct.
    """

    connect_class = PACKAGE + "ReplaceField"
    purpose = "field replacement"
    null = "pass"
    former_options = (("blacklist", "exclude"), ("whitelist", "include"))  # KIP-629
    exclude: Annotated[UniqueNames, by_syntax()] = option("Fields to drop.", ())
    include: Annotated[UniqueNames, by_syntax()] = option("The only fields to keep. If empty, all fields are kept.", ())
    renames: Annotated[Pairs, by_syntax(",:")] = option(
        "Pairs `old:new`. If `old` ends with a pattern, `new` may contain groups of the pattern: `$1`.", ()
    )
    examples = (
        Example(
            "drop one, rename one",
            {"exclude": "note", "renames": "amount:total"},
            '{"id":1,"note":"x","amount":2}',
            '{"id":1,"total":2}',
        ),
        Example("keep only one field", {"include": "id"}, '{"id":1,"note":"x"}', '{"id":1}'),
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
        quoted = []
        for _, new in self.renames:
            if self.nested and new.startswith("`"):
                quoted.append(new)
        yield from check_paths("renames", quoted, lambda text: parse_path(text, V2))
        for path in map(self.path, self.include):
            if any(isinstance(step, Index) for step in path.steps):
                yield "include", f"'{path}' would keep single elements of an array", "keep all: [*]"
        for path in map(self.path, dict(self.renames)):
            if path.steps and not isinstance(path.steps[-1], str | Match):
                yield "renames", f"'{path}' does not end with a name", "end the path with a name or a pattern"
        for new in dict(self.renames).values() if self.nested else ():
            if new.startswith("`") and len(parse_path(new, V2).steps) != 1:
                yield "renames", f"the new name '{new}' is a path", "write only the name"

    def effects(self) -> tuple[Effect, ...]:
        drops = tuple(Drop(self.path(name)) for name in self.exclude)
        effects = []
        # a dict, because in Kafka the last rename of a field wins
        for old, new in dict(self.renames).items():
            effects.append(self._rename(old, new))
        renames = tuple(effects)
        keeps = (Keep(tuple(map(self.path, self.include))),) if self.include else ()
        return (Rebuild(), *drops, *renames, *keeps)

    def _rename(self, old: str, new: str) -> Rename:
        path = self.path(old)
        last = path.steps[-1]
        quoted = self.nested and new.startswith("`")
        name = parse_path(new, V2).leaf if quoted else new
        return Rename(path, NewName(name, last if isinstance(last, Match) else None), new)
