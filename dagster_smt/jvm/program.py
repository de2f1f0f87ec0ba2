"""From a chain to a program of the JVM lane: the effects of its stages as JSON, which ``Program.java`` reads.

A program says what stages do, with paths, rules and parameters; it has nothing of a record. Chains with an effect that
the lane has no Java for have no program: the Python evaluator runs them.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dagster_smt.authoring.scan import kinds_of
from dagster_smt.authoring.stage import Chain, Stage
from dagster_smt.authoring.transform import Transform
from dagster_smt.chain.plan import first_entries
from dagster_smt.effects.code import CodeTransform
from dagster_smt.effects.condition import Always, Condition, Not, NullValue, TopicPasses
from dagster_smt.effects.effect import (
    ByPattern,
    ByTime,
    Change,
    Drop,
    Effect,
    Extract,
    Insert,
    Keep,
    MakeKey,
    Rebuild,
    Reject,
    Rename,
    Route,
    Wrap,
    family_of,
    only,
)
from dagster_smt.effects.rule import Constant, FieldRule
from dagster_smt.errors import DataError
from dagster_smt.model.path import FieldPath
from dagster_smt.model.path_steps import Deep, Every, Index, Match, OfLogical, OfType, Step
from dagster_smt.model.runtime import JavaDouble
from dagster_smt.model.topic_names import INTERNAL
from dagster_smt.values.java_regex import Matches
from dagster_smt.values.lazy import encoder

MOST_ENTRIES = 62
"""Ledger entries that a program can have: they are bits of a signed word."""
KINDS = {
    "string": "string",
    "boolean": "boolean",
    "int64": "int64",
    "double": "float64",
    "map": "map",
    "array": "array",
}
"""Kinds of values without a schema (``model.runtime.kind_of``), and how the lane calls them."""
_KNOWN = (Change, Drop, Extract, Insert, Keep, MakeKey, Rebuild, Reject, Rename, Route, Wrap)
"""The kinds of effects that the lane has Java for, as long as their rules and paths are such, too."""
_DATE_LETTERS = frozenset("yMdHmsS")


class NoJavaError(Exception):
    """The lane has no Java for a part of a chain."""


def program_of(chain: Chain, key_format: str = "", place: str = "") -> str | None:
    """Returns the program of a chain as JSON; None if the lane cannot run it.

    Args:
        chain: The chain.
        key_format: ``json`` or ``string``, if keys are decoded; empty if their bytes are handed on.
        place: Where records are written to, as ``model.format.Formats.place`` says it; empty for no topics.
    """
    if chain.reads_headers or chain.writes_timestamp or chain.writes_partition or chain.reads_timestamp_type:
        return None
    firsts = first_entries(chain)
    entries = firsts[-1] + len(chain.stages[-1].transform.ledger()) if chain.stages else 0
    if entries > MOST_ENTRIES or place == "file_topics":
        return None
    try:
        stages = list(_stages(chain, firsts, key_format))
    except NoJavaError:
        return None
    program: dict[str, Any] = {"key": key_format, "stages": stages}
    if place:
        program["refused topics"] = sorted(INTERNAL)
    return json.dumps(program, ensure_ascii=False)


def _stages(chain: Chain, firsts: Sequence[int], key_format: str) -> Iterator[dict[str, Any]]:
    key_is_json = key_format == "json"
    for stage, first in zip(chain.stages, firsts, strict=True):
        program = _stage(stage, first)
        if stage.side == "key" and not key_is_json:
            raise NoJavaError  # a key with a schema of its own
        key_is_json |= any(effect["do"] == "make key" for effect in program["effects"])
        yield program


def _stage(stage: Stage, first: int) -> dict[str, Any]:
    program: dict[str, Any] = {
        "side": stage.side,
        "null": "pass" if stage.transform.on_null() == "pass" else "leave",
        "earlier": (1 << first) - 1,
        "effects": _effects(stage.transform, first),
    }
    if stage.predicate is not None:
        program["test"] = _test(stage.predicate.condition(), stage.negate)
    return program


def _test(condition: Condition, negate: bool = False) -> dict[str, Any]:
    match condition:
        case Not(inner):
            return _test(inner, not negate)
        case TopicPasses(Matches(pattern)):
            return {"name": "topic", "pattern": pattern, "negate": negate}
        case NullValue():
            return {"name": "tombstone", "negate": negate}
        case Always():
            return {"name": "always", "negate": negate}
    raise NoJavaError


def _effects(transform: Transform, first: int) -> list[dict[str, Any]]:
    effects = transform.effects()
    if isinstance(transform, CodeTransform) or not all(isinstance(effect, _KNOWN) for effect in effects):
        raise NoJavaError
    return [_family(effects, first)]


def _family(effects: tuple[Effect, ...], first: int) -> dict[str, Any]:
    family = family_of(effects)
    bits = _bits(effects, first)
    if family == {Change}:
        changes = only(effects, Change)
        return {"do": "change", "fills": changes[0].fills, "changes": [_change(one, bits) for one in changes]}
    if family == {Insert}:
        return {"do": "insert", "inserts": [_insert(one, bits) for one in only(effects, Insert)]}
    if family == {Extract}:
        (extract,) = only(effects, Extract)
        return {"do": "extract", "path": _path(extract.path), "bit": bits[id(extract)]}
    if family == {Wrap}:
        (wrap,) = only(effects, Wrap)
        return {"do": "wrap", "path": _path(wrap.path), "name": wrap.name, "bit": bits[id(wrap)]}
    if family == {MakeKey}:
        (key,) = only(effects, MakeKey)
        fields = [{"path": _path(path), "name": path.leaf} for path in key.paths]
        return {"do": "make key", "fields": fields, "bits": bits[id(key)]}
    if family == {Route}:
        (route,) = only(effects, Route)
        return _route(route) | {"bit": bits[id(route)]}
    if family == {Reject}:
        (reject,) = only(effects, Reject)
        return {"do": "reject", "test": _reject(reject.condition)}
    if family <= {Drop, Keep, Rename}:
        return {
            "do": "restructure",
            "drops": [{"path": _path(one.path), "bit": bits[id(one)]} for one in only(effects, Drop)],
            "keeps": [{"paths": list(map(_path, one.paths)), "bit": bits[id(one)]} for one in only(effects, Keep)],
            "renames": [_rename(one, bits) for one in only(effects, Rename)],
        }
    raise NoJavaError


def _route(route: Route) -> dict[str, Any]:
    match route.by:
        case ByPattern(regex, replacement):
            return {"do": "route", "regex": regex, "replacement": replacement}
        case ByTime(topic_format, timestamp_format) if _is_numeric(timestamp_format):
            return {"do": "route by time", "topic": topic_format, "timestamp": timestamp_format}
    raise NoJavaError


def _reject(condition: Condition) -> dict[str, Any]:
    if isinstance(condition, NullValue):
        raise NoJavaError  # the null rule says what becomes of the record
    return _test(condition)


def _bits(effects: Iterable[Effect], first: int) -> dict[int, int]:
    """Returns the bits of the ledger that each effect sets, by the effect's identity."""
    bits = {}
    for effect in effects:
        count = len(effect.entries)
        bits[id(effect)] = ((1 << count) - 1) << first
        first += count
    return bits


def _change(change: Change, bits: Mapping[int, int]) -> dict[str, Any]:
    return {"path": _path(change.path), "rule": _rule(change.rule), "bit": bits[id(change)]}


def _insert(insert: Insert, bits: Mapping[int, int]) -> dict[str, Any]:
    return {
        "path": _path(insert.path),
        "source": insert.source,
        "text": encoder.encode(insert.text).decode(),
        "parents": insert.makes_parents,
        "overwrites": insert.existing == "overwrite",
        "bit": bits[id(insert)],
    }


def _rename(rename: Rename, bits: Mapping[int, int]) -> dict[str, Any]:
    if not rename.path.plain or rename.name.pattern is not None:
        raise NoJavaError
    return {"path": _path(rename.path), "name": rename.name.text, "bit": bits[id(rename)]}


def _path(path: FieldPath) -> list[Any]:
    return list(map(_step, path.steps))


def _step(step: Step) -> str | dict[str, Any]:
    match step:
        case str():
            return step
        case Index(number):
            return {"index": number}
        case Every():
            return {"every": True}
        case Deep():
            return {"deep": True}
        case Match():
            return {"match": step.java}
        case OfType() | OfLogical():
            return {"kinds": sorted(KINDS[kind] for kind in kinds_of(step) if kind in KINDS)}


def _rule(rule: FieldRule) -> dict[str, Any]:
    if rule.constant:
        return {"name": "constant", "values": {name: _constant(rule, kind) for kind, name in KINDS.items()}}
    if rule.name == "cast":
        return {"name": "cast", "target": rule.parameters["target"].name.lower()}
    if rule.name == "time":
        return _time(rule)
    raise NoJavaError


def _constant(rule: FieldRule, kind: str) -> str | None:
    """Returns the JSON text that a rule puts in the place of values of a kind; None if it refuses them."""
    try:
        constant = rule.of_kind(kind)
    except DataError:
        return None
    if not isinstance(constant, Constant) or isinstance(constant.value, JavaDouble):
        return None
    return encoder.encode(constant.value).decode()


def _time(rule: FieldRule) -> dict[str, Any]:
    """Dates as texts of numbers alone, or as Unix time: others are no JSON, or have the words of a language."""
    target, pattern = rule.parameters["target_type"], rule.parameters["format"]
    if target not in ("string", "unix") or not _is_numeric(pattern):
        raise NoJavaError
    return {"name": "time", "target": target, "format": pattern, "precision": rule.parameters["precision"]}


def _is_numeric(pattern: str) -> bool:
    """Whether a pattern of dates makes numbers alone."""
    outside_quotes = "".join(pattern.split("'")[::2])
    letters = {letter for letter in outside_quotes if letter.isalpha()}
    return letters <= _DATE_LETTERS and "MMM" not in pattern
