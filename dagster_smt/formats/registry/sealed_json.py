"""Changes fields inside the JSON of a value: decrypts them before the value is read, and encrypts them after a value is
written.

The code follows the JSON Schema through the JSON. The code decodes only the objects and arrays around encrypted
strings. It copies everything else unchanged, so numbers keep their spelling. A rule applies to a string if the nearest
property around the string has a tag of the rule, as in Confluent's clients (``json_schema.transform``).
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from dagster_smt.errors import DataError, data_error
from dagster_smt.formats.json_schema.pointer import part_at
from dagster_smt.formats.registry.data_keys import DataKeys
from dagster_smt.formats.registry.rules import RegistryRule
from dagster_smt.formats.registry.tagged_fields import Change, Tags, all_tags, inline_tags
from dagster_smt.model.schema_size import MAX_LEVELS

TEXT = "text"
"""The kind of a string that a rule can encrypt or decrypt. A constant or an enumeration is not of this kind."""
_ROOT = "$"
Walk = Callable[[msgspec.Raw, Change], msgspec.Raw]
"""A function that changes the strings in a JSON value to which a rule applies. Its arguments are the value, and a
function that changes one string. The function returns the changed value.
"""
_decode_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_array = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_text = msgspec.json.Decoder(str).decode
_encode = msgspec.json.Encoder().encode


def json_opener(
    text: str,
    references: Mapping[str, str],
    rules: Iterable[RegistryRule],
    tags: Tags,
    keys: Callable[[RegistryRule], DataKeys],
) -> Callable[[bytes], bytes]:
    """Returns a function that decrypts fields in the JSON of a value, and returns the changed JSON.

    Args:
        text: The JSON Schema.
        references: Maps the names that ``$ref`` uses to the texts of other documents.
        rules: The rules, in the order in which consumers apply them.
        tags: The tags in the metadata of the schema.
        keys: A function that returns the data keys of a rule.

    Raises:
        DataError: SMT753 if a value with encrypted fields could have several types of a union.
    """
    documents = {}
    for name, other in {**references, "": text}.items():
        documents[name] = json.loads(other)
    steps = []
    for rule in rules:
        walk = JsonWalks(documents, rule, tags).whole()
        if walk is not None:
            steps.append((walk, keys(rule).opened, rule.may_fail))

    def opened(data: bytes) -> bytes:
        for walk, change, may_fail in steps:
            try:
                data = bytes(walk(msgspec.Raw(data), change))
            except (msgspec.DecodeError, RecursionError):
                statement = "fields cannot be decrypted: the value is not JSON"
                raise data_error("SMT753", statement, "check the producer") from None
            except DataError:
                if not may_fail:
                    raise
        return data

    return opened


def json_sealer(
    documents: Mapping[str, Any], rules: Iterable[RegistryRule], tags: Tags, keys: Callable[[RegistryRule], DataKeys]
) -> Callable[[bytes], bytes]:
    """Returns a function that encrypts fields in the JSON of a value, and returns the changed JSON.

    Args:
        documents: Maps names to documents: the name "" to the JSON Schema itself, and other names to the documents to
            which the schema refers.
        rules: The rules, in the order in which producers apply them.
        tags: The tags in the metadata of the schema.
        keys: A function that returns the data keys of a rule.

    Raises:
        DataError: SMT753, as for ``json_opener``.
    """
    steps = []
    for rule in rules:
        walk = JsonWalks(documents, rule, tags).whole()
        if walk is not None:
            steps.append((walk, keys(rule).sealed))

    def sealed(data: bytes) -> bytes:
        for walk, change in steps:
            data = bytes(walk(msgspec.Raw(data), change))
        return data

    return sealed


class JsonWalks:
    """A builder of functions for one rule. Each function changes the strings in a JSON value to which the rule applies.
    A method returns None instead of a function if the rule applies to no string in the value.

    Attributes:
        names: Maps the path of each visited property, such as ``$.customer.mail``, to its tags.
        kinds: Describes the properties to which the rule applies, as a dict from the path of a property to the kinds of
            its values. Null and arrays are left out.
    """

    def __init__(self, documents: Mapping[str, Any], rule: RegistryRule, tags: Tags):
        self.documents, self.rule, self.tags = documents, rule, tags
        self.names: dict[str, set[str]] = {}
        self.kinds: dict[str, set[str]] = {}

    def whole(self) -> Walk | None:
        """Returns the function that changes values of the whole schema."""
        return self.of(self.documents[""], "", _ROOT, None, 0)

    def of(self, node: Any, document: str, path: str, concerned: bool | None, level: int) -> Walk | None:
        """Returns a function that changes values of the schema ``node``.

        Args:
            node: A part of the schema.
            document: The name of the document that contains the node, for references.
            path: The full name of the nearest surrounding property, such as ``$.customer.mail``.
            concerned: True if the rule applies to the property at ``path``; None if no property surrounds the node.
            level: The number of levels around the node.
        """
        if not isinstance(node, dict) or level > 4 * MAX_LEVELS:
            return None
        if "$ref" in node:
            name, target = self._referred(str(node["$ref"]), document)
            return self.of(target, name, path, concerned, level + 1)
        walks = []
        for branches in _unions(node):
            walks.append(self._of_union(branches, document, path, concerned, level))
        for one in node.get("allOf") or ():
            walks.append(self.of(one, document, path, concerned, level + 1))
        walks.append(self._typed(node, document, path, concerned, level))
        return _in_turn([walk for walk in walks if walk is not None])

    def _referred(self, reference: str, document: str) -> tuple[str, Any]:
        name, _, pointer = reference.partition("#")
        name = name or document
        return name, part_at(self.documents.get(name), pointer)

    def _of_union(
        self, branches: Sequence[Any], document: str, path: str, concerned: bool | None, level: int
    ) -> Walk | None:
        """Returns the function that changes the encrypted fields of a union. Returns None if the rule applies to none
        of the types in ``branches``.

        Only one type of a union may contain encrypted fields, and no two types may have the same JSON type, such as two
        objects. Otherwise, the error SMT753 is raised. Confluent's clients validate a value to select its type. This
        package does not validate values. Without the error, it might decrypt the wrong field, or leave a field
        encrypted.
        """
        walks = []
        for branch in branches:
            walks.append((branch, self.of(branch, document, path, concerned, level + 1)))
        concerned_walks = []
        for _, walk in walks:
            if walk is not None:
                concerned_walks.append(walk)
        if not concerned_walks:
            return None
        others = []
        for branch, _ in walks:
            if not (isinstance(branch, dict) and branch.get("type") == "null"):
                others.append(branch)
        kinds = set()
        for branch in others:
            kinds.add(_json_kind(self._resolved(branch, document)))
        if len(concerned_walks) > 1 or len(kinds) < len(others):
            statement = f"{path} has several types that a value with encrypted fields could have"
            hint = "with rules=sealed, fields stay encrypted"
            raise data_error("SMT753", f"fields of a union cannot be decrypted: {statement}", hint)
        return concerned_walks[0]

    def _resolved(self, node: Any, document: str) -> Any:
        # references may form a cycle
        for _ in range(MAX_LEVELS):
            if not isinstance(node, dict) or "$ref" not in node:
                return node
            document, node = self._referred(str(node["$ref"]), document)
        return None

    def _typed(
        self, node: Mapping[str, Any], document: str, path: str, concerned: bool | None, level: int
    ) -> Walk | None:
        walks = []
        items = self.of(node.get("items"), document, path, concerned, level + 1)
        if items is not None:
            walks.append(_of_items(items))
        properties = node.get("properties")
        fields = {}
        for name, child in (properties if isinstance(properties, dict) else {}).items():
            full = f"{path}.{name}"
            names = self.names[full] = self._tags_of(full, child)
            own = not self.rule.tags or not names.isdisjoint(self.rule.tags)
            walk = self.of(child, document, full, own, level + 1)
            if walk is not None:
                fields[name] = walk
        if fields:
            walks.append(_of_fields(fields))
        kind = _changed_kind(node)
        if concerned and kind:
            self.kinds.setdefault(path, set()).add(kind)
            if kind == TEXT:
                walks.append(_text)
        return _in_turn(walks)

    def _tags_of(self, name: str, node: Any) -> set[str]:
        return all_tags(name, inline_tags(node) if isinstance(node, dict) else (), self.tags)


def _unions(node: Mapping[str, Any]) -> list[Sequence[Any]]:
    """Returns the unions in ``node``, each as a list of its types. ``{"type": ["null", "string"]}`` is also a union."""
    unions = []
    for word in ("oneOf", "anyOf"):
        if isinstance(node.get(word), list):
            unions.append(node[word])
    kinds = node.get("type")
    if isinstance(kinds, list):
        unions.append([{**node, "type": kind} for kind in kinds])
    return unions


def _changed_kind(node: Mapping[str, Any]) -> str:
    """Returns ``TEXT`` if the values of ``node`` are strings that a rule can change. For other values, returns their
    JSON Schema type, such as ``integer``. For null, arrays and unions, returns an empty string.
    """
    kind = node.get("type")
    if kind == "string" and "enum" not in node and "const" not in node:
        return TEXT
    return kind if isinstance(kind, str) and kind not in ("null", "array") else ""


def _json_kind(node: Any) -> str:
    """Returns the JSON type of the values that ``node`` describes, such as ``string`` or ``object``. Integers and other
    numbers have the same type, ``number``.
    """
    if not isinstance(node, dict):
        return ""
    kind = node.get("type", "object" if "properties" in node else "")
    return "number" if kind == "integer" else str(kind)


def _in_turn(walks: Sequence[Walk]) -> Walk | None:
    if len(walks) < 2:
        return walks[0] if walks else None

    def walk(value: msgspec.Raw, change: Change) -> msgspec.Raw:
        for one in walks:
            value = one(value, change)
        return value

    return walk


def _first(value: msgspec.Raw) -> bytes:
    # the first character tells the type without decoding the value
    return bytes(value).lstrip()[:1]


def _text(value: msgspec.Raw, change: Change) -> msgspec.Raw:
    if _first(value) != b'"':
        return value  # null, or a value that the reader rejects
    return msgspec.Raw(_encode(change(_decode_text(value).encode(), True).decode()))


def _of_items(item: Walk) -> Walk:
    def walk(value: msgspec.Raw, change: Change) -> msgspec.Raw:
        if _first(value) != b"[":
            return value
        return msgspec.Raw(_encode([item(one, change) for one in _decode_array(value)]))

    return walk


def _of_fields(fields: Mapping[str, Walk]) -> Walk:
    def walk(value: msgspec.Raw, change: Change) -> msgspec.Raw:
        if _first(value) != b"{":
            return value
        data = _decode_object(value)
        for name, own in fields.items():
            if name in data:
                data[name] = own(data[name], change)
        return msgspec.Raw(_encode(data))

    return walk
