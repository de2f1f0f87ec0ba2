"""Guesses the encoding of keys or values from bytes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dagster_smt.interpret.observation import BROKEN, parsed
from dagster_smt.model.topics.format import FormatKind

_REGISTRY_HEADER = 5
_MOST_IDS = 2**24
"""The largest number that is interpreted as a schema id. Registries number their schemas from 1, so a greater number is
probably not a schema id.
"""
_NUMBERS: dict[int, FormatKind] = {4: "integer", 8: "long"}


@dataclass(frozen=True)
class Encoding:
    """The encoding that was guessed for keys, or for values.

    Attributes:
        kind: The format, such as ``json``. None if all keys (or all values) are null.
        records: The number of keys (or values) that are not null.
        fitting: The number of keys (or values) that have this format.
        ids: The schema ids in the bytes, if the schemas are in a registry.
        note: A remark if the guess is ambiguous.
    """

    kind: FormatKind | None
    records: int
    fitting: int
    ids: frozenset[int] = frozenset()
    note: str = ""

    @property
    def text(self) -> str:
        """A phrase that describes the encoding, such as ``json in 98 of 100``."""
        if self.kind is None:
            return "empty in all of them"
        if self.fitting < self.records:
            share = f"{self.fitting} of {self.records}"
        else:
            share = f"all {self.records}"
        return f"{self.kind} in {share}" + (f"; {self.note}" if self.note else "")


def encoding_of(sides: Sequence[bytes | None]) -> Encoding:
    """Guesses the encoding of ``sides``, which are the keys or the values of sampled records.

    The function tries the formats in this order: schemas in a registry, Connect's envelopes, other JSON, strings,
    numbers of 4 or 8 bytes, and plain bytes. If the schema is in a registry, the data begin with a zero byte, and the
    next four bytes are the schema's id.
    """
    present = [side for side in sides if side is not None]
    if not present:
        return Encoding(None, 0, 0)
    with_ids = [side for side in present if _names_schema(side)]
    if len(with_ids) * 2 > len(present):
        return _registered(present, with_ids)
    data = [parsed(side) for side in present]
    objects = [d for d in data if isinstance(d, (dict, list))]
    if len(objects) * 2 > len(present):
        envelopes = [d for d in objects if is_envelope(d)]
        if len(envelopes) * 2 > len(objects):
            return Encoding("envelope", len(present), len(envelopes))
        return Encoding("json", len(present), len(present) - data.count(BROKEN))
    texts = [side for side in present if _is_text(side)]
    if len(texts) == len(present):
        if all(isinstance(d, str) for d in data):
            note = "each is a JSON string in quotes"
        else:
            note = ""
        return Encoding("json" if note else "string", len(present), len(present), note=note)
    lengths = set(map(len, present))
    if len(lengths) == 1 and (width := lengths.pop()) in _NUMBERS:
        note = f"{width} bytes each, as Kafka's serializer of numbers writes them"
        return Encoding(_NUMBERS[width], len(present), len(present), note=note)
    return Encoding("bytes", len(present), len(present), note=f"{len(present) - len(texts)} are not texts")


def _registered(present: Sequence[bytes], with_ids: Sequence[bytes]) -> Encoding:
    ids = frozenset(int.from_bytes(side[1:_REGISTRY_HEADER], "big") for side in with_ids)
    note = "they name a schema of a registry: Avro, unless the registry has Protobuf under the id"
    values = []
    for side in with_ids:
        values.append(parsed(side[_REGISTRY_HEADER:]))
    if BROKEN not in values:
        return Encoding("json-confluent", len(present), len(with_ids), ids, "they name a JSON Schema of a registry")
    return Encoding("avro-confluent", len(present), len(with_ids), ids, note)


def _names_schema(side: bytes) -> bool:
    number = int.from_bytes(side[1:_REGISTRY_HEADER], "big")
    return len(side) > _REGISTRY_HEADER and side[0] == 0 and 0 < number < _MOST_IDS


def is_envelope(data: Any) -> bool:
    """Returns True if the JSON value ``data`` is Connect's JSON envelope: ``{"schema": …, "payload": …}``."""
    return isinstance(data, dict) and set(data) == {"schema", "payload"}


def _is_text(side: bytes) -> bool:
    try:
        text = side.decode("utf-8")
    except UnicodeDecodeError:
        return False
    for char in text:
        if not (char.isprintable() or char in "\t\r\n"):
            return False
    return True
