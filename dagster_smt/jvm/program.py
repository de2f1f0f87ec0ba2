"""Translates a chain into a program for the JVM lane, the Java code that runs chains inside Spark. A program is JSON
text, which ``Program.java`` reads.

A program describes the stages with paths, rules and parameters, and contains no part of a record. If the lane does not
support an effect of a chain, the chain has no program, and the Python evaluator runs it.
"""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dagster_smt.authoring.fields.splice import scans_first
from dagster_smt.authoring.stage import Chain, Stage
from dagster_smt.chain.plan import first_entries
from dagster_smt.effects.code import Code, CodeTransform
from dagster_smt.effects.effect import (
    AddHeader,
    ByField,
    ByFieldTime,
    ByHeader,
    ByPattern,
    ByTime,
    Change,
    CopyToHeader,
    Drop,
    DropHeaders,
    Effect,
    Extract,
    Insert,
    Join,
    Keep,
    KeepHeaders,
    MakeKey,
    NeedsSchema,
    Nullify,
    Rebuild,
    Reject,
    Rename,
    Route,
    SetTimestamp,
    Wrap,
    only,
)
from dagster_smt.effects.field_rule import Constant, FieldRule
from dagster_smt.errors import DataError
from dagster_smt.jvm.conditions import test_of, test_of_predicate
from dagster_smt.jvm.paths import KINDS, path_of
from dagster_smt.jvm.paths import NoJavaError as NoJavaError
from dagster_smt.model.runtime import JavaDouble
from dagster_smt.model.topics.topic_names import names_of
from dagster_smt.values.headers.literals import parse_literal, simple_header_bytes
from dagster_smt.values.json.lazy import encoder
from dagster_smt.values.privacy.text_rule import TextRule

_DATE_LETTERS = frozenset("yMdHmsSEahkKXZ")
"""The letters of date patterns that the JVM lane (the Java code inside Spark) supports. The letter ``z``, for the name
of a time zone, is not supported: after Java has parsed a text with a zone, it would keep this zone for later texts.
"""


@dataclass(frozen=True)
class KeptOut:
    """The reason why the JVM lane (the Java code inside Spark) cannot run a chain.

    Attributes:
        stage: The stage that the lane does not support; None if the reason does not concern a single stage.
        what: The part of the stage or chain that the lane does not support, in words.
    """

    stage: Stage | None
    what: str

    def __str__(self) -> str:
        if self.stage is not None:
            return f"{self.stage.place} has {self.what}"
        return self.what


def in_python(out: KeptOut) -> str:
    """Returns a message for users: the chain runs in Python, which is slower, because of the reason in ``out``."""
    return f"records run in Python, which takes several times as long: {out}"


class _KeptOutError(Exception):
    def __init__(self, stage: Stage | None, what: str):
        self.kept_out = KeptOut(stage, what)
        super().__init__(what)


def program_of(chain: Chain, key_format: str = "", place: str = "") -> str | None:
    """Returns ``chain`` as a JSON program for the JVM lane, the Java code inside Spark. Returns None if the lane cannot
    run the chain.

    Args:
        chain: The chain.
        key_format: The format of the keys, ``json`` or ``string``, if keys are decoded. Empty if their bytes stay
            unchanged.
        place: The destination of the records, as in ``Formats.place``. Empty if the records are not written to topics.
    """
    try:
        return json.dumps(_program(chain, key_format, place), ensure_ascii=False)
    except _KeptOutError:
        return None


def kept_out(chain: Chain, key_format: str = "", place: str = "") -> KeptOut | None:
    """Returns the reason why the JVM lane (the Java code inside Spark) cannot run ``chain``. Returns None if the lane
    can run the chain. The arguments are the same as for ``program_of``.
    """
    try:
        _program(chain, key_format, place)
    except _KeptOutError as error:
        return error.kept_out
    return None


def _program(chain: Chain, key_format: str, place: str) -> dict[str, Any]:
    firsts = first_entries(chain)
    program: dict[str, Any] = {
        "key": key_format,
        "headers": chain.reads_headers,
        "entries": firsts[-1] + len(chain.stages[-1].transform.ledger()) if chain.stages else 0,
        "stages": list(_stages(chain, firsts, key_format)),
    }
    if place:
        program["topics"] = topic_names(place)
    return program


def topic_names(place: str) -> dict[str, Any]:
    """Returns the JSON program for ``TopicNames.java``. With this program, Java tests to which topics records can be
    written. ``place`` is ``kafka``, or ``file_topics`` for topics in a folder.
    """
    pattern, refused = names_of(place)
    return {"pattern": pattern, "refused": sorted(refused)}


def _stages(chain: Chain, firsts: Sequence[int], key_format: str) -> Iterator[dict[str, Any]]:
    key_is_json = key_format == "json"
    for stage, first in zip(chain.stages, firsts, strict=True):
        if stage.acts_on == "key" and not key_is_json:
            raise _KeptOutError(stage, "a key that is not JSON without a schema")
        try:
            program = _stage(stage, first)
        except NoJavaError as error:
            raise _KeptOutError(stage, str(error)) from None
        # ValueToKey makes a key without a schema, which later stages may change as JSON
        key_is_json |= any(effect["do"] == "make key" for effect in program["effects"])
        yield program


def _stage(stage: Stage, first: int) -> dict[str, Any]:
    transform = stage.transform
    if isinstance(transform, CodeTransform) and not _is_in_java(transform):
        raise NoJavaError("Python code")
    on_null = transform.on_null()
    program: dict[str, Any] = {
        "side": stage.acts_on,
        "sided": bool(stage.side),
        # "leave": the record goes to Python, which reports the problem or does what the lane cannot do with a null
        "null": on_null if on_null in ("pass", "drop") else "leave",
        "effects": _effects(transform.effects(), first, stage.acts_on),
    }
    if stage.predicate is not None:
        program["test"] = test_of_predicate(stage.predicate, stage.negate)
    return program


def _is_in_java(transform: CodeTransform) -> bool:
    codes = only(transform.effects(), Code)
    return bool(codes) and len(codes) == len(transform.effects()) and all(code.java for code in codes)


def _effects(effects: tuple[Effect, ...], first: int, side: str) -> list[dict[str, Any]]:
    """Returns the effects of a stage as parts of a JSON program, such as ``{"do": "drop headers", …}``. All changes of
    fields are in one part, all insertions in a second part, and all drops, keeps and renames in a third part. Every
    other effect has a part of its own, except ``Rebuild``, which has none.
    """
    if only(effects, NeedsSchema):
        raise NoJavaError("an effect that needs a schema")
    entries = _entries(effects, first)
    programs = []
    for effect in effects:
        if _is_alone(effect):
            programs.append(_alone(effect, side) | {"entry": entries[id(effect)]})
    changes, inserts = only(effects, Change), only(effects, Insert)
    if changes:
        each = [_change(one, entries) for one in changes]
        # if True, the lane applies the scans to the text before it parses the text for the other paths
        scans = changes[0].fills and scans_first(change.path for change in changes)
        programs.append({"do": "change", "fills": changes[0].fills, "scans_first": scans, "changes": each})
    if inserts:
        programs.append({"do": "insert", "inserts": [_insert(one, entries) for one in inserts]})
    if any(isinstance(effect, Drop | Keep | Rename) for effect in effects):
        programs.append(_restructure(effects, entries))
    if side and not programs:
        # a stage without effects, such as ReplaceField without options, still leaves values that are not objects to
        # Python
        programs.append(_restructure((), {}))
    return programs


def _is_alone(effect: Effect) -> bool:
    return not isinstance(effect, Change | Insert | Drop | Keep | Rename | Rebuild)


def _entries(effects: Iterable[Effect], first: int) -> dict[int, int]:
    """Returns a dict from the ``id()`` of each effect to the number of its first ledger entry (an action that a report
    counts). ``first`` is the number for the first effect.
    """
    entries = {}
    for effect in effects:
        entries[id(effect)] = first
        first += len(effect.entries)
    return entries


def _alone(effect: Effect, side: str) -> dict[str, Any]:
    match effect:
        case Extract(path):
            return {"do": "extract", "path": path_of(path)}
        case Wrap(path, name):
            return {"do": "wrap", "path": path_of(path), "name": name}
        case Join(name, names, delimiter, missing):
            return {"do": "join", "target": name, "names": names, "delimiter": delimiter, "missing": missing}
        case Nullify():
            return {"do": "nullify"}
        case MakeKey(paths):
            return {"do": "make key", "fields": [{"path": path_of(path), "name": path.leaf} for path in paths]}
        case SetTimestamp(name, unit):
            return {"do": "set timestamp", "name": name, "unit": unit}
        case Route():
            return _route(effect)
        case Reject(condition):
            return {"do": "reject", "test": test_of(condition, side)}
        case AddHeader(name, text):
            return {"do": "add header", "name": name, "value": _header(text)}
        case DropHeaders(names):
            return {"do": "drop headers", "names": names}
        case KeepHeaders(names):
            return {"do": "keep headers", "names": names}
        case CopyToHeader(path, header):
            return {"do": "copy to header", "path": path_of(path), "name": header}
        case Code(java=program) if program is not None:
            return dict(program)
    raise NoJavaError(f"the effect {type(effect).__name__}")


def _header(text: str) -> str | None:
    """Parses ``text``, a literal such as ``7`` or ``true``, and returns it as the bytes of a header, in Base64. Returns
    None if the header's value is null.
    """
    value = simple_header_bytes(*parse_literal(text))
    if value is None:
        return None
    return base64.b64encode(value).decode()


def _restructure(effects: tuple[Effect, ...], entries: Mapping[int, int]) -> dict[str, Any]:
    return {
        "do": "restructure",
        "drops": [{"path": path_of(one.path), "entry": entries[id(one)]} for one in only(effects, Drop)],
        "keeps": [{"paths": list(map(path_of, one.paths)), "entry": entries[id(one)]} for one in only(effects, Keep)],
        "renames": [_rename(one, entries) for one in only(effects, Rename)],
    }


def _route(route: Route) -> dict[str, Any]:
    match route.by:
        case ByPattern(regex, replacement):
            return {"do": "route", "regex": regex, "replacement": replacement}
        case ByTime(topic_format, timestamp_format):
            check_pattern(timestamp_format)
            return {"do": "route by time", "topic": topic_format, "timestamp": timestamp_format}
        case ByHeader(name, skips):
            return {"do": "route by text", "header": name, "skips": skips, "converts": False, "blank is none": False}
        case ByField(path, skips, converts, blank_is_none):
            by = {"skips": skips, "converts": converts, "blank is none": blank_is_none}
            return {"do": "route by text", "path": path_of(path), **by}
        case ByFieldTime(topic_format, timestamp_format, names, field_format):
            check_pattern(timestamp_format)
            check_pattern(field_format)
            route_by = {"topic": topic_format, "timestamp": timestamp_format}
            return {"do": "route by time", **route_by, "fields": names, "field format": field_format}


def _change(change: Change, entries: Mapping[int, int]) -> dict[str, Any]:
    return {"path": path_of(change.path), "rule": _rule(change.rule), "entry": entries[id(change)]}


def _insert(insert: Insert, entries: Mapping[int, int]) -> dict[str, Any]:
    return {
        "path": path_of(insert.path),
        "source": insert.source,
        "text": encoder.encode(insert.text).decode(),
        "parents": insert.makes_parents,
        "overwrites": insert.existing == "overwrite",
        "entry": entries[id(insert)],
    }


def _rename(rename: Rename, entries: Mapping[int, int]) -> dict[str, Any]:
    if not rename.path.plain or rename.name.pattern is not None:
        raise NoJavaError("new names by a pattern")
    return {"path": path_of(rename.path), "name": rename.name.text, "entry": entries[id(rename)]}


def _rule(rule: FieldRule) -> dict[str, Any]:
    if rule.constant:
        return {"name": "constant", "values": {name: _constant(rule, kind) for kind, name in KINDS.items()}}
    if rule.name == "cast":
        return {"name": "cast", "target": rule.parameters["target"].name.lower()}
    if rule.name == "time":
        return _time(rule)
    if rule.name == "text":
        return text_rule(rule.parameters["rule"]) | {"numbers": "int64" in rule.parameters["kinds"]}
    if rule.name == "coarse":
        texts = dict(rule.parameters["rules"]).get("string")
        if isinstance(texts, TextRule):
            return text_rule(texts) | {"numbers": False}
    if rule.name == "case":
        return {"name": "case", "upper": rule.parameters["upper"]}
    raise NoJavaError(f"the rule {type(rule).__name__}")


def text_rule(rule: TextRule) -> dict[str, Any]:
    """Returns the JSON program for ``rule``, which changes strings. If the rule needs a secret key, the program
    contains only a reference to the key. Java then looks up the key itself.
    """
    program = rule.program()
    if program is None:
        raise NoJavaError(f"the rule {type(rule).__name__}")
    return program


def _constant(rule: FieldRule, kind: str) -> str | None:
    """Returns the constant with which ``rule`` masks values of the type ``kind``, as JSON text. Returns None if the
    rule rejects values of this type, or if the JVM lane (the Java code inside Spark) cannot write the constant.
    """
    try:
        constant = rule.of_kind(kind)
    except DataError:
        return None
    if not isinstance(constant, Constant) or isinstance(constant.value, JavaDouble):
        return None
    return encoder.encode(constant.value).decode()


def _time(rule: FieldRule) -> dict[str, Any]:
    """Returns the program for ``rule``, which converts dates. In JSON, dates are strings or Unix times."""
    target, pattern = rule.parameters["target_type"], rule.parameters["format"]
    if target not in ("string", "unix"):
        raise NoJavaError(f"times as {target}, which JSON does not have")
    check_pattern(pattern)
    return {"name": "time", "target": target, "format": pattern, "precision": rule.parameters["precision"]}


def check_pattern(pattern: str) -> None:
    """Raises an error if ``pattern`` is a date pattern that the JVM lane does not support.

    Raises:
        NoJavaError: The pattern contains a letter that is not in ``_DATE_LETTERS``.
    """
    # a pattern such as yyyy-MM-dd'T'HH: the parts at odd positions are inside quotes, and are no letters of the pattern
    outside_quotes = "".join(pattern.split("'")[::2])
    letters = {letter for letter in outside_quotes if letter.isalpha()}
    if not letters <= _DATE_LETTERS:
        raise NoJavaError("dates with rarely used letters")
