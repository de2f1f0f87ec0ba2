"""Converts the options of stages and predicates into fields of a run config. A field has one of Dagster's types if
Dagster can check the option.

A field of Dagster's config cannot depend on another field, so the options of all classes are fields of one shape. The
Launchpad rejects an option that no class has. An option of a different class is rejected only when the run begins.
Flags, integers, strings, lists of names and words of a fixed set have Dagster's types. In two cases, a field accepts
any value, and the class checks the value when the run begins:

- Two classes have an option of the same name, but of different types.
- YAML permits several forms of the option, such as a number for a string or a mapping for a list.
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
"""Options whose type is a string, but to which users also assign numbers."""


def option_fields(classes: Iterable[type[Options]]) -> dg.Shape:
    """Returns a shape with the options of all ``classes``. No option is required, because the required options depend
    on the class of the stage.
    """
    docs: dict[str, dict[str, list[str]]] = {}
    fields: dict[str, list[FieldInfo]] = {}
    for cls in sorted(set(classes), key=lambda c: c.__name__):
        for name, doc, field in _options(cls):
            docs.setdefault(name, {}).setdefault(doc, []).append(cls.__name__)
            fields.setdefault(name, []).append(field)
    described_fields = {}
    for name in sorted(docs):
        described_fields[name] = _field(name, docs[name], fields[name])
    return dg.Shape(described_fields)


def _options(cls: type[Options]) -> Iterator[tuple[str, str, FieldInfo]]:
    """Yields the name, the description and the declaration of each option of a class."""
    by_key = {}
    for name, field in cls.model_fields.items():
        by_key[field.alias or name] = field
    for key, field in by_key.items():
        yield key, field.description or "", field
    for old, new in cls.former_options:
        yield old, f"Now called {new}.", by_key[new]


def _field(name: str, docs: dict[str, list[str]], fields: list[FieldInfo]) -> dg.Field:
    texts = []
    for doc, names in docs.items():
        texts.append(f"{', '.join(names)}: {doc}")
    described = " ".join(texts)
    return dg.Field(_type(name, fields), is_required=False, description=described)


def _type(name: str, fields: list[FieldInfo]) -> Any:
    """Returns Dagster's type for the option ``name``, which may be declared by several classes."""
    kinds = set(map(_plain, fields))
    if len(kinds) > 1 or name in _VALUES:
        return _ANY
    (kind,) = kinds
    if kind == tuple[str, ...]:
        return _NAMES
    if kind not in (bool, int, str):
        return _ANY
    words = [_words(field) for field in fields]
    if all(words):
        option_type = _enumeration(name, tuple(dict.fromkeys(w for some in words for w in some)))
    else:
        option_type = kind
    if any(map(_allows_null, fields)):
        return dg.Noneable(option_type)
    return option_type


def _plain(field: FieldInfo) -> Any:
    """Returns the type of the option ``field`` without null and without validators: ``str``, for example, for
    ``Annotated[str, …] | None``.
    """
    kind: Any = field.annotation
    if _allows_null(field):
        kind = next(part for part in get_args(kind) if part is not NoneType)
    if get_origin(kind) is Annotated:
        return get_args(kind)[0]
    return kind


def _allows_null(field: FieldInfo) -> bool:
    return NoneType in get_args(field.annotation)


def _words(field: FieldInfo) -> tuple[str, ...]:
    """Returns the words that the option ``field`` accepts. Returns an empty tuple if the option accepts any string, or
    ignores case.
    """
    # Dagster compares the words of an enumeration with case
    if AnyCase in field.metadata:
        return ()
    return next((part.allowed for part in field.metadata if isinstance(part, OneOf)), ())


@cache
def _enumeration(name: str, words: tuple[str, ...]) -> dg.Enum:
    """Returns an enumeration of ``words``, which the option ``name`` accepts. The Launchpad offers them as choices.

    The function is cached, because a config schema may contain only one enumeration of the same name.
    """
    parts = []
    for part in re.split(r"[^a-z]+", name.lower()):
        parts.append(part.title())
    title = "".join(parts)
    return dg.Enum(f"SmtOption{title}", [dg.EnumValue(word) for word in words])
