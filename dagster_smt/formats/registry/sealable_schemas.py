"""Schemas in a registry whose records contain encrypted fields. These classes find the fields to which a rule applies,
and encrypt the fields.

Each field has a path and a full name. If two schemas of a subject have fields with the same path, the two fields are
treated as the same field. Tags, however, belong to the full names of fields:

=========  ======================  ================================
kind       path of a field         full name, which patterns match
=========  ======================  ================================
Avro       shop.Address.street     the same
JSON       $.home.street           the same
Protobuf   home.street             shop.Person.Address.street
=========  ======================  ================================

Connect nests the message type of a field inside the message that contains the field. If a record is read and written
again, the full name of such a message therefore changes, but the paths of its fields stay the same.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from dagster_smt.formats.avro.read import avro_of
from dagster_smt.formats.protobuf.files import ENTRY, MESSAGE, message_of, pool_of
from dagster_smt.formats.protobuf.text import proto_files
from dagster_smt.formats.registry import sealed_fields
from dagster_smt.formats.registry.client import SchemaKind
from dagster_smt.formats.registry.data_keys import DataKeys
from dagster_smt.formats.registry.rules import RegistryRule, too_large
from dagster_smt.formats.registry.sealed_json import TEXT, JsonWalks, json_sealer
from dagster_smt.formats.registry.sealed_protobuf import concerns, is_text, protobuf_sealer, tags_of
from dagster_smt.formats.registry.tagged_fields import Tags
from dagster_smt.model.schema_size import MAX_LEVELS, MAX_NODES

References = Sequence[tuple[str, str]]
Keys = Callable[[RegistryRule], DataKeys]
Seal = Callable[[bytes], bytes]


class SealableSchema(Protocol):
    """A schema that can encrypt fields of its records.

    Attributes:
        record: The full name of the Protobuf message; empty for the other kinds of schemas.
    """

    record: str

    def fields(self, rule: RegistryRule, tags: Tags) -> dict[str, tuple[str, ...]]:
        """Returns the fields to which ``rule`` applies, as a dict from a field's path to all tags of the field.

        Args:
            rule: The rule.
            tags: The tags in the metadata of the schema.
        """

    def full_name(self, path: str) -> str | None:
        """Returns the full name of the field at ``path``. If the schema has no such field, returns None."""

    def seals(self, rule: RegistryRule, tags: Tags, paths: Iterable[str]) -> bool:
        """Returns True if the fields at ``paths`` can be encrypted completely, so that consumers can decrypt them with
        ``rule``. Returns False, for example, if a field may also contain numbers, which cannot be encrypted.
        """

    def sealer(self, rules: Iterable[RegistryRule], tags: Tags, keys: Keys) -> Seal:
        """Returns a function that encrypts fields in the bytes of a record according to ``rules``, and returns the
        changed bytes.
        """


class SealableAvro:
    """An Avro schema that can encrypt fields of its records."""

    record = ""

    def __init__(self, text: str, references: References, place: str):
        self.avro = avro_of(text, [reference for _, reference in references], place)

    def fields(self, rule: RegistryRule, tags: Tags) -> dict[str, tuple[str, ...]]:
        return sealed_fields.fields_of(self.avro, rule, tags)

    def full_name(self, path: str) -> str | None:
        # a rule without tags applies to all fields
        every_field = sealed_fields.fields_of(self.avro, RegistryRule("", ""), ())
        return path if path in every_field else None

    def seals(self, rule: RegistryRule, tags: Tags, paths: Iterable[str]) -> bool:
        return sealed_fields.seals_all(self.avro, rule, tags)

    def sealer(self, rules: Iterable[RegistryRule], tags: Tags, keys: Keys) -> Seal:
        return sealed_fields.sealer(self.avro, rules, tags, keys)


class SealableJson:
    """A JSON Schema that can encrypt fields of its records.

    As in Confluent's clients, the items of an array have the path of the array, such as ``$.emails``.
    """

    record = ""

    def __init__(self, text: str, references: References, place: str):
        self.documents = {}
        for name, other in (*references, ("", text)):
            self.documents[name] = json.loads(other)

    def fields(self, rule: RegistryRule, tags: Tags) -> dict[str, tuple[str, ...]]:
        fields = {}
        walks = JsonWalks(self.documents, rule, tags)
        walks.whole()
        # ``whole`` has visited all properties, and filled ``kinds`` and ``names``; the function that it returns is not
        # used
        for path, kinds in walks.kinds.items():
            if TEXT in kinds:
                fields[path] = tuple(sorted(walks.names[path]))
        return fields

    def full_name(self, path: str) -> str | None:
        walks = JsonWalks(self.documents, RegistryRule("", ""), ())
        walks.whole()
        return path if path in walks.names else None

    def seals(self, rule: RegistryRule, tags: Tags, paths: Iterable[str]) -> bool:
        walks = JsonWalks(self.documents, rule, tags)
        walks.whole()
        return all(walks.kinds.get(path) == {TEXT} for path in paths)

    def sealer(self, rules: Iterable[RegistryRule], tags: Tags, keys: Keys) -> Seal:
        return json_sealer(self.documents, rules, tags, keys)


class SealableProtobuf:
    """A Protobuf message type that can encrypt fields of its records. The path of a field consists of field names,
    beginning with a field of this message: ``home.street``.
    """

    def __init__(self, text: str, references: References, place: str, message: str):
        self.files = proto_files(text, references, place)
        pool, file = pool_of(self.files, place)
        self.message: str | Sequence[int] = (0,)
        if message:
            # Connect leaves out the package of a message, unless enhanced.protobuf.schema.support is true.
            self.message = ".".join(filter(None, (file.package, message.removeprefix(f"{file.package}."))))
        descriptor = message_of(pool, file, self.message, place)
        self.record = str(descriptor.full_name)
        self.by_path: dict[str, Any] = {}
        self.of_maps: set[str] = set()
        for path, field, is_of_map in _fields_in(descriptor, "", (), is_of_map=False):
            self.by_path[path] = field
            if is_of_map:
                self.of_maps.add(path)

    def fields(self, rule: RegistryRule, tags: Tags) -> dict[str, tuple[str, ...]]:
        fields = {}
        for path, field in self.by_path.items():
            if is_text(field) and concerns(rule, field, tags):
                fields[path] = tuple(sorted(tags_of(field, tags)))
        return fields

    def full_name(self, path: str) -> str | None:
        field = self.by_path.get(path)
        return None if field is None else str(field.full_name)

    def seals(self, rule: RegistryRule, tags: Tags, paths: Iterable[str]) -> bool:
        for path in paths:
            if not is_text(self.by_path[path]):
                return False
        # Connect writes a map as a list of entries. Consumers that read it as a map would decrypt nothing inside.
        return self.of_maps.isdisjoint(self.fields(rule, tags))

    def sealer(self, rules: Iterable[RegistryRule], tags: Tags, keys: Keys) -> Seal:
        return protobuf_sealer(self.files, self.message, rules, tags, keys)


def sealable_schema(
    kind: SchemaKind, text: str, references: References, place: str, record: str = ""
) -> SealableSchema:
    """Returns a schema that can encrypt fields of its records.

    Args:
        kind: The kind of the schema.
        text: The schema.
        references: Pairs of a reference's name and text.
        place: The name of the schema in messages.
        record: For Protobuf, the name of the message, with or without its package; empty for the first message.

    Raises:
        ConfigError: SMT273 if the schema cannot be read, or has no such message.
    """
    if kind == "AVRO":
        return SealableAvro(text, references, place)
    if kind == "JSON":
        return SealableJson(text, references, place)
    return SealableProtobuf(text, references, place, record)


def _fields_in(
    descriptor: Any, path: str, around: tuple[str, ...], *, is_of_map: bool
) -> Iterator[tuple[str, Any, bool]]:
    """Yields a triple for each field of the message type ``descriptor`` and of the messages inside it: the path, the
    field, and True for a field inside a map.

    Connect has no schema for a message that contains itself, or that is nested very deeply. The fields of such a
    message are left out.
    """
    is_of_map = is_of_map or _is_entry(descriptor)
    count = 0
    for field in descriptor.fields:
        count += 1
        own = f"{path}{field.name}"
        yield own, field, is_of_map
        inner = field.message_type
        if field.type != MESSAGE or inner.full_name in around or len(around) > MAX_LEVELS:
            continue
        for one in _fields_in(inner, f"{own}.", (*around, inner.full_name), is_of_map=is_of_map):
            count += 1
            if count > MAX_NODES:
                raise too_large(MAX_NODES)
            yield one


def _is_entry(descriptor: Any) -> bool:
    """Returns True if the message ``descriptor`` is the entry of a map."""
    names = [field.name for field in descriptor.fields]
    return bool(descriptor.name.endswith(ENTRY)) and names == ["key", "value"]
