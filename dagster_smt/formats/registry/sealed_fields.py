"""Changes fields inside the bytes of an Avro record: decrypts them before the record is read, and encrypts them after a
record is written.

The code follows the schema through the bytes. The code replaces encrypted strings and bytes, and copies everything in
between, so no other value changes. The tags of a field are in the schema (``confluent:tags``) or in the schema's
metadata.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from dagster_smt.errors import DataError
from dagster_smt.formats.avro.read import Avro, unreadable
from dagster_smt.formats.registry.data_keys import DataKeys
from dagster_smt.formats.registry.rules import RegistryRule
from dagster_smt.formats.registry.tagged_fields import Change, Tags, all_tags, inline_tags
from dagster_smt.model.schema_size import room

_WIDTHS = {"null": 0, "boolean": 1, "float": 4, "double": 8}
_MOST_BYTES_OF_LONG = 10


class _Place(NamedTuple):
    """The position of a string or bytes to which a rule applies.

    Attributes:
        start: The position of the length, which precedes the data.
        begin: The position of the data.
        end: The position after the data.
        is_text: True for a string, False for bytes.
    """

    start: int
    begin: int
    end: int
    is_text: bool


_Walk = Callable[[bytes, int, list[_Place]], int]
"""A function that skips one value in the bytes of a record. Its arguments are the bytes, the position of the value, and
a list. For each string or bytes to which a rule applies, the function appends a ``_Place`` to the list. The function
returns the position after the value.
"""


def opener(
    avro: Avro, rules: Iterable[RegistryRule], tags: Tags, keys: Callable[[RegistryRule], DataKeys]
) -> Callable[[bytes], bytes]:
    """Returns a function that decrypts fields in the bytes of an Avro record, and returns the changed bytes.

    Args:
        avro: The schema.
        rules: The rules, in the order in which consumers apply them.
        tags: The tags in the metadata of the schema.
        keys: A function that returns the data keys of a rule.
    """
    steps = []
    for rule in rules:
        steps.append((_walk_of(avro, rule, tags), keys(rule).opened, rule.may_fail))

    def opened(data: bytes) -> bytes:
        for walk, change, may_fail in steps:
            places = _places(walk, data)
            try:
                data = _replaced(data, places, change)
            except DataError:
                if not may_fail:
                    raise
        return data

    return opened


def sealer(
    avro: Avro, rules: Iterable[RegistryRule], tags: Tags, keys: Callable[[RegistryRule], DataKeys]
) -> Callable[[bytes], bytes]:
    """Returns a function that encrypts fields in the bytes of an Avro record, and returns the changed bytes. The
    arguments have the same meaning as in ``opener``.
    """
    steps = []
    for rule in rules:
        steps.append((_walk_of(avro, rule, tags), keys(rule).sealed))

    def sealed(data: bytes) -> bytes:
        for walk, change in steps:
            data = _replaced(data, _places(walk, data), change)
        return data

    return sealed


def fields_of(avro: Avro, rule: RegistryRule, tags: Tags) -> dict[str, tuple[str, ...]]:
    """Returns the fields in ``avro`` to which ``rule`` applies, as a dict from a field's full name to all tags of the
    field.
    """
    names: dict[str, tuple[str, ...]] = {}

    def concerns(name: str, field: Mapping[str, Any]) -> bool:
        if _concerns(rule, name, field, tags):
            names[name] = tuple(sorted(_tags_of(name, field, tags)))
        return False

    # only for its calls of ``concerns``; the walk that it returns is not used
    with_fields(avro, concerns)
    return names


def _places(walk: _Walk, data: bytes) -> list[_Place]:
    places: list[_Place] = []
    room.reset()
    try:
        end = walk(data, 0, places)
    except (IndexError, RecursionError):
        raise unreadable() from None
    if end != len(data):
        raise unreadable()
    return places


def _replaced(data: bytes, places: list[_Place], change: Change) -> bytes:
    pieces, at = [], 0
    for place in places:
        value = change(data[place.begin : place.end], place.is_text)
        pieces += [data[at : place.start], _written_long(len(value)), value]
        at = place.end
    return b"".join([*pieces, data[at:]])


def _walk_of(avro: Avro, rule: RegistryRule, tags: Tags) -> _Walk:
    return with_fields(avro, lambda name, field: _concerns(rule, name, field, tags))


def _concerns(rule: RegistryRule, name: str, field: Mapping[str, Any], tags: Tags) -> bool:
    """Returns True if ``rule`` applies to ``field``. ``name`` is the full name of the record and the name of the field:
    ``shop.Order.email``.
    """
    return not rule.tags or not _tags_of(name, field, tags).isdisjoint(rule.tags)


def _tags_of(name: str, field: Mapping[str, Any], tags: Tags) -> set[str]:
    return all_tags(name, inline_tags(field), tags)


def seals_all(avro: Avro, rule: RegistryRule, tags: Tags) -> bool:
    """Returns True if all fields in ``avro`` to which ``rule`` applies are strings or bytes. Fields of other types
    cannot be encrypted.
    """
    walks = _Walks(avro.names, lambda name, field: _concerns(rule, name, field, tags))
    walks.of(avro.source, concerned=False)
    return not walks.has_others


def with_fields(avro: Avro, concerns: Callable[[str, Mapping[str, Any]], bool]) -> _Walk:
    """Returns a function that skips one value of ``avro`` in the bytes of a record. The function also collects the
    positions of strings and bytes in certain fields: the fields for which ``concerns`` returns True.
    """
    return _Walks(avro.names, concerns).of(avro.source, concerned=False)


class _Walks:
    """A builder of functions that skip one value in the bytes of a record. All uses of a named record type share one
    function.

    Attributes:
        has_others: True if a rule applies to values that are neither strings nor bytes.
    """

    def __init__(self, names: Mapping[str, Any], concerns: Callable[[str, Mapping[str, Any]], bool]):
        self.names, self.concerns = names, concerns
        self.records: dict[str, _Walk] = {}
        self.has_others = False

    def of(self, schema: Any, *, concerned: bool) -> _Walk:
        """Returns a function that skips one value of ``schema`` in the bytes of a record. ``concerned`` is true if a
        rule applies to the field that contains the value.
        """
        if isinstance(schema, list):
            return _union([self.of(branch, concerned=concerned) for branch in schema])
        if isinstance(schema, str):
            if schema not in self.names:
                return self._leaf(schema, concerned=concerned)
            schema = self.names[schema]
        kind = schema["type"]
        if isinstance(kind, list | dict):
            return self.of(kind, concerned=concerned)
        if kind in ("record", "error"):
            return self._record(schema)
        if kind == "array":
            return _blocks(self.of(schema["items"], concerned=concerned))
        if kind == "map":
            value = self.of(schema["values"], concerned=concerned)
            return _blocks(_in_turn([_single("string", concerned=False), value]))
        if kind == "fixed":
            self.has_others |= concerned
            return _wide(schema["size"])
        if kind in self.names:
            return self.of(kind, concerned=concerned)
        return self._leaf(kind, concerned=concerned)

    def _leaf(self, kind: str, *, concerned: bool) -> _Walk:
        self.has_others |= concerned and kind not in ("null", "string", "bytes")
        return _single(kind, concerned=concerned)

    def _record(self, schema: Mapping[str, Any]) -> _Walk:
        name = schema["name"]
        if name not in self.records:
            walks: list[_Walk] = []
            self.records[name] = _in_turn(walks)
            for field in schema["fields"]:
                concerned = self.concerns(f"{name}.{field['name']}", field)
                walks.append(self.of(field["type"], concerned=concerned))
        return self.records[name]


def _in_turn(walks: list[_Walk]) -> _Walk:
    def walk(data: bytes, at: int, places: list[_Place]) -> int:
        for one in walks:
            at = one(data, at, places)
        return at

    return walk


def _union(branches: list[_Walk]) -> _Walk:
    def walk(data: bytes, at: int, places: list[_Place]) -> int:
        index, at = _long(data, at)
        # Python would count a negative index from the end
        if index < 0:
            raise IndexError
        return branches[index](data, at, places)

    return walk


def _blocks(item: _Walk) -> _Walk:
    """Returns a function that skips an array or a map in the bytes of a record. The function calls ``item`` for each
    item. The items are stored in blocks, and each block begins with its number of items.
    """

    def walk(data: bytes, at: int, places: list[_Place]) -> int:
        while True:
            count, at = _long(data, at)
            if count < 0:
                count = -count
                _, at = _long(data, at)  # the number of bytes of the block
            if count == 0:
                return at
            # items may take up no bytes, so a few bytes could describe a loop without end
            room.take(count)
            for _ in range(count):
                at = item(data, at, places)

    return walk


def _single(kind: str, *, concerned: bool) -> _Walk:
    if kind in _WIDTHS:
        return _wide(_WIDTHS[kind])
    if kind not in ("string", "bytes"):
        return lambda data, at, places: _long(data, at)[1]  # int, long, and the symbol of an enum
    is_text = kind == "string"

    def walk(data: bytes, at: int, places: list[_Place]) -> int:
        start = at
        length, at = _long(data, at)
        if not 0 <= length <= len(data) - at:
            raise IndexError
        if concerned:
            places.append(_Place(start, at, at + length, is_text))
        return at + length

    return walk


def _wide(width: int) -> _Walk:
    return lambda data, at, places: at + width


def _long(data: bytes, at: int) -> tuple[int, int]:
    """Reads a number in Avro's variable-length encoding at the position ``at``. Returns the number, and the position
    after it.
    """
    number = 0
    for place in range(_MOST_BYTES_OF_LONG):
        byte = data[at + place]
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at + place + 1
    raise IndexError


def _written_long(length: int) -> bytes:
    number, out = length << 1, bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
