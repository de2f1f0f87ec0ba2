"""The options of stages and predicates as fields of a run config, as far as Dagster can tell right from wrong.

A field of Dagster's config cannot depend on another one, so that the options of all classes stand together: a name that
no class has is refused in the Launchpad, one of another class only when the run begins. Flags, whole numbers, texts,
lists of names and words of a fixed set have Dagster's types. Where two classes mean different things by a name, or YAML
writes a text as a number, or a list as a mapping, anything is taken: the class says what is wrong when the run begins.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

import dagster as dg
from pydantic.fields import FieldInfo

from dagster_smt.authoring.options import Options
from dagster_smt.authoring.validate import AnyCase, OneOf

_NAMES = dg.ScalarUnion(scalar_type=str, non_scalar_schema=dg.Array(str))
_ANY = Any
_VALUES = ("field.value", "replacement", "static.value", "value", "value.literal")
"""Texts that stand for a value of a field: people write numbers."""


def option_fields(classes: Iterable[type[Options]]) -> dg.Shape:
    """The options of some classes, none of which is required: which ones are, only the class can say."""
    docs: dict[str, dict[str, list[str]]] = {}
    fields: dict[str, list[FieldInfo]] = {}
    for cls in sorted(set(classes), key=lambda c: c.__name__):
        for name, doc, field in _options(cls):
            docs.setdefault(name, {}).setdefault(doc, []).append(cls.__name__)
            fields.setdefault(name, []).append(field)
    return dg.Shape({name: _field(name, docs[name], fields[name]) for name in sorted(docs)})


def _options(cls: type[Options]) -> Iterator[tuple[str, str, FieldInfo]]:
    """The options of a class: name, what it is for, and how it is declared."""
    by_key = {field.alias or name: field for name, field in cls.model_fields.items()}
    for key, field in by_key.items():
        yield key, field.description or "", field
    for old, new in cls.former_options:
        yield old, f"Now called {new}.", by_key[new]


def _field(name: str, docs: dict[str, list[str]], fields: list[FieldInfo]) -> dg.Field:
    described = " ".join(f"{', '.join(names)}: {doc}" for doc, names in docs.items())
    return dg.Field(_type(name, fields), is_required=False, description=described)


def _type(name: str, fields: list[FieldInfo]) -> Any:
    """Dagster's type of an option."""
    kinds = {_plain(field) for field in fields}
    if len(kinds) > 1 or name in _VALUES:
        return _ANY
    (kind,) = kinds
    if kind == tuple[str, ...]:
        return _NAMES
    if kind not in (bool, int, str):
        return _ANY
    words = [_words(field) for field in fields]
    if all(words):
        found = _enumeration(name, tuple(dict.fromkeys(w for some in words for w in some)))
    else:
        found = kind
    if any(map(_allows_null, fields)):
        return dg.Noneable(found)
    return found


def _plain(field: FieldInfo) -> Any:
    """The type of an option that is not null, without what validates it."""
    kind: Any = field.annotation
    if _allows_null(field):
        kind = next(part for part in get_args(kind) if part is not NoneType)
    if get_origin(kind) is Annotated:
        return get_args(kind)[0]
    return kind


def _allows_null(field: FieldInfo) -> bool:
    return NoneType in get_args(field.annotation)


def _words(field: FieldInfo) -> tuple[str, ...]:
    """The words that an option may be; none where it is any text, or their case does not count."""
    if AnyCase in field.metadata:
        return ()
    return next((part.allowed for part in field.metadata if isinstance(part, OneOf)), ())


@cache
def _enumeration(name: str, words: tuple[str, ...]) -> dg.Enum:
    """Words that the Launchpad offers; a schema has each type once."""
    called = "".join(part.title() for part in re.split(r"[^a-z]+", name.lower()))
    return dg.Enum(f"SmtOption{called}", [dg.EnumValue(word) for word in words])
