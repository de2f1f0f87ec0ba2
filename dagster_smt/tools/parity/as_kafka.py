"""Runs a case (a chain with records and Kafka's results) again, with Kafka's behaviour in place of one or more intended
differences.

Suppose that the difference D5 is said to explain a result. If the case runs without D5, our result must then equal
Kafka's exactly. Each function of this module replaces one rule of this package with Kafka's rule.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from typing import Any

import msgspec

from dagster_smt.authoring.copying import copied
from dagster_smt.authoring.fields.edit import clash, refused, struct_of, under
from dagster_smt.authoring.fields.schemaless import require_map
from dagster_smt.authoring.stage import Chain
from dagster_smt.authoring.transform import Planning, SideFunction, refuse
from dagster_smt.effects.code import CodeTransform
from dagster_smt.effects.on_values_record import effects_function
from dagster_smt.errors import SCHEMA_BUILDER_EXCEPTION, ConfigError, DataError, data_error
from dagster_smt.formats.sides import not_an_envelope
from dagster_smt.model.cell import Call, Cell, Const, Group, Node, with_fields
from dagster_smt.model.record import PlanRecord, Record
from dagster_smt.model.schema import BOOLEAN, Schema, Type
from dagster_smt.tools.parity import vendor_differences
from dagster_smt.tools.parity.compare import load
from dagster_smt.tools.parity.datums import Converter, case_chain, run_case
from dagster_smt.tools.parity.kafka_reader import JacksonReader, WrittenReader
from dagster_smt.transforms.kafka.extract_field import ExtractField
from dagster_smt.transforms.kafka.replace_field import ReplaceField
from dagster_smt.values.json.lazy import whole
from dagster_smt.values.value_rule import Required

Case = dict[str, Any]
Results = list[dict[str, Any]]
_IGNORED = (".field.syntax.version", ".hoisted", ".field.on.missing.parent", ".field.on.existing.field")


class KafkaReplaceField(CodeTransform, ReplaceField):
    """ReplaceField with Kafka's defect on structs. To find the value of an output field, Kafka reads the renames
    backwards.

    For example, take ``exclude=a`` and ``renames=a:b``. The input's own field ``b`` then gets the value of ``a``.
    """

    def plan_record(self, record: PlanRecord, at: Planning) -> PlanRecord:
        group = struct_of(at.side_of(record), self.purpose)
        renames = dict(self.renames)
        # if two fields get the same name, the last of them in the hash map wins
        inverse = {renames[old]: old for old in hash_map_order(list(renames))}
        fields: dict[str, Node] = {}
        for name, child in group.fields:
            if not self._keeps(name):
                continue
            new = renames.get(name, name)
            if new in fields:
                raise clash(new)
            fields[new] = self._value(group, inverse.get(new, new), new, child)
        rebuilt = with_fields(group, fields.items(), group.schema.with_fields(()))
        return at.with_side(record, under(group, rebuilt))

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        return effects_function(self.effects(), bits, self.purpose)

    def _keeps(self, name: str) -> bool:
        return name not in self.exclude and (not self.include or name in self.include)

    def _value(self, group: Group, old: str, new: str, child: Node) -> Node:
        if old not in group.by_name:
            raise refuse("SMT102", f"{old} is not a valid field name")
        source = group.by_name[old]
        node = copied(old, source, group.present, self.replace_null_with_default)
        # Kafka's Struct.put rejects a value whose type is not the type of the field
        if source.schema.type is not child.schema.type:
            return refused(node, "SMT401", "the value is of another type", schema=child.schema)
        if not isinstance(node, Cell):
            return node
        there = Const(True, BOOLEAN) if group.present is None else group.present
        if child.schema.optional:
            expr = node.expr
        else:
            expr = Call(Required(new), (node.expr, there))
        return replace(node, schema=child.schema, expr=expr)


class HashedReplaceField(KafkaReplaceField):
    """ReplaceField with Kafka's defects on structs and on objects without a schema. If renaming gives two fields of an
    object the same name, Kafka keeps one of them: the last one in its hash map.
    """

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        renames = dict(self.renames)

        def change(value: Any, record: Record) -> Any:
            fields = require_map(value, self.purpose)
            fields_by_name = {}
            for name, child in fields.items():
                if self._keeps(name):
                    fields_by_name[renames.get(name, name)] = child
            fields_in_order = {}
            # Kafka creates the map of the output with the size of the input as its capacity
            for name in hash_map_order(list(fields_by_name), len(fields)):
                fields_in_order[name] = fields_by_name[name]
            return fields_in_order

        return change


class KafkaConverter(Converter):
    """A converter that reads JSON as Kafka does, and notes whether Kafka converted a value to a different type.

    Attributes:
        coerced: True if a part of the last key, value or header was converted to a different type.
        schemaless: True if ``coerced`` is True and this key, value or header has no schema.
    """

    reader: type[JacksonReader] = JacksonReader

    def __init__(self, settings: dict[str, str]):
        super().__init__(settings)
        self.coerced = self.schemaless = self.by_name = False
        self.known: dict[str, Schema] = {}

    def read(self, datum: dict[str, str] | None) -> tuple[Schema | None, Any]:
        reader = self.reader(self.form.replace_null_with_default)
        schema = None
        try:
            if datum is None:
                return None, None
            if "schemaless" in datum:
                return None, reader.free(reader.parse(datum["schemaless"]))
            schema, value = self._envelope(datum["envelope"], reader)
            return schema, value
        finally:
            self.coerced, self.by_name = reader.coerced, reader.by_name
            self.schemaless = reader.coerced and schema is None

    def _envelope(self, text: str, reader: JacksonReader) -> tuple[Schema | None, Any]:
        tree = reader.parse(text)
        if not isinstance(tree, dict) or tree.keys() != {"schema", "payload"}:
            raise not_an_envelope()
        if tree["schema"] is None:
            return None, reader.free(tree["payload"])
        raw = bytes(load_raw(reader.clean, "schema")).decode()
        schema = self.known.get(raw)
        if schema is None:
            bare = msgspec.json.encode({"schema": _bare(tree["schema"]), "payload": None})
            schema = self.known[raw] = _with_defaults(self.split(bare)[0], tree["schema"], reader)
        return schema, reader.typed(schema, tree["payload"])

    def write(self, schema: Schema | None, value: Any) -> dict[str, str] | None:
        try:
            return super().write(schema, value)
        # the text contains half of a surrogate pair, for which Kafka writes the original escape
        except UnicodeEncodeError:
            if schema is None:
                return {"schemaless": json.dumps(whole(value))}
            return {"unserialisable": "half a character"}


class WrittenConverter(KafkaConverter):
    """Reads keys, values and headers from JSON that Kafka's converter has written."""

    reader = WrittenReader


def _bare(tree: Any) -> Any:
    """Returns ``tree``, the JSON of a schema, without the defaults in it."""
    if isinstance(tree, list):
        return [_bare(item) for item in tree]
    if not isinstance(tree, dict):
        if isinstance(tree, Decimal):
            return float(tree)
        return tree
    results = {}
    for key, child in tree.items():
        if key != "default":
            results[key] = child if key == "parameters" else _bare(child)
    return results


def _with_defaults(schema: Schema | None, tree: Any, reader: JacksonReader) -> Any:
    """Returns ``schema`` with default values.

    Args:
        schema: The schema without defaults.
        tree: The JSON of the schema, with the defaults.
        reader: Reads a default as Kafka does.
    """
    if schema is None or not isinstance(tree, dict):
        return schema
    children = zip(schema.fields, tree.get("fields") or (), strict=False)
    inner = schema.with_(
        fields=tuple((name, _with_defaults(child, part, reader)) for (name, child), part in children),
        keys=_with_defaults(schema.keys, tree.get("keys"), reader),
        values=_with_defaults(schema.values, tree.get("items" if schema.type is Type.ARRAY else "values"), reader),
    )
    if "default" not in tree:
        return inner
    default = reader.typed(inner, tree["default"])
    if schema.type is Type.STRUCT or (default is None and not schema.optional):
        raise data_error("SMT206", "the default value is invalid", "", SCHEMA_BUILDER_EXCEPTION)
    return inner.with_(default=default)


def load_raw(text: str, key: str) -> msgspec.Raw:
    """Returns the JSON text under the key ``key`` of ``text``, a JSON object. Raises ``DataError`` if ``text`` is not
    an object, or does not have the key.
    """
    try:
        texts: dict[str, msgspec.Raw] = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        return texts[key]
    except (msgspec.DecodeError, KeyError):
        raise not_an_envelope() from None


def coerced(case: Case, record: dict[str, Any]) -> dict[str, bool]:
    """Returns a dict with the keys ``key``, ``value`` and ``header``. An entry is True if Kafka converts a value in
    this part of ``record`` to a different type.
    """
    converter = KafkaConverter(case.get("converter") or {})
    parts = {"key": [record["key"]], "value": [record["value"]], "header": [h["value"] for h in record["headers"]]}
    results = {}
    for name, datums in parts.items():
        results[name] = any(_coerced(converter, datum) for datum in datums)
    return results


def _coerced(converter: KafkaConverter, datum: dict[str, str] | None) -> bool:
    with suppress(DataError):
        converter.read(datum)
    return converter.coerced


def kept_spelling(case: Case, record: dict[str, Any]) -> bool:
    """Returns True if a key, value or header of ``record`` has no schema, and Kafka spells a part of it differently
    (difference D5). This package keeps the spelling.
    """
    converter = KafkaConverter(case.get("converter") or {})
    for datum in (record["key"], record["value"], *(header["value"] for header in record["headers"])):
        _coerced(converter, datum)
        if converter.schemaless:
            return True
    return False


def read_by_name(case: Case, datum: dict[str, str] | None) -> bool:
    """Returns True if ``datum`` (a key, value or header) has a schema with a wrong name. For example, the schema has
    the name of the logical type Date, but its type is string.
    """
    converter = KafkaConverter(case.get("converter") or {})
    _coerced(converter, datum)
    return converter.by_name


def runs(case: Case) -> Iterator[tuple[str, Results]]:
    """Runs ``case`` (a chain with records and Kafka's results) again, with intended differences from Kafka switched
    off: first one at a time, then several together.

    Yields:
        The id of the difference, such as ``D5``, and the results.
    """
    modes = []
    for mode in _MODES:
        if mode[1](case) is not None:
            modes.append(mode)
    for decision, change in modes:
        for results in _run(change(case)):
            yield (decision, results)
    for skip in range(len(modes) - 1):
        together: Any = case
        for _, change in modes[skip:]:
            together = change(together) or together
        for results in _run(together):
            yield (modes[skip][0], results)


def _run(case: Any) -> Iterator[Results]:
    settings = case.get("converter") or {}
    try:
        chain: Chain = case_chain(case)
    except ConfigError:
        return
    if case.get("memory"):
        chain = vendor_differences.with_memory(chain)
    if case.get("lossy"):
        chain = vendor_differences.with_losses(chain)
    if case.get("renames"):
        chain = vendor_differences.exchanged(chain, ReplaceField, lambda: case["renames"])
    yield run_case(case, chain, KafkaConverter(settings) if case.get("reader") else None)["results"]


def _without_ignored(case: Case) -> Case | None:
    """D1 (Kafka ignores an option): returns ``case`` (chain, records and Kafka's results) without the options that
    Kafka ignores. Returns None if there are no such options.
    """
    heads = []
    for k, v in case["config"].items():
        if k.endswith(".type") and _ignores(str(v)):
            heads.append(k.removesuffix(".type"))
    config = {}
    for key, value in case["config"].items():
        if not any(key == head + option for head in heads for option in _IGNORED):
            config[key] = value
    if config != case["config"]:
        return {**case, "config": config}
    return None


def _ignores(type_: str) -> bool:
    # in Kafka 4.3.1, ExtractField is the only transform with nested paths (KIP-821)
    return not type_.startswith(ExtractField.connect_class)


def _with_defects(case: Case) -> Case | None:
    """D2 (Kafka has a defect): returns ``case`` (chain, records and Kafka's results) with Kafka's defective
    ReplaceField, which mixes up fields. Returns None if the case renames nothing.
    """
    renames = any(key.endswith(".renames") for key in case["config"])
    if renames:
        return {"renames": KafkaReplaceField, **case}
    return None


def _with_kafkas_reader(case: Case) -> Case | None:
    """D5 (Kafka silently converts some JSON values): returns ``case`` (chain, records and Kafka's results) with Kafka's
    reader of JSON in place of ours. Returns None if Kafka's reader converts no value in the records.
    """
    if any(any(coerced(case, r).values()) for r in case["records"]):
        return {**case, "reader": True}
    return None


def _one_schema(case: Case) -> Case | None:
    """D2 (Kafka has a defect): returns ``case`` (chain, records and Kafka's results) with one schema in place of almost
    equal schemas. Two schemas are almost equal if only a default is spelled differently, as in ``1.0`` and ``1.00``.
    Returns None if there are no such schemas.

    The defect is in Kafka's cache of schemas: it uses the first of these schemas for all values.
    """
    known: dict[str, str] = {}
    changed = False

    def unified(datum: Any) -> Any:
        nonlocal changed
        if not datum or "envelope" not in datum:
            return datum
        try:
            schema = bytes(load_raw(datum["envelope"], "schema")).decode()
            payload = bytes(load_raw(datum["envelope"], "payload")).decode()
            text = known.setdefault(repr(_by_value(load(schema))), schema)
        except (DataError, ValueError):
            return datum
        changed |= text != schema
        return {"envelope": f'{{"schema":{text},"payload":{payload}}}'}

    records = []
    for record in case["records"]:
        records.append(_with_sides(record, unified))
    if changed:
        return {**case, "records": records}
    return None


def _by_value(tree: Any) -> Any:
    """Returns the JSON ``tree`` with each fraction replaced by a pair, such as ``("fraction", "1.0")``. The fractions
    ``1.0`` and ``1.00`` become equal pairs.
    """
    if isinstance(tree, dict):
        members = {}
        for k, v in tree.items():
            members[k] = _by_value(v)
        return members
    if isinstance(tree, list):
        return [_by_value(v) for v in tree]
    # ``load`` returns numbers with a fraction as a subclass of str
    if isinstance(tree, str) and type(tree) is not str:
        return ("fraction", repr(float(tree)))
    return tree


def _hashed(case: Case) -> Case | None:
    """D4 (Kafka's result depends on a hash table): returns ``case`` (chain, records and Kafka's results) with the keys
    of JSON objects in the order of Java's hash maps. Returns None if this changes nothing.
    """
    records = []
    for record in case["records"]:
        records.append(_with_sides(record, _hashed_datum))
    renames = any(key.endswith(".renames") for key in case["config"])
    changed = renames or records != case["records"]
    if changed:
        return {**case, "records": records, "renames": HashedReplaceField}
    return None


def _with_sides(record: dict[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    return {**record, "key": change(record["key"]), "value": change(record["value"])}


def _hashed_datum(datum: Any) -> Any:
    if not datum or "schemaless" not in datum:
        return datum
    try:
        return {"schemaless": _hashed_text(msgspec.Raw(datum["schemaless"].encode())).decode()}
    except (msgspec.DecodeError, UnicodeError):
        return datum


def _hashed_text(text: msgspec.Raw) -> bytes:
    first = bytes(text).lstrip()[:1]
    if first == b"{":
        fields: dict[str, msgspec.Raw] = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        pairs = (json.dumps(k).encode() + b":" + _hashed_text(fields[k]) for k in hash_map_order(list(fields)))
        return b"{" + b",".join(pairs) + b"}"
    if first == b"[":
        return b"[" + b",".join(map(_hashed_text, msgspec.json.decode(text, type=list[msgspec.Raw]))) + b"]"
    return bytes(text)


def hash_map_order(keys: list[str], capacity: int = 16) -> list[str]:
    """Returns ``keys`` in the order in which a ``java.util.HashMap`` iterates over them. ``keys`` are in the order in
    which they were added.
    """
    size = 1
    # the number of buckets is a power of two, and is doubled when three quarters are in use. Keys of one bucket stay in
    # the order in which they were added, because sorted() is stable
    while size < capacity:
        size *= 2
    while len(keys) > size * 3 // 4:
        size *= 2
    return sorted(keys, key=lambda key: _spread(key) % size)


def _spread(key: str) -> int:
    """Returns the hash of ``key`` in a Java hash map: ``String.hashCode``, with the high bits mixed into the low
    bits.
    """
    code = 0
    # Java hashes the 16-bit units of a string, and its int overflows
    data = key.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(data), 2):
        code = (31 * code + (data[at] << 8 | data[at + 1])) & 0xFFFFFFFF
    return code ^ code >> 16


_MODES: tuple[tuple[str, Callable[[Case], Case | None]], ...] = (
    ("D1", _without_ignored),
    ("D1", vendor_differences.without_ignored_values),
    ("D9", vendor_differences.remembers),
    ("D2", vendor_differences.loses),
    ("D5", _with_kafkas_reader),
    ("D2", _with_defects),
    ("D2", _one_schema),
    ("D4", _hashed),
)
"""Pairs of the id of an intended difference, such as ``D5``, and a function. The function takes a case (chain, records
and Kafka's results) and returns it with the difference switched off. It returns None if the difference cannot occur in
the case.
"""
