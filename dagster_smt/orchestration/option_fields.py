"""The options of stages and predicates as fields of a run config, as far as Dagster can tell right from wrong.

A field of Dagster's config cannot depend on another one, so that the options of all classes stand together: a name that
no class has is refused in the Launchpad, one of another class only when the run begins. Lists of names are texts or
lists. Texts, numbers and flags may each be written as the others are, which Dagster has no type for.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import dagster as dg
from pydantic.fields import FieldInfo

from dagster_smt.authoring.options import Options

_NAMES = dg.ScalarUnion(scalar_type=str, non_scalar_schema=dg.Array(str))


def option_fields(classes: Iterable[type[Options]]) -> dg.Shape:
    """The options of some classes, none of which is required: which ones are, only the class can say."""
    docs: dict[str, dict[str, list[str]]] = {}
    kinds: dict[str, set[bool]] = {}
    for cls in sorted(set(classes), key=lambda c: c.__name__):
        for name, doc, names in _options(cls):
            docs.setdefault(name, {}).setdefault(doc, []).append(cls.__name__)
            kinds.setdefault(name, set()).add(names)
    return dg.Shape({name: _field(docs[name], kinds[name]) for name in sorted(docs)})


def _options(cls: type[Options]) -> Iterator[tuple[str, str, bool]]:
    """The options of a class: name, what it is for, and whether it is a list of names."""
    by_key = {field.alias or name: field for name, field in cls.model_fields.items()}
    for key, field in by_key.items():
        yield key, field.description or "", _is_names(field)
    for old, new in cls.former_options:
        yield old, f"Now called {new}.", _is_names(by_key[new])


def _is_names(field: FieldInfo) -> bool:
    return field.annotation == tuple[str, ...]


def _field(docs: dict[str, list[str]], kinds: set[bool]) -> dg.Field:
    kind: Any = _NAMES if kinds == {True} else dg.Any
    described = " ".join(f"{', '.join(names)}: {doc}" for doc, names in docs.items())
    return dg.Field(kind, is_required=False, description=described)
