"""Proposes types for the fields of sampled values, with a note for each guess."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from dagster_smt.interpret.observation import GROUPS, Observation
from dagster_smt.model.caseless import caseless
from dagster_smt.model.paths.extended import below
from dagster_smt.model.schema import Schema, Type, date, decimal, optional, timestamp
from dagster_smt.privacy.patterns import is_personal

EVERYTHING = ""
"""The path that stands for all fields in the parameter ``plain``. No string then becomes a date, timestamp or decimal.
"""
_TEXT = Schema(Type.STRING, optional=True)
_MOST_SCALE = 38
_MANY_NAMES = 20
"""If objects have more than this number of field names, the column may become a map, whose keys are the field names.

This happens if each name occurs in at most half of the objects, as in ``{"user-1": 5}`` and ``{"user-2": 7}``. With
more than ``_MOST_NAMES`` names, the column always becomes a map.
"""
_MOST_NAMES = 500


@dataclass(frozen=True)
class Note:
    """A remark about a proposed column.

    Attributes:
        path: The path of the field, such as ``customer.age``.
        text: A description of the ambiguity, or of the differences between records.
        misfits: The number of sampled values that do not fit the proposed type.
    """

    path: str
    text: str
    misfits: int = 0


@dataclass
class TypeProposal:
    """Proposes a type for a value, field by field, and collects notes about guesses.

    Attributes:
        plain: The paths of fields whose strings stay strings, even if they look like times or decimals. The path
            ``EVERYTHING`` stands for all fields.
        notes: The notes about guesses.
    """

    plain: Collection[str] = ()
    notes: list[Note] = field(default_factory=list)

    def schema(self, observation: Observation, path: str = "") -> Schema | None:
        """Returns a type that can read most of the values that ``observation`` counts. Also notes the values that do
        not fit this type.

        Returns None if the values are objects without fields, because no column can hold them.
        """
        groups = observation.groups
        if not groups:
            self.note(path, "is null in all of them: STRING is a guess")
            return _TEXT
        if _one_number(observation, groups):
            return self._texts_beside_numbers(observation, path)
        (group, count), *others = groups.most_common()
        for other, times in others:
            what = f"{times} of {groups.total()} values are {other}, the others {group}: no type reads both"
            self.note(path, f"{what}, and those records would be dead letters", times)
        kinds = {}
        for kind, n in observation.kinds.items():
            if kind != "null" and GROUPS[kind] == group:
                kinds[kind] = n
        if group == "objects":
            return self._object(observation, count, path)
        if group == "arrays":
            return self._array(observation, path)
        if group == "truth values":
            return Schema(Type.BOOLEAN, optional=True)
        if group == "numbers":
            return self._number(observation, kinds, path)
        return self._text(observation, kinds, path)

    def note(self, path: str, text: str, misfits: int = 0) -> None:
        """Adds a note about the field ``path``. ``misfits`` is the number of sampled values that do not fit the
        proposed type.
        """
        self.notes.append(Note(path, text, misfits))

    def _is_plain(self, path: str) -> bool:
        return EVERYTHING in self.plain or any(
            path == plain_path or path.startswith((f"{plain_path}.", f"{plain_path}[")) for plain_path in self.plain
        )

    def _number(self, observation: Observation, kinds: dict[str, int], path: str) -> Schema:
        if "fraction" in kinds:
            places = max(observation.digits["fraction"])
            if len(observation.digits["fraction"]) <= 2 and 0 < places <= 4:
                self.note(path, f"has at most {places} digits behind the point: {_decimal(places)} keeps those exact")
            return Schema(Type.FLOAT64, optional=True)
        if "large" in kinds:
            self.note(path, "holds whole numbers beyond BIGINT")
            return optional(decimal(0))
        if observation.millis == kinds["integer"]:
            self.note(path, "may be milliseconds since 1970: TIMESTAMP(3) reads them as moments")
        return Schema(Type.INT64, optional=True)

    def _text(self, observation: Observation, kinds: dict[str, int], path: str) -> Schema:
        if self._is_plain(path):
            if "text" not in kinds:
                self.note(path, "stays a text, since the chain changes it")
            return _TEXT
        if set(kinds) == {"day"}:
            return optional(date())
        if set(kinds) <= {"day", "moment"}:
            return optional(timestamp()).with_(zoned=observation.zoned == kinds["moment"])
        if set(kinds) <= {"day", "moment", "fine moment"}:
            self.note(path, "holds moments with more digits than milliseconds, which only STRING keeps")
            return _TEXT
        if set(kinds) <= {"decimal", "number"} and "decimal" in kinds and len(observation.digits["decimal"]) == 1:
            return self._decimals(observation, path)
        times, usual = max((n, kind) for kind, n in kinds.items() if kind != "text") if len(kinds) > 1 else (0, "")
        total = sum(kinds.values())
        if usual in _NAMES and times * 2 >= total:
            self.note(path, f"{total - times} of {total} texts are no {_NAMES[usual]}, the others are")
        return _TEXT

    def _decimals(self, observation: Observation, path: str) -> Schema:
        places = min(_MOST_SCALE, max(observation.digits["decimal"]))
        self.note(path, f"holds decimals as texts with {places} digits behind the point: others would be rounded")
        return optional(decimal(places))

    def _texts_beside_numbers(self, observation: Observation, path: str) -> Schema:
        """Returns a decimal type for the field ``path``. Some records write its numbers as strings, such as ``"4.50"``.

        A decimal column reads both numbers and strings.
        """
        texts = observation.groups["texts"]
        digits: list[int] = []
        for counts in observation.digits.values():
            digits.extend(counts)
        places = max(digits, default=0)
        self.note(
            path,
            f"{texts} of {observation.groups.total()} numbers are texts: a DECIMAL reads both, and rounds more digits",
        )
        return optional(decimal(min(_MOST_SCALE, places)))

    def _array(self, observation: Observation, path: str) -> Schema:
        items = observation.items or Observation()
        if not items.groups:
            self.note(path, "holds no items in any of them: their type is a guess")
            return Schema(Type.ARRAY, optional=True, values=_TEXT)
        inside = self.schema(items, f"{path}[]")
        return Schema(Type.ARRAY, optional=True, values=inside or _TEXT)

    def _object(self, observation: Observation, count: int, path: str) -> Schema | None:
        if _is_map(observation, count):
            return self._map(observation, path)
        personal = _personal(observation.fields)
        if personal:
            statement = f"{len(personal)} of its names look personal themselves, such as an e-mail address"
            self.note(path, f"{statement}: they are no columns, and a table of columns would not have their values")
        fields = []
        for name, inside in observation.fields.items():
            if name in personal:
                continue
            schema = self.schema(inside, below(path, name))
            if schema is not None:
                fields.append((name, schema))
        names = Counter(map(caseless, observation.fields.keys() - personal))
        for same in (name for name, times in names.items() if times > 1):
            spellings = []
            for n in observation.fields:
                if caseless(n) == same:
                    spellings.append(below(path, n))
            self.note(spellings[0], f"differs from {', '.join(spellings[1:])} in case only")
        if not fields:
            self.note(path, "is an object without fields in all of them: it is left out")
            return None
        return Schema(Type.STRUCT, optional=True, fields=tuple(fields))

    def _map(self, observation: Observation, path: str) -> Schema:
        """Returns a map type for objects whose field names differ from record to record, such as ``{"user-1": 5}``.

        The field names become keys of the map. So the proposal does not show these names, which may be personal data.
        """
        whole = Observation()
        for inside in observation.fields.values():
            whole.take(inside)
        self.note(
            path, f"has {len(observation.fields)} names, few of them in several values: they are read as keys of a map"
        )
        values = self.schema(whole, f"{path}{{}}")
        return Schema(Type.MAP, optional=True, keys=Schema(Type.STRING), values=values or _TEXT)


_NAMES = {"day": "days", "moment": "moments", "decimal": "decimals"}


def _decimal(places: int) -> str:
    return f"DECIMAL(38, {places})"


def _one_number(observation: Observation, groups: Counter[str]) -> bool:
    """Returns True if all values are numbers, and only some of them are written as strings, such as ``4.5`` and
    ``"4.5"``.

    Args:
        observation: The counts of the values, by kind.
        groups: The counts of the values, by JSON type.
    """
    numeric = sum(observation.kinds[kind] for kind in ("decimal", "number", "integer", "large", "fraction"))
    return numeric == groups.total() and len(groups) == 2


def _personal(names: Iterable[str]) -> set[str]:
    """Returns the subset of ``names`` that look like personal data, such as an e-mail address as a field name.

    A proposed statement must not show such names.
    """
    return set(filter(is_personal, names))


def _is_map(observation: Observation, objects: int) -> bool:
    names = len(observation.fields)
    if names and len(_personal(observation.fields)) == names:
        return True
    most = max((inside.total for inside in observation.fields.values()), default=0)
    return names > _MOST_NAMES or (names > _MANY_NAMES and objects > 2 and most <= objects / 2)
