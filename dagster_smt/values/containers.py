"""Rules on arrays, maps and structs as whole values: one element, one field, other keys."""

from dataclasses import dataclass
from typing import Any

from dagster_smt.model.paths.steps import Match
from dagster_smt.model.schema import Schema
from dagster_smt.values.basic import PythonRule, ValueRule
from dagster_smt.values.java.regex import compile_java, expand, group_missing, may_take_long, too_long


@dataclass(frozen=True, slots=True)
class MapValue(ValueRule):
    """The value under a key of a map; null where there is none."""

    key: str

    def python(self, value: Any) -> Any:
        if value is None:
            return None
        return value.get(self.key)

    def column(self, F: Any, value: Any) -> Any:
        return F.try_element_at(value, F.lit(self.key))


@dataclass(frozen=True, slots=True)
class ItemAt(ValueRule):
    """An element of an array, counted from the end if negative; null where there is none."""

    number: int

    def python(self, value: Any) -> Any:
        if value is None or not -len(value) <= self.number < len(value):
            return None
        return value[self.number]

    def column(self, F: Any, value: Any) -> Any:
        return F.try_element_at(value, F.lit(self.number + 1 if self.number >= 0 else self.number))


@dataclass(frozen=True, slots=True)
class StructField(ValueRule):
    """A field of a struct that is no part of the stage's input, such as an element of an array."""

    name: str
    schema: Schema

    def python(self, value: Any) -> Any:
        if value is None:
            return None
        return value.get(self.name)

    def column(self, F: Any, value: Any) -> Any:
        return value.getField(self.schema.internal_names[[n for n, _ in self.schema.fields].index(self.name)])


@dataclass(frozen=True, slots=True)
class NewName:
    """A new name for a field or key: fixed, or the old one with the first find of a pattern replaced (``$1``)."""

    text: str
    pattern: Match | None = None

    def __call__(self, old: str) -> str:
        if self.pattern is None:
            return self.text
        found = compile_java(self.pattern.java).search(old)
        if found is None:
            return old
        return old[: found.start()] + expand(self.text, found) + old[found.end() :]


@dataclass(frozen=True, slots=True)
class KeepKeys(ValueRule):
    """A map with only the keys that have one of some names, or in which one of some patterns is found."""

    which: tuple[Any, ...]

    @property
    def needs_python(self) -> bool:  # type: ignore[override]
        return any(isinstance(which, Match) and may_take_long(which.java) for which in self.which)

    @property
    def may_fail(self) -> bool:  # type: ignore[override]
        return self.needs_python

    def failure(self) -> Any:
        return too_long()

    def failed(self, F: Any, result: Any, value: Any) -> Any:
        """A map that is not null becomes null only where a key took too long."""
        return result.isNull() & value.isNotNull()

    def python(self, value: Any) -> Any:
        if value is None:
            return None
        return {key: child for key, child in value.items() if self._keeps(key)}

    def _keeps(self, key: str) -> bool:
        return any(key == w if isinstance(w, str) else compile_java(w.java).search(key) for w in self.which)

    def column(self, F: Any, value: Any) -> Any:
        def keeps(key: Any, _: Any) -> Any:
            found = F.lit(False)
            for which in self.which:
                found = found | (key == F.lit(which) if isinstance(which, str) else key.rlike(which.java))
            return found

        return F.map_filter(value, keeps)


@dataclass(frozen=True, slots=True)
class RenameKeys(PythonRule):
    """Rename keys of a map; a key that gets the name of another one takes its place."""

    which: str | Match
    new: NewName

    def python(self, value: Any) -> Any:
        if value is None:
            return None
        moved = {key for key in value if self._selects(key)}
        kept = {}
        for key, child in value.items():
            if key not in moved:
                kept[key] = child
        return kept | {self.new(key): value[key] for key in value if key in moved}

    def other_failures(self) -> tuple[Any, ...]:
        return too_long(), group_missing()

    def _selects(self, key: str) -> bool:
        if isinstance(self.which, str):
            return key == self.which
        return compile_java(self.which.java).search(key) is not None
