"""Applies effects to a key or value without a schema. The effects become Python functions that change lazily decoded
JSON (``values.json.lazy``).
"""

from collections.abc import Callable, Sequence
from typing import Any

from dagster_smt.authoring.fields.scan import Act
from dagster_smt.authoring.fields.schemaless import (
    Visit,
    collector,
    element_of,
    ensured_parent,
    pruner,
    require_map,
    value_visitor,
    visitor,
)
from dagster_smt.authoring.fields.splice import TextReplacement
from dagster_smt.authoring.transform import SideFunction
from dagster_smt.effects.effect import (
    NO_OFFSET,
    Change,
    Drop,
    Effect,
    Extract,
    Insert,
    Join,
    Keep,
    Rename,
    Wrap,
    family_of,
    numbered_only,
    only,
)
from dagster_smt.effects.field_rule import Constant, FieldRule
from dagster_smt.errors import data_error
from dagster_smt.model.cell import Rule
from dagster_smt.model.paths.steps import Index
from dagster_smt.model.record import Record
from dagster_smt.model.runtime import JavaInteger, kind_of
from dagster_smt.values.json.lazy import encoder, kind_at, look
from dagster_smt.values.text_rules import JoinTexts, java_text


def function_on_side(effects: tuple[Effect, ...], bits: tuple[int, ...], purpose: str) -> SideFunction:
    """Returns a function that applies ``effects`` to a key or value. The function takes two arguments: first the key or
    value, then the record.

    Args:
        effects: The effects of one transform, such as drops and renames (see ``family_of``).
        bits: One number for each ledger entry (an action that a report counts), with a single bit set. If the action
            changes a record, the function sets this bit in ``record.touched``.
        purpose: The purpose of the transform, as messages word it: ``mask fields``.
    """
    family = family_of(effects)
    if family == {Change}:
        return _change(only(effects, Change), bits, purpose)
    if family == {Insert}:
        return _insert(only(effects, Insert), bits, purpose)
    if family == {Extract}:
        return _extract(only(effects, Extract)[0], bits[0], purpose)
    if family == {Join}:
        return _join(only(effects, Join)[0], bits[0], purpose)
    if family == {Wrap}:
        return _wrap(only(effects, Wrap)[0], bits[0], purpose)
    assert family <= {Drop, Keep, Rename}, f"no function for {family}"
    return _restructure(effects, bits, purpose)


def act_of(rule: FieldRule, bit: int) -> Act:
    """Returns a function that applies ``rule`` to one value inside an object or array. If ``rule`` changes the value,
    the function also sets the bit ``bit`` in ``record.touched``.
    """
    if rule.constant:
        return _constant_act(rule, bit)
    return _function_act(rule, bit)


def text_of(rule: FieldRule) -> bytes | None:
    """Returns the JSON text with which ``rule`` replaces every string, such as ``b'""'``. Returns None if the new
    string depends on the old string.
    """
    if not rule.constant:
        return None
    constant = rule.of_kind("string")
    if isinstance(constant, Constant):
        return encoder.encode(constant.value)
    return None


def _constant_act(rule: FieldRule, bit: int) -> Act:
    """Returns a function that applies ``rule``, which replaces every value with a constant. The function only needs to
    know the kind of a value, such as ``string``. The first byte of the JSON shows the kind, so the value is not
    decoded.
    """
    values: dict[str, Any] = {}

    def value_of(kind: str) -> Any:
        constant = rule.of_kind(kind)
        assert isinstance(constant, Constant)
        if kind in ("array", "map"):  # a new object each time, because a later stage may change it
            return type(constant.value)(constant.value)
        values[kind] = constant.value
        return constant.value

    def put(parent: Any, key: Any, record: Record) -> None:
        kind = kind_at(parent, key)
        if kind != "null":
            parent[key] = values[kind] if kind in values else value_of(kind)
            record.touched |= bit

    return put


def _function_act(rule: FieldRule, bit: int) -> Act:
    function_of = _functions(rule)

    def change(parent: Any, key: Any, record: Record) -> None:
        old = look(parent, key)
        function = None if old is None else function_of(kind_of(old))
        if function is not None:
            parent[key] = function(old)
            record.touched |= bit

    return change


def _functions(rule: FieldRule) -> Callable[[str], Callable[[Any], Any] | None]:
    """Returns a function from a kind, such as ``string``, to the function that changes values of this kind by ``rule``.
    The result is None for a kind that ``rule`` does not change. The function for a kind is created only once.
    """
    functions: dict[str, Callable[[Any], Any] | None] = {}

    def function_of(kind: str) -> Callable[[Any], Any] | None:
        if kind not in functions:
            functions[kind] = _bound(rule.of_kind(kind))
        return functions[kind]

    return function_of


def _bound(rule: Rule | Constant | None) -> Callable[[Any], Any] | None:
    if isinstance(rule, Constant):
        value = rule.value
        return lambda _: value
    if rule is None:
        return None
    return rule.bind()


def _change(changes: tuple[Change, ...], bits: tuple[int, ...], purpose: str) -> SideFunction:
    if not changes[0].path.steps:
        return _change_whole(changes[0].rule, bits[0])
    paths = [change.path for change in changes]
    acts = [act_of(change.rule, bit) for change, bit in zip(changes, bits, strict=True)]
    if changes[0].fills:
        texts = [_texts(change.rule, bit) for change, bit in zip(changes, bits, strict=True)]
        visit = value_visitor(paths, acts, texts)
    else:
        visit = visitor(paths, acts)

    def change(value: Any, record: Record) -> Any:
        if value is None:  # only with the null rule `apply`
            return None
        visit(require_map(value, purpose), record)
        return value

    return change


def _texts(rule: FieldRule, bit: int) -> TextReplacement | None:
    text = text_of(rule)
    if text is None:
        return None
    return TextReplacement(text, bit)


def _change_whole(rule: FieldRule, bit: int) -> SideFunction:
    function_of = _functions(rule)

    def change(value: Any, record: Record) -> Any:
        function = None if value is None else function_of(kind_of(value))
        if function is None:
            return value
        record.touched |= bit
        return function(value)

    return change


def _restructure(effects: tuple[Effect, ...], bits: tuple[int, ...], purpose: str) -> SideFunction:
    """Returns a function that applies ``effects``, which drop, keep and rename fields, in this order."""
    drops = numbered_only(effects, Drop)
    drop = visitor([effect.path for _, effect in drops], [drop_act(bits[n]) for n, _ in drops], once=True)
    prunes = [(pruner(keep.paths), bits[n]) for n, keep in numbered_only(effects, Keep)]
    renames = [(rename, bits[n]) for n, rename in numbered_only(effects, Rename)]
    rename = _renamer(renames)

    def change(value: Any, record: Record) -> Any:
        fields = value if type(value) is dict else require_map(value, purpose)
        if drops:
            drop(fields, record)
        for prune, bit in prunes:
            if prune(fields):
                record.touched |= bit
        if renames:
            rename(fields, record)
        return fields

    return change


def drop_act(bit: int) -> Act:
    def drop(parent: Any, key: Any, record: Record) -> None:
        del parent[key]
        record.touched |= bit

    return drop


def _renamer(renames: Sequence[tuple[Rename, int]]) -> Visit:
    """Returns a function that applies all ``renames`` at once. It first removes all these fields, and then inserts them
    under their new names. Two fields can therefore swap their names.
    """
    paths = [rename.path for rename, _ in renames]
    collect = collector(paths)
    tops = [(rename.path.leaf, rename.name(rename.path.leaf), bit) for rename, bit in renames]

    def rename_top(fields: Any, record: Record) -> None:
        moved = [(new, fields.pop(old), bit) for old, new, bit in tops if old in fields]
        for new, child, bit in moved:
            fields[new] = child
            record.touched |= bit

    def rename(fields: Any, record: Record) -> None:
        moved = [(number, parent, key, parent.pop(key)) for number, parent, key in collect(fields)]
        for number, parent, key, child in moved:
            effect, bit = renames[number]
            parent[effect.name(key)] = child
            record.touched |= bit

    if all(path.flat for path in paths):
        return rename_top
    return rename


def _insert(inserts: tuple[Insert, ...], bits: tuple[int, ...], purpose: str) -> SideFunction:
    each = [(insert, insert.path.steps[:-1], insert.path.leaf, bit) for insert, bit in zip(inserts, bits, strict=True)]

    def change(value: Any, record: Record) -> Any:
        require_map(value, purpose)
        for insert, above, name, bit in each:
            inserted = _inserted(insert, record)
            # as in Connect, a null partition or timestamp is not put, but a null topic is
            if inserted is None and insert.source in ("partition", "timestamp"):
                continue
            if above:
                fields = ensured_parent(value, above, insert.makes_parents)
            else:
                fields = value
            if fields is not None and (insert.existing == "overwrite" or name not in fields):
                fields[name] = inserted
                record.touched |= bit
        return value

    return change


def _inserted(insert: Insert, record: Record) -> Any:
    if insert.source == "static":
        return insert.text
    if insert.source == "offset" and record.kind != "sink":
        raise data_error(*NO_OFFSET)
    value = getattr(record, insert.source)
    if insert.source == "partition" and value is not None:
        # an Integer, as in Connect: numbers in JSON are Longs, and TimestampConverter accepts only a Long
        return JavaInteger(value)
    return value


def _extract(extract: Extract, bit: int, purpose: str) -> SideFunction:
    steps = extract.path.steps

    def change(value: Any, record: Record) -> Any:
        if value is None:
            return None
        above = purpose
        for step in steps:
            if isinstance(step, Index):
                value = element_of(value, step)
            else:
                fields = require_map(value, above)
                value = look(fields, step) if step in fields else None
            if value is None:
                return None
            # the words of Connect's `SingleFieldPath`, for all steps after the first
            above = "nested field access"
        record.touched |= bit
        return value

    return change


def _wrap(wrap: Wrap, bit: int, purpose: str) -> SideFunction:
    if wrap.path.steps:
        return _wrap_inside(wrap, bit, purpose)

    def change(value: Any, record: Record) -> Any:
        record.touched |= bit
        return {wrap.name: value}

    return change


def _wrap_inside(wrap: Wrap, bit: int, purpose: str) -> SideFunction:
    def hoist(parent: Any, key: Any, record: Record) -> None:
        record.touched |= bit
        parent[wrap.name] = {key: parent.pop(key)}

    visit = visitor([wrap.path], [hoist])

    def change(value: Any, record: Record) -> Any:
        if value is not None:
            visit(require_map(value, purpose), record)
        return value

    return change


def _join(join: Join, bit: int, purpose: str) -> SideFunction:
    rule = JoinTexts(join.delimiter, join.missing)

    def change(value: Any, record: Record) -> Any:
        fields = require_map(value, purpose)
        texts: list[str | None] = []
        for name in join.names:
            field = look(fields, name) if name in fields else None
            texts.append(None if field is None else java_text(None, field))
        fields[join.name] = rule.python(*texts)
        record.touched |= bit
        return fields

    return change
