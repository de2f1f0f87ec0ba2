"""Defines rules for whole arrays, maps and structs. The rules read an element or a field, or change keys."""

from dataclasses import dataclass
from typing import Any

from dagster_smt.model.paths.steps import Match
from dagster_smt.model.schema import Schema
from dagster_smt.values.java.regex import compile_java, expand, group_missing, may_take_long, too_long
from dagster_smt.values.value_rule import NullStays, PythonRule, ValueRule


@dataclass(frozen=True, slots=True)
class MapValue(ValueRule):
    """A rule that returns the value of a key in a map. If the map lacks the key, the result is null. ``schema`` is the
    schema of the map's values.
    """

    reads_values = True
    key: str
    schema: Schema | None = None

    @property
    def returns(self) -> Schema | None:  # type: ignore[override]
        """The schema of the result."""
        return self.schema

    def python(self, value: Any) -> Any:
        if value is None:
            return None
        return value.get(self.key)

    def column(self, F: Any, value: Any) -> Any:
        return F.try_element_at(value, F.lit(self.key))


@dataclass(frozen=True, slots=True)
class ItemAt(ValueRule):
    """A rule that returns an element of an array. A negative number counts from the end. If the array is too short for
    the number, the result is null. ``schema`` is the schema of the array's elements.
    """

    reads_values = True
    number: int
    schema: Schema | None = None

    @property
    def returns(self) -> Schema | None:  # type: ignore[override]
        """The schema of the result."""
        return self.schema

    def python(self, value: Any) -> Any:
        if value is None or not -len(value) <= self.number < len(value):
            return None
        return value[self.number]

    def column(self, F: Any, value: Any) -> Any:
        # Spark counts elements from 1
        return F.try_element_at(value, F.lit(self.number + 1 if self.number >= 0 else self.number))


@dataclass(frozen=True, slots=True)
class StructField(ValueRule):
    """A rule that returns a field of a struct. A chain uses the rule for structs that the chain has computed, and for
    structs in arrays. For other structs of the record that was read, the chain needs no rule.
    """

    reads_values = True
    name: str
    schema: Schema

    @property
    def returns(self) -> Schema:  # type: ignore[override]
        """The schema of the result."""
        return self.schema.by_name[self.name]

    def python(self, value: Any) -> Any:
        if value is None:
            return None
        return value.get(self.name)

    def column(self, F: Any, value: Any) -> Any:
        return value.getField(self.schema.internal_names[self.schema.field_names.index(self.name)])


@dataclass(frozen=True, slots=True)
class NewName:
    """A new name for a field or key, computed from the old name. Without ``pattern``, ``text`` is the new name. With
    ``pattern``, ``text`` replaces the first match of the pattern in the old name, and may refer to groups, such as
    ``$1``.
    """

    text: str
    pattern: Match | None = None

    def __call__(self, old: str) -> str:
        if self.pattern is None:
            return self.text
        match = compile_java(self.pattern.java).search(old)
        if match is None:
            return old
        return old[: match.start()] + expand(self.text, match) + old[match.end() :]


@dataclass(frozen=True, slots=True)
class KeepKeys(NullStays):
    """A rule that removes keys from a map. A key stays in two cases: the key is one of the listed names, or one of the
    listed patterns matches a part of the key. The rule fails if the search for a pattern in a key takes too long.
    """

    which: tuple[Any, ...]

    @property
    def needs_python(self) -> bool:  # type: ignore[override]
        return any(isinstance(which, Match) and may_take_long(which.java) for which in self.which)

    @property
    def may_fail(self) -> bool:  # type: ignore[override]
        return self.needs_python

    def failure(self) -> Any:
        return too_long()

    def python(self, value: Any) -> Any:
        if value is None:
            return None
        return {key: child for key, child in value.items() if self._keeps(key)}

    def _keeps(self, key: str) -> bool:
        return any(key == w if isinstance(w, str) else compile_java(w.java).search(key) for w in self.which)

    def column(self, F: Any, value: Any) -> Any:
        def keeps(key: Any, _: Any) -> Any:
            keeps_key = F.lit(False)
            for which in self.which:
                # Spark passes the pattern to Java, which has no time limit; so patterns with repetitions are left to
                # Python
                keeps_key = keeps_key | (key == F.lit(which) if isinstance(which, str) else key.rlike(which.java))
            return keeps_key

        return F.map_filter(value, keeps)


@dataclass(frozen=True, slots=True)
class RenameKeys(PythonRule):
    """A rule that renames keys of a map. If another key already has the new name, the renamed key replaces that key."""

    which: str | Match
    new: NewName

    def python(self, value: Any) -> Any:
        if value is None:
            return None
        unchanged, renamed = {}, {}
        for key, child in value.items():
            if self._selects(key):
                renamed[self.new(key)] = child
            else:
                unchanged[key] = child
        return unchanged | renamed

    def other_failures(self) -> tuple[Any, ...]:
        return too_long(), group_missing()

    def _selects(self, key: str) -> bool:
        if isinstance(self.which, str):
            return key == self.which
        return compile_java(self.which.java).search(key) is not None
