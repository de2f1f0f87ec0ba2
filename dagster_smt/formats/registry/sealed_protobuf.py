"""Changes fields inside the bytes of a Protobuf message: decrypts them before the message is read, and encrypts them
after a message is written.

A rule applies to strings and bytes, single or repeated. A field needs a tag of the rule, either in its own options or
in the metadata of the schema. The entries of a map of strings stay unchanged. Confluent's clients do the same
(``protobuf.transform``).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from google.protobuf import message_factory
from google.protobuf.message import DecodeError

from dagster_smt.errors import DataError
from dagster_smt.formats.protobuf.files import MESSAGE, field_tags, message_of, pool_of
from dagster_smt.formats.protobuf.kinds import unreadable
from dagster_smt.formats.registry.data_keys import DataKeys
from dagster_smt.formats.registry.rules import RegistryRule
from dagster_smt.formats.registry.tagged_fields import Change, Tags, all_tags

_STRING, _BYTES = 9, 12
"""The numbers of the types string and bytes in ``FieldDescriptorProto``."""


def protobuf_opener(
    files: Sequence[bytes],
    message: str | Sequence[int],
    rules: Iterable[RegistryRule],
    tags: Tags,
    keys: Callable[[RegistryRule], DataKeys],
) -> Callable[[bytes], bytes]:
    """Returns a function that decrypts fields in the bytes of a Protobuf message, and returns the changed bytes.

    Args:
        files, message: The files and the message, as in ``protobuf_of``.
        rules: The rules, in the order in which consumers apply them.
        tags: The tags in the metadata of the schema.
        keys: A function that returns the data keys of a rule.
    """
    pool, file = pool_of(files, "protobuf")
    descriptor = message_of(pool, file, message, "protobuf")
    parse = message_factory.GetMessageClass(descriptor).FromString
    steps = []
    for rule in rules:
        steps.append((_Fields(rule, tags), keys(rule).opened, rule.may_fail))

    def opened(data: bytes) -> bytes:
        try:
            value = parse(data)
        except (DecodeError, RecursionError):
            raise unreadable() from None
        for fields, change, may_fail in steps:
            # a rule that fails at its second field has already changed the first one
            before = value.SerializePartialToString() if may_fail else b""
            try:
                fields.change(value, change)
            except DataError:
                if not may_fail:
                    raise
                value = parse(before)
        # a required field may be missing; the reader of the message reports it
        result: bytes = value.SerializePartialToString()
        return result

    return opened


def protobuf_sealer(
    files: Sequence[bytes],
    message: str | Sequence[int],
    rules: Iterable[RegistryRule],
    tags: Tags,
    keys: Callable[[RegistryRule], DataKeys],
) -> Callable[[bytes], bytes]:
    """Returns a function that encrypts fields in the bytes of a Protobuf message, and returns the changed bytes.

    ``rules`` are in the order in which producers apply them. The other arguments have the same meaning as in
    ``protobuf_opener``.
    """
    pool, file = pool_of(files, "protobuf")
    parse = message_factory.GetMessageClass(message_of(pool, file, message, "protobuf")).FromString
    steps = []
    for rule in rules:
        steps.append((_Fields(rule, tags), keys(rule).sealed))

    def sealed(data: bytes) -> bytes:
        value = parse(data)
        for fields, change in steps:
            fields.change(value, change)
        result: bytes = value.SerializePartialToString()
        return result

    return sealed


def is_text(field: Any) -> bool:
    """Returns True if ``field`` contains strings or bytes, single or repeated."""
    return field.type in (_STRING, _BYTES)


def tags_of(field: Any, tags: Tags) -> set[str]:
    """Returns all tags of ``field``: the tags in the field's options, and the tags in ``tags`` (the schema's metadata)
    whose pattern matches the field's full name.
    """
    return all_tags(field.full_name, field_tags(field), tags)


def concerns(rule: RegistryRule, field: Any, tags: Tags) -> bool:
    """Returns True if ``rule`` applies to ``field``."""
    return not rule.tags or not tags_of(field, tags).isdisjoint(rule.tags)


class _Fields:
    """The fields to which a rule applies, grouped by the full name of the message that contains them."""

    def __init__(self, rule: RegistryRule, tags: Tags):
        self.rule, self.tags = rule, tags
        self.known: dict[str, tuple[list[Any], list[Any]]] = {}

    def change(self, message: Any, change: Change) -> None:
        """Changes the strings and bytes to which the rule applies, in ``message`` and in the messages inside it. The
        function ``change`` returns the new content of a field.
        """
        concerned, inner = self._of(message.DESCRIPTOR)
        for field in concerned:
            # encrypting a field that is not set would set it
            if not (field.has_presence and not message.HasField(field.name)):
                _set(message, field, change)
        for field in inner:
            for one in _messages(message, field):
                self.change(one, change)

    def _of(self, descriptor: Any) -> tuple[list[Any], list[Any]]:
        """Returns two lists of fields of the message ``descriptor``: the fields to which the rule applies, and the
        fields that contain messages.
        """
        known = self.known.get(descriptor.full_name)
        if known is None:
            fields = list(descriptor.fields)
            texts = []
            for field in fields:
                if is_text(field) and concerns(self.rule, field, self.tags):
                    texts.append(field)
            known = self.known[descriptor.full_name] = texts, [field for field in fields if field.type == MESSAGE]
        return known


def _set(message: Any, field: Any, change: Change) -> None:
    value = getattr(message, field.name)
    if field.is_repeated:
        values = [_changed(one, field, change) for one in value]
        del value[:]
        value.extend(values)
    else:
        setattr(message, field.name, _changed(value, field, change))


def _changed(value: Any, field: Any, change: Change) -> Any:
    if field.type == _STRING:
        return change(value.encode(), True).decode()
    return change(value, False)


def _messages(message: Any, field: Any) -> Iterable[Any]:
    """Returns the messages in ``field`` of ``message``: one message, several messages, or the values of a map."""
    value = getattr(message, field.name)
    if field.message_type.GetOptions().map_entry:
        values = field.message_type.fields_by_name["value"]
        return list(value.values()) if values.type == MESSAGE else ()
    if field.is_repeated:
        return list(value)
    return [value] if message.HasField(field.name) else ()
